"""What is made smaller so that an audit fits a time that somebody has, and what that does to its verdict.

Rows first: how a batch leaks does not depend on how many batches there are, so a sample says most. Epochs then, which
some attacks live on; theory says which. The real cipher last: without it nobody looks at how ciphertexts look.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from fedleak.auditing.estimate import IDEAL, Size, Speeds, configured, duration_words, work_of
from fedleak.auditing.planner import PlannedRun, Task
from fedleak.core.errors import InputError
from fedleak.core.finding import Outcome

FOR_RUNS = 1 / 2  # of the time; the rest is for attacks, which nobody can count, and for a machine that gets busier
FOR_FIRST_ATTACKS = 1 / 4  # of the time, which they get even where the runs took longer than was foreseen
LEAST_ROWS = 200  # of training: with fewer, luck hides what leaks
UNITS = {"s": 1, "m": 60, "h": 3600}


def budget_seconds(text: str) -> float:
    """``90s``, ``5m``, ``1.5h``."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", text.strip())
    if found is None or float(found[1]) == 0:
        raise InputError(f"--budget must be a time such as 90s, 5m or 2h; got {text!r}")
    return float(found[1]) * UNITS[found[2]]


@dataclass(frozen=True)
class Fit:
    """``seconds``: what the runs are expected to take then."""

    size: Size
    seconds: float


def fitted(runs: Sequence[PlannedRun], repeats: int, speeds: Speeds, seconds: float) -> Fit:
    """The largest size whose runs take at most their part of the time; the smallest there is where none does."""

    def takes(size: Size) -> float:
        return speeds.seconds(work_of(runs, repeats, size))

    allowed = FOR_RUNS * seconds
    size = Size()
    if takes(size) <= allowed:
        return Fit(size, takes(size))
    n_rows = runs[0].federation.n_rows
    least = min(n_rows, max(LEAST_ROWS, *(_batch_size(planned) for planned in runs)))
    size = replace(size, rows=_most(least, n_rows, lambda rows: takes(replace(size, rows=rows)) <= allowed))
    epochs = getattr(runs[0].federation.settings, "epochs", None)
    if takes(size) > allowed and epochs is not None:
        fewer = _most(1, epochs, lambda number: takes(replace(size, epochs=number)) <= allowed)
        size = replace(size, epochs=fewer)
    if takes(size) > allowed:
        size = replace(size, ideal=True)
    return Fit(size, takes(size))


def _most(least: int, most: int, fits: Callable[[int], bool]) -> int:
    """The largest number that fits; the least where none does."""
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if fits(middle) else (least, middle - 1)
    return least


def _batch_size(planned: PlannedRun) -> int:
    return int(getattr(configured(planned).settings, "batch_size", 1))


def as_settings(runs: Sequence[PlannedRun], size: Size) -> dict[str, object]:
    """The keys of a scenario that make it so small; rows held out from training become fewer in proportion."""
    federation = runs[0].federation
    found: dict[str, object] = {}
    if size.rows is not None and size.rows < federation.n_rows:
        n_held_out = max(0 if party.test is None else len(party.test.ids) for party in federation.parties)
        n_kept = size.rows * (federation.n_rows + n_held_out) // federation.n_rows
        found["max_rows"] = n_kept
    if size.epochs is not None and size.epochs < getattr(federation.settings, "epochs", 0):
        found["epochs"] = size.epochs
    if size.ideal:
        found["cipher"] = IDEAL
    return found


def reduction_words(
    before: Sequence[PlannedRun], after: Sequence[PlannedRun], wanted: str, seconds: float
) -> Iterator[str]:
    """What was made smaller for the time ``wanted``, and what that does to the verdict: a sentence each."""
    yield from _rows_words(before[0].federation.n_rows, after[0].federation.n_rows, wanted)
    old, new = (runs[0].federation.settings for runs in (before, after))
    if getattr(old, "epochs", None) != getattr(new, "epochs", None):
        yield f"to fit {wanted}, {new.epochs} of {old.epochs} epochs were run"  # type: ignore[attr-defined]
    if getattr(old, "cipher", None) != getattr(new, "cipher", None):
        yield (
            f"to fit {wanted}, all runs were under the ideal cipher: the plaintexts are the same, "
            "and how real ciphertexts look was not tried"
        )
    changed = list(_changed_predictions(before, after))
    yield (
        f"theory expects something else of attacks on the whole: {'; '.join(changed)}"
        if changed
        else "theory expects of every attack on the whole what it expects here"
    )
    if seconds > FOR_RUNS * budget_seconds(wanted):
        yield f"{wanted} is less than the smallest audit takes: the runs alone take about {duration_words(seconds)}"


def _rows_words(n_all: int, n_kept: int, wanted: str) -> Iterator[str]:
    if n_kept == n_all:
        return
    # The widest that a 95 % interval of a share gets, at one half
    kept, whole = (100 * 0.98 / sqrt(n_rows) for n_rows in (n_kept, n_all))
    yield (
        f"to fit {wanted}, {n_kept:,} of {n_all:,} training rows were audited, evenly spread over the table: a leak "
        f"that shows there is one; a share is known to within {kept:.1f} points instead of {whole:.1f}, and what was "
        "not found may show in more rows"
    )


def _changed_predictions(before: Sequence[PlannedRun], after: Sequence[PlannedRun]) -> Iterator[str]:
    old, new = _predictions(before), _predictions(after)
    for key, verdict in new.items():
        if key in old and old[key] != verdict:
            yield f"{key[0]} by {key[1]} {old[key]} instead of {verdict}"


def _predictions(runs: Sequence[PlannedRun]) -> dict[tuple[str, str, str, str], str]:
    found = {}
    for planned in runs:
        label = planned.defense.label if planned.defense else ""
        for task in planned.tasks:
            who = " + ".join(task.adversary.parties) + (f" under {label}" if label else "")
            found[task.attack.name, who, str(task.target), label] = _expected(task)
    return found


def _expected(task: Task) -> str:
    return Outcome.SKIPPED.value if task.skip else task.prediction.verdict.value


def settings_words(settings: dict[str, object]) -> tuple[str, ...]:
    """As ``--set`` takes them."""
    return tuple(f"{name}={value}" for name, value in settings.items())
