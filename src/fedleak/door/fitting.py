"""Before long work: what it will take, and what is made smaller where somebody has less time than that."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fedleak.auditing.budget import as_settings, budget_seconds, fitted, reduction_words, settings_words
from fedleak.auditing.changed_scenario import changed
from fedleak.auditing.estimate import duration_words, estimate_words, measured_speeds, work_of
from fedleak.door.given import Given, GivenCapture, Planned
from fedleak.report.finding_journal import Order
from fedleak.trial.progress import Progress


@dataclass(frozen=True, eq=False)
class Fitted:
    """``order`` is what was asked for, with what was made smaller: asked again, it plans the same."""

    planned: Planned
    order: Order


def fit(wanted: Given | GivenCapture, order: Order, progress: Progress, repeats: int, *, resumed: bool) -> Fitted:
    """Nothing is made smaller where no time is given. Of an audit that is resumed that was decided before."""
    if isinstance(wanted, Given):
        wanted = replace(wanted, scenario=changed(wanted.scenario, order.changed))
    planned = wanted.plan()
    if isinstance(wanted, GivenCapture) or resumed:
        return Fitted(planned, order)
    work = work_of(planned.runs, repeats)
    if not work.real.is_long:
        return Fitted(planned, order)
    speeds = measured_speeds(planned.runs)
    progress.note(estimate_words(work, speeds))
    if order.budget is None:
        return Fitted(planned, order)
    fitting = fitted(planned.runs, repeats, speeds, budget_seconds(order.budget))
    words = settings_words(as_settings(planned.runs, fitting.size))
    if not words:
        return Fitted(planned, order)
    smaller = replace(wanted, scenario=changed(wanted.scenario, words)).plan()
    reduced = tuple(reduction_words(planned.runs, smaller.runs, order.budget, fitting.seconds))
    for line in reduced:
        progress.note(line)
    progress.note(f"so the runs take about {duration_words(fitting.seconds)}")
    return Fitted(smaller, replace(order, changed=(*order.changed, *words), reduced=reduced))
