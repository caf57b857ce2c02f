"""Tables 5 and 6 and figure 11: how many batches of made-up records give every split point of the victim away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fedleak.attacks.boosting.threshold_search import PrintedThresholdSearch, ThresholdSearch
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Reference
from fedleak.core.payload import Table
from fedleak.core.whole.truth import SecretValues
from fedleak.papers.experiment import Curve, Experiment, Panel, Row
from fedleak.papers.li2021.boosted_run import BoostedRun, rounds_of
from fedleak.papers.li2021.printed import BREAST, TABLE5, TABLE6, BoostedCase
from fedleak.papers.li2021.vertical_run import ATTACKER, VICTIM
from fedleak.papers.summaries import Summary, mean, min_max
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.theory.boosted_trees import least_batches, printed_batches
from fedleak.trial.attempt import Attempt
from fedleak.trial.play import Played
from fedleak.trial.progress import Progress

TARGET = Secret(SecretKind.THRESHOLDS, VICTIM)
DEPTHS = (3, 5)
QUICK_DEPTHS = (3,)
LINES = ("ours", "ours, columns hidden", "algorithm 1")
FIG11_RECORDS = (11, 51, 101, 201, 401)
FIG11_EPSILONS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


@dataclass(frozen=True)
class Search:
    """One way of asking, on one run."""

    batches: int
    records: int
    coverage: float  # of the split points: bracketed to epsilon by the service's answers
    wrong: int  # brackets that do not hold the split point
    error: float  # the largest, over epsilon
    cpu_seconds: float


@dataclass(frozen=True)
class Measured:
    nodes: int
    formula: int  # N_Q with the number of nodes that this run has
    least: int
    baseline_error: float  # of the middle of the range, over epsilon
    accuracy: float
    searches: Mapping[str, Search]

    @property
    def allowed(self) -> float:
        """A twelfth of the paper's number, or three more than any way of asking needs."""
        return max(self.formula / 12, self.least + 3)


def measure(case: BoostedCase, depth: int, seed: int) -> Measured:
    """Everybody asks about the same trees; with hidden columns these are trained anew and are the same."""
    run = BoostedRun(case, depth, rounds_of(case))
    shown = run.play(seed, enrolled_records=True)
    hidden = run.play(seed, enrolled_records=True, reveal_feature=False)
    known, epsilon = run.ranges(shown), case.epsilon / (case.high - case.low)
    found = {}
    for name, played, kind in zip(
        LINES, (shown, hidden, shown), (ThresholdSearch, ThresholdSearch, PrintedThresholdSearch), strict=True
    ):
        attack = kind(epsilon=epsilon, n_records=case.records)
        attempt = played.attempt(attack, (ATTACKER,), TARGET, known, scores=False)
        found[name] = searched(attempt, played.run.truth.of(TARGET), case.epsilon)
    truth = shown.run.truth.of(TARGET).values
    return Measured(
        nodes=len(truth),
        formula=printed_batches(len(truth), 1 / epsilon, case.records),
        least=least_batches(1 / epsilon, case.records, _different_thresholds(shown)),
        baseline_error=float(np.abs(truth - (case.low + case.high) / 2).max() / case.epsilon),
        accuracy=shown.run.utility["train_accuracy"],
        searches=found,
    )


def searched(attempt: Attempt, truth: SecretValues, epsilon: float) -> Search:
    guess, evidence = attempt.guess, attempt.guess.evidence
    low, high = _brackets(guess, truth)
    inside = (low <= truth.values[:, 0]) & (truth.values[:, 0] <= high)
    told = np.isfinite(low) & np.isfinite(high)
    found = told & inside & (high - low <= epsilon)
    error = np.abs((low + high) / 2 - truth.values[:, 0])[told].max(initial=0.0) / epsilon
    batches, records = (int(evidence[name] or 0) for name in ("batches", "records"))
    wrong = int((told & ~inside).sum())
    return Search(batches, records, float(found.mean()), wrong, float(error), attempt.cpu_seconds)


def _brackets(guess: Guess, truth: SecretValues) -> tuple[np.ndarray, np.ndarray]:
    """In the order of the truth's nodes."""
    assert guess.intervals is not None
    place = {tuple(node): position for position, node in enumerate(guess.ids.tolist())}
    ends = guess.intervals[[place[tuple(node)] for node in truth.ids.tolist()], 0]
    return ends[:, 0], ends[:, 1]


def _different_thresholds(played: Played) -> list[int]:
    """Of each column of the victim."""
    splits = next(r.value for r in played.run.locals[VICTIM] if r.name == boosting.SPLITS.name)
    assert isinstance(splits, Table)
    column, threshold = splits.values[:, 2], splits.values[:, 3]
    return [len(np.unique(threshold[column == one])) for one in np.unique(column)]


