"""What a calibration measured, block by block, so that an interrupted one goes on where it was."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fedleak.calibration.blocks import Block
from fedleak.calibration.tally import Tally
from fedleak.core.finding import Outcome
from fedleak.trial.measured_journal import MeasuredJournal


class Journal:
    """``path`` None keeps nothing beyond the calibration."""

    def __init__(self, path: Path | None) -> None:
        self._kept = MeasuredJournal(path, named="--out")

    def of(self, block: Block) -> list[Tally] | None:
        found = self._kept.of(block.key)
        return None if found is None else [_tally(one) for one in found]

    def keep(self, block: Block, tallies: list[Tally]) -> None:
        self._kept.keep(block.key, [_plain(tally) for tally in tallies])


def _plain(tally: Tally) -> dict[str, object]:
    return {
        "attack": tally.attack,
        "table": tally.table,
        "n": tally.n,
        "outcomes": {outcome.value: count for outcome, count in tally.outcomes.items()},
        "failures": list(tally.failures),
        "cpu_seconds": tally.cpu_seconds,
    }


def _tally(plain: Mapping[str, object]) -> Tally:
    outcomes, failures = plain["outcomes"], plain["failures"]
    if not isinstance(outcomes, dict) or not isinstance(failures, list):
        raise TypeError
    counts = {Outcome(name): int(count) for name, count in outcomes.items()}
    n, seconds = int(str(plain["n"])), float(str(plain["cpu_seconds"]))
    return Tally(str(plain["attack"]), str(plain["table"]), n, counts, tuple(map(str, failures)), seconds)
