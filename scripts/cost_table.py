"""Predicted beside measured: what runs cost at three sizes, and what a hundred parties with 1e8 rows would.

``python scripts/cost_table.py`` runs three protocols at three sizes under real 2048-bit keys on one core, compares CPU
time and bytes with the cost model, and writes docs/results/cost_model.json and docs/scale.md. Exit code 1 where a time
is off by more than 30 %.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from cost_page import page
from fedleak.core.facts import PartyFacts
from fedleak.core.payload import CipherArray, Payload, Tree
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Settings, Slice
from fedleak.core.whole.randomness import Randomness
from fedleak.crypto.cipher_speed import CipherSpeed, Operations, measured_speed
from fedleak.crypto.cores import using
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings
from fedleak.protocols.cost_model import operations
from fedleak.protocols.linear.vertical_arbiter import VerticalLogisticArbiterSettings
from fedleak.protocols.linear.vertical_logistic import VerticalLogisticSettings
from fedleak.trial.play import play
from fedleak.trial.provenance import code_state, one_thread, provenance

ROOT = Path(__file__).parents[1]
RESULT, PAGE = ROOT / "docs" / "results" / "cost_model.json", ROOT / "docs" / "scale.md"
TABLES = RESULT.with_name("million_rows.json")  # by scripts/million_rows.py
KEY_BITS, FRACTION_BITS, SEED, ALLOWED = 2048, 40, 3, 0.30
SETTINGS: Mapping[str, Settings] = {
    "vertical-logistic": VerticalLogisticSettings(batch_size=32, epochs=1),
    "vertical-logistic-arbiter": VerticalLogisticArbiterSettings(batch_size=32, epochs=1),
    "secureboost": SecureBoostSettings(n_trees=1, depth=3),
}
SIZES = ((256, 16), (512, 32), (1024, 64))  # rows, columns of all parties: keys are a part of the time, not half of it
LARGE = {**SETTINGS, "secureboost": SecureBoostSettings(n_trees=1, depth=3, fraction_bits=32)}  # 62 bits hold 1e8 rows
LARGE_PARTIES, LARGE_ROWS, LARGE_COLUMNS = 100, 10**8, 10  # columns of each


@dataclass(frozen=True)
class Compared:
    protocol: str
    rows: int
    columns: int
    ciphertexts: int
    predicted_seconds: float
    measured_seconds: float
    predicted_megabytes: float
    measured_megabytes: float

    @property
    def ratio(self) -> float:
        return self.measured_seconds / self.predicted_seconds


def federation(protocol: str, n_rows: int, n_columns: int) -> Federation:
    """Gaussian rows of norm at most 1; the bank has the labels and half of the columns."""
    rng = np.random.default_rng(SEED)
    rows = rng.standard_normal((n_rows, n_columns))
    rows /= np.linalg.norm(rows, axis=1).max()
    labels = (rows @ rng.standard_normal(n_columns) > 0).astype(np.int64)
    half, ids = n_columns // 2, np.arange(n_rows)
    parties = [
        Party("bank", Role.ACTIVE, tuple(f"b{i}" for i in range(half)), Slice(ids, rows[:, :half], labels)),
        Party("shop", Role.PASSIVE, tuple(f"s{i}" for i in range(n_columns - half)), Slice(ids, rows[:, half:])),
    ]
    if protocol.endswith("-arbiter"):
        parties.append(Party("referee", Role.ARBITER, (), Slice(ids, rows[:, :0])))
    return Federation(protocol, tuple(parties), SETTINGS[protocol], max_row_norm=1.0)


def compared(made: Federation) -> Compared:
    protocol = PROTOCOLS.get(made.protocol)
    facts = protocol.public_facts(made, parties=made.party_facts, n_rows=made.n_rows)
    counted = operations(made.settings, facts)
    assert counted is not None
    batch = made.parties[1].train.features[: getattr(made.settings, "batch_size", 32)]
    speed = measured_speed("paillier", KEY_BITS, FRACTION_BITS, batch, time.process_time)
    began = time.process_time()
    played = play(made, Randomness.published(SEED))
    taken = time.process_time() - began
    sent = sum(n_bytes(message.payload) for message in played.run.transcript.messages)
    return Compared(
        made.protocol,
        made.n_rows,
        sum(len(party.columns) for party in made.parties),
        counted.sent,
        speed.seconds(counted),
        taken,
        counted.sent * ciphertext_bytes() / 1e6,
        sent / 1e6,
    )


def n_bytes(payload: Payload) -> int:
    """Of ciphertexts alone."""
    if isinstance(payload, Tree):
        return sum(map(n_bytes, payload.items.values()))
    return int(payload.data.nbytes) if isinstance(payload, CipherArray) else 0


def ciphertext_bytes() -> int:
    return 2 * KEY_BITS // 8


def large(protocol: str) -> Operations:
    """Of one pass over all rows, or one tree."""
    members = [PartyFacts("bank", Role.ACTIVE, LARGE_COLUMNS)]
    members += [PartyFacts(f"partner {number}", Role.PASSIVE, LARGE_COLUMNS) for number in range(1, LARGE_PARTIES)]
    if protocol.endswith("-arbiter"):
        members.append(PartyFacts("referee", Role.ARBITER, 0))
    facts = PROTOCOLS.get(protocol).facts(LARGE[protocol], tuple(members), LARGE_ROWS)
    counted = operations(LARGE[protocol], facts)
    assert counted is not None
    return counted


def extrapolated(speed: CipherSpeed) -> list[dict[str, object]]:
    found = []
    for protocol in LARGE:
        counted = large(protocol)
        terabytes = counted.sent * ciphertext_bytes() / 1e12
        years = speed.seconds(counted) / (365.25 * 86_400)
        found.append(
            {"protocol": protocol, "ciphertexts": counted.sent, "terabytes": terabytes, "core_years": years}
            | {"counted": asdict(counted)}
        )
    return found


def results() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Those that are there: of this script, and of the one on large tables."""
    compared = json.loads(RESULT.read_text(encoding="utf-8"))
    return compared, json.loads(TABLES.read_text(encoding="utf-8")) if TABLES.exists() else {"rows": []}


def write_page() -> None:
    PAGE.write_text(page(*results()), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page again, from the result that is there")
    if parser.parse_args(arguments).page:
        write_page()
        return 0
    code, began = code_state(), time.process_time()
    with one_thread(), using(1):
        rows = [compared(federation(protocol, *size)) for protocol in SETTINGS for size in SIZES]
        batch = np.random.default_rng(SEED).standard_normal((32, LARGE_COLUMNS)) / sqrt(LARGE_COLUMNS)
        speed = measured_speed("paillier", KEY_BITS, FRACTION_BITS, batch, time.process_time)
        made = provenance(code)
    for row in rows:
        print(row, round(row.ratio, 2), flush=True)
    result = {
        "key_bits": KEY_BITS,
        "compared": [{**asdict(row), "ratio": row.ratio} for row in rows],
        "speed": asdict(speed),
        "parties": LARGE_PARTIES,
        "n_rows": LARGE_ROWS,
        "columns": LARGE_COLUMNS,
        "large": extrapolated(speed),
        "cpu_seconds": time.process_time() - began,
        "provenance": made,
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    write_page()
    return 0 if all(abs(row.ratio - 1) <= ALLOWED for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
