"""A bit a row beside the gradients (reverse sum attack, Weng et al. 2020).

Above the slot that holds a row's g and h the label holder encrypts one bit of its own for each row. A partner's sum
then says exactly which rows it is made of, and below them it has the honest sums: the splits that are announced are the
same. A partner sees blinded ciphertexts and a wider slot. Rows beyond what a plaintext holds have their turn in the
next tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedleak.core.arrays import BoolArray, IntArray
from fedleak.core.attack import Reference
from fedleak.core.errors import PlaintextRangeError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, Tree
from fedleak.core.whole.federation import setting
from fedleak.core.whole.hooks import Deviation, Hook, HookKind, LocalState
from fedleak.crypto.fixed_point import MARGIN_BITS
from fedleak.models.boosting.growth import Gradients, Sums
from fedleak.models.boosting.packed_gradients import Opened, ToEncrypt
from fedleak.protocols.boosting import vocabulary as boosting


@dataclass(frozen=True)
class ReverseSum(Deviation):
    name = "reverse-sum"
    summary = "encrypts a bit a row above its gradients, so that a partner's sums name their rows"
    reference = Reference("weng2020", "reverse sum attack")
    acts_at = frozenset({boosting.GRADIENTS, boosting.OPENED_SUMS})

    key_bits: int = setting(2048, "length of the key, as far as it is not public", unit="bits")

    def informed(self, facts: Facts) -> ReverseSum:
        return self if facts.key_bits is None else replace(self, key_bits=facts.key_bits)

    def hooks(self, party: str) -> tuple[Hook[Any], ...]:
        behaviour = _Behaviour(self.key_bits)
        return (
            Hook(boosting.GRADIENTS, HookKind.COMPUTE, party, behaviour.marked),
            Hook(boosting.OPENED_SUMS, HookKind.COMPUTE, party, behaviour.read),
        )


@dataclass(frozen=True, eq=False)
class _Marks:
    """Of one tree: bits of a sum of hessians and of both sums, and the marked rows, by their place among all."""

    h_bits: int
    slot_bits: int
    rows: IntArray  # places among the rows of the table
    ids: IntArray


class _Behaviour:
    def __init__(self, key_bits: int) -> None:
        self._key_bits = key_bits
        self._next = 0  # the first row that no tree has marked yet
        self._marks: _Marks | None = None

    def marked(self, gradients: Gradients, local: LocalState, _rng: np.random.Generator) -> ToEncrypt:
        sampled = np.flatnonzero(gradients.sampled)
        g, h = gradients.g[sampled].tolist(), gradients.h[sampled].tolist()
        h_bits = max(1, sum(h).bit_length())
        slot_bits = h_bits + sum(map(abs, g)).bit_length() + 1
        room = self._key_bits - MARGIN_BITS - 1 - slot_bits
        if room < 1:
            raise PlaintextRangeError(f"a key of {self._key_bits} bits has no room above {slot_bits} bits of sums")
        chosen = self._block(len(sampled), room)
        ids = _own_ids(local)
        self._marks = _Marks(h_bits, slot_bits, sampled[chosen], ids[chosen])
        bits = {int(place): 1 << (slot_bits + number) for number, place in enumerate(chosen)}
        honest = [(x << h_bits) + y for x, y in zip(g, h, strict=True)]
        return ToEncrypt(
            ([value + bits.get(place, 0) for place, value in enumerate(honest)],), slot_bits=self._key_bits - 1
        )

    def _block(self, n_rows: int, room: int) -> IntArray:
        """The next rows that fit, from the start again after the last."""
        start = self._next if self._next < n_rows else 0
        end = min(n_rows, start + room)
        self._next = end
        return np.arange(start, end, dtype=np.int64)

    def read(self, opened: Opened, local: LocalState, _rng: np.random.Generator) -> Sums:
        marks = self._marks
        assert marks is not None, "sums are opened after gradients were sent"
        lows = [_low(residue, marks.slot_bits) for residue in opened.residues]
        highs = [
            (residue - low) % opened.modulus >> marks.slot_bits
            for residue, low in zip(opened.residues, lows, strict=True)
        ]
        left = _bits(highs, len(marks.ids))
        local.record(boosting.OPENED_SUMS, boosting.ROW_BITS, Tree({"rows": Array(marks.ids), "left": Array(left)}))
        g = np.array([low >> marks.h_bits for low in lows], dtype=np.int64)
        h = np.array([low & ((1 << marks.h_bits) - 1) for low in lows], dtype=np.int64)
        return Sums(g, h)


def _own_ids(local: LocalState) -> IntArray:
    """Of the rows that count in the current tree."""
    rows = local.latest(boosting.OWN_GRADIENTS)
    assert isinstance(rows, Tree)
    found = rows.items["rows"]
    assert isinstance(found, Array)
    return found.values.astype(np.int64)


def _low(residue: int, slot_bits: int) -> int:
    """The honest sums, which may be negative."""
    low = residue & ((1 << slot_bits) - 1)
    return low - (1 << slot_bits) if low >> (slot_bits - 1) else low


def _bits(values: Sequence[int], n_bits: int) -> BoolArray:
    """(values, bits), the lowest first."""
    n_bytes = (n_bits + 7) // 8
    packed = np.frombuffer(b"".join(value.to_bytes(n_bytes, "little") for value in values), dtype=np.uint8)
    unpacked = np.unpackbits(packed.reshape(len(values), n_bytes), axis=1, bitorder="little")
    return np.asarray(unpacked[:, :n_bits], dtype=bool)
