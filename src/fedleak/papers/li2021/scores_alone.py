"""Split points through a service that shows scores and no hops: by leaves where trees are few, by jumps where many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fedleak.attacks.boosting.threshold_search import ThresholdSearch
from fedleak.core.attack import Reference
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.li2021.boosted_run import BoostedRun
from fedleak.papers.li2021.printed import BREAST, VEHICLE
from fedleak.papers.li2021.split_point_questions import TARGET, Search, searched
from fedleak.papers.li2021.vertical_run import ATTACKER
from fedleak.papers.summaries import Summary, mean, min_max
from fedleak.trial.progress import Progress

PRECISION = 1e-4  # of the range
RECORDS = 401
KINDS = ((BREAST, 5, False), (BREAST, 20, False), (VEHICLE, 5, False), (VEHICLE, 20, True))
RUNS = tuple(BoostedRun(case, depth, rounds, against_rest) for case, rounds, against_rest in KINDS for depth in (3, 5))
QUICK_RUNS = tuple(run for run in RUNS if run.depth == 3)


def measure(run: BoostedRun, seed: int, prediction: str = "scores") -> tuple[Search, float]:
    """And what share of the split points the middle of the range is as near to."""
    played = run.play(seed, enrolled_records=True, prediction=prediction)
    attack = ThresholdSearch(epsilon=PRECISION, n_records=RECORDS)
    attempt = played.attempt(attack, (ATTACKER,), TARGET, run.ranges(played), scores=False)
    truth, epsilon = played.run.truth.of(TARGET), PRECISION * (run.case.high - run.case.low)
    middle = np.abs(truth.values - (run.case.low + run.case.high) / 2) <= epsilon / 2
    return searched(attempt, truth, epsilon), float(middle.mean())


class ScoresAlone(Experiment):
    name = "li2021/scores-alone"
    summary = "a partner's split points where the prediction service shows scores alone"
    reference = Reference("fedleak", "docs/attacks/threshold-search.md")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        runs = QUICK_RUNS if quick else RUNS
        progress.begin(self.name, len(runs))
        for run in runs:
            seeds = self.seeds(quick=quick)
            hops = [measure(run, seed, "routing")[0] for seed in seeds]
            scores, middle = zip(*(measure(run, seed) for seed in seeds), strict=True)
            yield _row(run, hops, scores, mean(middle))
            progress.advance()


def _row(run: BoostedRun, hops: Sequence[Search], scores: Sequence[Search], middle: float | None) -> Row:
    summary = min_max("found", [one.coverage for one in scores]) | Summary(
        {
            "wrong_brackets": float(sum(one.wrong for one in scores)),
            "batches": mean([one.batches for one in scores]),
            "records_in_all": mean([one.records for one in scores]),
            "found_by_hops": mean([one.coverage for one in hops]),
            "batches_by_hops": mean([one.batches for one in hops]),
            "cpu_seconds": mean([one.cpu_seconds for one in scores]),
        }
    )
    labels = "one against the rest" if run.one_against_rest else "all classes"
    return Row(
        {"dataset": run.case.dataset, "labels": labels, "depth": run.depth, "trees": run.n_trees},
        summary.figures,
        baseline={"found": middle},
        bands=summary.bands,
    )
