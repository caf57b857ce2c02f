"""A calibration as JSON that others build on."""

from __future__ import annotations

from collections.abc import Iterable

from fedleak.calibration.stages import UNCALIBRATED
from fedleak.calibration.stopping import LOOKS
from fedleak.calibration.suite import Measured, Wanted
from fedleak.calibration.tally import LEAST_FOUND, MOST_FALSE, SURE, Tally, pooled
from fedleak.trial.provenance import provenance

HOW = (
    "attacks ran in the process that measured, on runs under the ideal cipher: what is calibrated is the decision, by "
    "the same code as an audit's"
)


def calibration_json(wanted: Wanted, measured: Measured) -> dict[str, object]:
    found = measured.calibration
    return {
        "quick": wanted.quick,
        "complete": measured.complete,
        "repeats": wanted.repeats,
        "false_leaks": _rows(found.false_leaks),
        "pooled": _rows(pooled(found.false_leaks)),
        "power": _rows(found.power),
        "limits": {"false_leaks": MOST_FALSE, "power": LEAST_FOUND, "one_sided_tail": SURE},
        "stopped_early": [{"seeds": seeds, "at_most": leaks} for seeds, leaks in LOOKS.items() if wanted.stops_early],
        "broken": list(found.broken),
        "never_answered": list(found.silent),
        "not_calibrated": list(UNCALIBRATED),
        "how": HOW,
        "seconds": measured.seconds,
        "cpu_seconds": measured.cpu_seconds,
        "provenance": provenance(measured.code),
    }


def _rows(tallies: Iterable[Tally]) -> list[dict[str, object]]:
    return [_row(tally) for tally in tallies]


def _row(tally: Tally) -> dict[str, object]:
    return {
        "attack": tally.attack,
        "table": tally.table,
        "n": tally.n or None,
        "seeds": tally.seeds,
        "share": tally.share,
        "ci": list(tally.ci),
        "answered": tally.answered,
        "failures": list(tally.failures),
        "cpu_seconds": round(tally.cpu_seconds, 3),
    }
