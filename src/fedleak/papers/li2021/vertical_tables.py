"""Tables 2 and 3: inverting vertical linear and logistic regression, end to end from the transcript."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import numpy as np

from fedleak.audit.progress import Progress
from fedleak.core.attack import Reference
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.li2021.figures import TABLE2, TABLE3, VerticalCase
from fedleak.papers.li2021.vertical_measure import Measured, measure_case

QUICK_FEATURES = 16  # wider victims are left to the full run


class _VerticalTable(Experiment):
    cases: ClassVar[tuple[VerticalCase, ...]]
    logistic: ClassVar[bool]

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        cases = [case for case in self.cases if not quick or case.victim_features <= QUICK_FEATURES]
        progress.begin(self.name, len(cases))
        for case in cases:
            found = [measure_case(case, logistic=self.logistic, seed=seed) for seed in self.seeds(quick=quick)]
            progress.advance()
            yield _row(case, found)


class Table2(_VerticalTable):
    name = "li2021/table2"
    summary = "inverting the passive party's table, vertical linear regression with an arbiter"
    reference = Reference("li2021", "table 2")
    cases = TABLE2
    logistic = False


class Table3(_VerticalTable):
    name = "li2021/table3"
    summary = "inverting the passive party's table, vertical logistic regression with an arbiter"
    reference = Reference("li2021", "table 3")
    cases = TABLE3
    logistic = True


def _row(case: VerticalCase, found: Sequence[Measured]) -> Row:
    errors = [one.relative_error for one in found]
    return Row(
        setting={
            "dataset": case.dataset,
            "attacker_features": case.attacker_features,
            "victim_features": case.victim_features,
            "fake_features_of_paper": case.fake_features,
            "batch_rows": case.samples,
        },
        measured={
            "relative_error": _mean(errors),
            "relative_error_low": _extreme(errors, min),
            "relative_error_high": _extreme(errors, max),
            "seconds": _mean([one.seconds for one in found]),
            "known_data_ratio": _mean([one.kdr for one in found]),
            "solutions_with_papers_cells": _mean([one.n_solutions for one in found]),
            "gram_error": _mean([one.gram_error for one in found]),
            "relative_error_from_exact_gram": _mean([one.exact_gram_error for one in found]),
            "inverted_runs": float(sum(error is not None for error in errors)),
        },
        paper={"relative_error": case.relative_error, "seconds": case.seconds, "known_data_ratio": case.kdr},
        baseline={"relative_error": float(np.mean([one.baseline_error for one in found]))},
        note=" | ".join(dict.fromkeys(one.note for one in found)),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """Over the runs that gave a figure; how many did stands beside it."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _extreme(values: Sequence[float | None], which: Callable[[Sequence[float]], float]) -> float | None:
    known = [value for value in values if value is not None]
    return float(which(known)) if known else None
