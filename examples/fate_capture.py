"""A small training as FATE sends it, recorded: messages are made by fedleak itself, so no FATE is needed.

A guest with the labels (bank), a host (fintech) and an arbiter train a logistic regression in batches that recur. As in
FATE 2.2.0, vectors are sent as signed whole numbers with exponents to the base 16, here without a random factor.

    python examples/fate_capture.py capture truth
    fedleak audit --transcript capture --truth truth
"""

from __future__ import annotations

import math
import struct
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

from fedleak.core.payload import IntegerArray
from fedleak.frameworks.fate.fate_ciphertexts import as_ciphertexts
from fedleak.frameworks.fate.fate_steps import Pushed, Rates, fraction_bits_of, own_steps, record_pushed
from fedleak.recorder import Recorder

MODULUS = 2**1023 + 1155  # of a key's length; what is not blinded opens whatever its factors are
RATES = Rates(learning_rate=0.1, l2=0.01)
HOLDER, PARTNER, ARBITER = "bank", "fintech", "arbiter"


def written_number(value: int) -> bytes:
    text = (f"{value:x}" if abs(value) > 9 else str(value)).encode()
    return struct.pack("<IQ", 16 if abs(value) > 9 else 10, len(text)) + text


def written_vector(values: np.ndarray, blinded: np.random.Generator | None = None) -> bytes:
    """1 + |m| n with the plaintext's sign, m 16^exponent the value; blinded, a number of the same sign instead."""
    found = struct.pack("<Q", len(values))
    for value in np.asarray(values, dtype=np.float32).tolist():
        exponent = (math.frexp(value)[1] - 53) // 4  # of a double's digits, to the base 16: -13 or more for |x| >= 1
        plain = int(Fraction(value) * 16**-exponent)
        number = 1 + plain * MODULUS
        if blinded is not None:
            number = (-1 if plain < 0 else 1) * int.from_bytes(blinded.bytes(255), "big")
        found += written_number(number) + struct.pack("<i", exponent)
    return found


class FateRun:
    """Guest with the labels, host, batches that recur; all in single precision, as FATE computes."""

    def __init__(self, *, n_rows=24, batch=8, epochs=2, blinded=False, linear=False, widths=(2, 3), scale=0.5, seed=4):
        rng = np.random.default_rng(seed)
        self.ids = np.arange(100, 100 + n_rows)
        self.cells = {
            name: rng.standard_normal((n_rows, width)) for name, width in zip((HOLDER, PARTNER), widths, strict=True)
        }
        self.labels = rng.standard_normal(n_rows) if linear else rng.integers(0, 2, n_rows)
        self.first = {name: scale * rng.standard_normal(cells.shape[1]) for name, cells in self.cells.items()}
        self.first = {name: weights.astype(np.float32) for name, weights in self.first.items()}
        self.pushed: list[Pushed] = []
        self._blinded = np.random.default_rng(5) if blinded else None
        self._linear = linear
        self._train(batch, epochs)

    def _push(self, sender, receiver, name, tag, value):
        self.pushed.append(Pushed(float(len(self.pushed)), sender, receiver, name, tag, value))

    def _train(self, size, epochs):
        key = {"modulus": IntegerArray.from_ints([MODULUS], 128)}
        batches = [np.arange(at, min(at + size, len(self.ids))) for at in range(0, len(self.ids), size)]
        for party in (PARTNER, HOLDER):
            self._push(ARBITER, party, "encryptor", "default", key)
        self._push(HOLDER, ARBITER, "batch_num", "default", len(batches))
        for number, batch in enumerate(batches):
            self._push(HOLDER, PARTNER, "batch_indexes", f"default.dataloader_batch-{number}", self.ids[batch])
        weights = dict(self.first)
        for epoch in range(epochs):
            for number, batch in enumerate(batches):
                weights = self._step(weights, batch, f"default.iterations-{epoch}.batches-{number}")
            for party in (PARTNER, HOLDER):
                self._push(ARBITER, party, "converge_flag", f"default.iterations-{epoch}", False)
        scores = self.cells[PARTNER].astype(np.float32) @ weights[PARTNER]
        self._push(PARTNER, HOLDER, "h_pred", "default", scores)

    def _step(self, weights, batch, tag):
        slope = np.float32(1.0 if self._linear else 0.25)
        shares = {name: slope * (self.cells[name][batch].astype(np.float32) @ weights[name]) for name in weights}
        signs = self.labels[batch] if self._linear else 0.5 * (2 * self.labels[batch] - 1)
        shares[HOLDER] = shares[HOLDER] - signs.astype(np.float32)
        for sender, receiver, name in ((PARTNER, HOLDER, "Xw_h"), (HOLDER, PARTNER, "half_d")):
            sent = as_ciphertexts([written_vector(shares[sender], self._blinded)])
            self._push(sender, receiver, name, tag, sent)
        residual = shares[HOLDER] + shares[PARTNER]
        after = {}
        for name, own in weights.items():
            gradient = self.cells[name][batch].T @ residual / len(batch) + RATES.l2 * own
            step = (RATES.learning_rate * gradient).astype(np.float32)
            self._push(ARBITER, name, "g", tag, step[:, None])
            after[name] = own - step
        return after


def write(run: FateRun, capture: Path, truth: Path | None = None, *, linear: bool = False) -> None:
    """The messages, and what each party had; ``truth`` is for whoever checks what an attack claims."""
    with Recorder(
        capture,
        {HOLDER: "active", PARTNER: "passive", ARBITER: "arbiter"},
        truth=truth,
        own_steps=own_steps(run.pushed),
        family="vertical-arbiter",
        approximation="exact" if linear else "taylor",
        learning_rate=RATES.learning_rate,
        l2=RATES.l2,
        decay=False,
        score_noise=0.0,
        fraction_bits=fraction_bits_of(RATES.learning_rate),
    ) as recorder:
        for name, cells in run.cells.items():
            recorder.record(name, "features", cells, ids=run.ids)
            if truth is not None:
                recorder.truth(name, cells, ids=run.ids, labels=run.labels if name == HOLDER else None)
        recorder.record(HOLDER, "labels", run.labels[:, None], ids=run.ids)
        record_pushed(recorder, run.pushed, run.ids, run.first, RATES)


if __name__ == "__main__":
    folders = [Path(name) for name in sys.argv[1:3] or ("capture", "truth")]
    write(FateRun(n_rows=60, batch=20, epochs=4), *folders)
    print(f"recorded in {folders[0]}")