class _Questions(Experiment):
    cases: ClassVar[tuple[BoostedCase, ...]]

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        depths = QUICK_DEPTHS if quick else DEPTHS
        progress.begin(self.name, len(self.cases) * len(depths))
        for case in self.cases:
            for depth in depths:
                yield row(case, depth, [measure(case, depth, seed) for seed in self.seeds(quick=quick)])
                progress.advance()


class Table5(_Questions):
    name = "li2021/table5"
    summary = "batches of made-up records for every split point of a partner in SecureBoost"
    reference = Reference("li2021", "table 5")
    cases = TABLE5


class Table6(_Questions):
    name = "li2021/table6"
    summary = "the same under different precisions"
    reference = Reference("li2021", "table 6")
    cases = TABLE6


class Fig11(Experiment):
    """The paper draws algorithm 1 alone, by theory and experiment, without numbers."""

    name = "li2021/fig11"
    summary = "batches by precision and records a batch, breast cancer"
    reference = Reference("li2021", "figure 11")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        many = [r for r in FIG11_RECORDS if not quick or r in (51, 401)]
        progress.begin(self.name, len(many) * len(FIG11_EPSILONS))
        for records in many:
            for epsilon in FIG11_EPSILONS:
                case = replace(BREAST, records=records, epsilon=epsilon)
                found = [measure(case, 3, seed) for seed in self.seeds(quick=quick)]
                progress.advance()
                yield replace(row(case, 3, found), paper=None, note="the paper shows curves without numbers")

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        figures = (("batches", "ours"), ("batches_algorithm_1", "algorithm 1"), ("least_batches", "no way needs fewer"))
        return tuple(_panel(rows, figure, title) for figure, title in figures)


def _panel(rows: Sequence[Row], figure: str, title: str) -> Panel:
    curves = []
    for records in dict.fromkeys(row.setting["records"] for row in rows):
        mine = [row for row in rows if row.setting["records"] == records]
        x = [float(str(row.setting["epsilon"])) for row in mine]
        y, low, high = ([row.measured.get(figure + end) or 0.0 for row in mine] for end in ("", "_low", "_high"))
        banded = figure in mine[0].bands
        curves.append(Curve(f"{records} records", x, y, low if banded else None, high if banded else None))
    return Panel(title, "epsilon", "batches", curves, log_x=True, log_y=True)


def row(case: BoostedCase, depth: int, found: Sequence[Measured]) -> Row:
    ours, hidden, printed = ([one.searches[name] for one in found] for name in LINES)
    summary = (
        min_max("batches", [s.batches for s in ours])
        | min_max("batches_hidden_columns", [s.batches for s in hidden])
        | min_max("batches_algorithm_1", [s.batches for s in printed])
        | _figures(found, ours, hidden, printed)
    )
    return Row(
        setting={
            "dataset": case.dataset,
            "depth": depth,
            "subtrees": case.subtrees,
            "epsilon": case.epsilon,
            "records": case.records,
        },
        measured=summary.figures,
        paper={
            "nodes": case.victim_nodes,
            "batches_algorithm_1": case.queries,
            "cpu_seconds_algorithm_1": case.seconds,
        },
        baseline={"largest_error_over_epsilon": mean([one.baseline_error for one in found])},
        bands=summary.bands,
    )


def _figures(
    found: Sequence[Measured], ours: Sequence[Search], hidden: Sequence[Search], printed: Sequence[Search]
) -> Summary:
    """Where a bound is meant for every run, the worst of the runs stands."""
    return Summary(
        {
            "nodes": mean([one.nodes for one in found]),
            "formula_n_q": mean([one.formula for one in found]),
            "least_batches": mean([one.least for one in found]),
            "batches_over_allowed": max(o.batches / one.allowed for o, one in zip(ours, found, strict=True)),
            "batches_over_n_q": max(o.batches / one.formula for o, one in zip(ours, found, strict=True)),
            "hidden_over_shown": max(h.batches / o.batches for h, o in zip(hidden, ours, strict=True)),
            "algorithm_1_over_n_q": max(p.batches / one.formula for p, one in zip(printed, found, strict=True)),
            "coverage": min(s.coverage for s in ours),
            "coverage_hidden_columns": min(s.coverage for s in hidden),
            "coverage_algorithm_1": min(s.coverage for s in printed),
            "wrong_brackets": float(sum(s.wrong for s in (*ours, *hidden, *printed))),
            "largest_error_over_epsilon": max(s.error for s in ours),
            "records_in_all": mean([s.records for s in ours]),
            "cpu_seconds": mean([s.cpu_seconds for s in ours]),
            "cpu_seconds_algorithm_1": mean([s.cpu_seconds for s in printed]),
            "train_accuracy": mean([one.accuracy for one in found]),
        }
    )
