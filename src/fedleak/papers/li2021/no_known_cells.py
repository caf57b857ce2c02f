"""Beyond the paper: the rotation closed without a single known cell. What each kind of knowledge buys.

The same runs, the same attack, with and without the knowledge; end to end from the transcript.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from fedleak.attacks.gram.gram_estimate import GramEstimate
from fedleak.attacks.gram.gram_recovery import certain_gram_of
from fedleak.attacks.inversion.rotation_matching import rotate_into_place
from fedleak.attacks.inversion.rotation_starts import random_start
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Reference, Status
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownColumn, PublicSample
from fedleak.core.payload import Table
from fedleak.core.whole.randomness import Randomness
from fedleak.data import DataSpec, load_table
from fedleak.deviations.extra_columns import FakeFeatures
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.li2021.relative_error import median_error, relative_error
from fedleak.papers.li2021.tables import STABLE_RATE, paper_table
from fedleak.papers.li2021.vertical_run import ATTACKER, VICTIM, VerticalRun, federation_of
from fedleak.papers.summaries import mean
from fedleak.protocols.linear.vertical_arbiter import VerticalLinearArbiterSettings
from fedleak.trial.play import play
from fedleak.trial.progress import Progress

N_ROWS, BATCH, N_SAMPLE, N_OWN = 100, 25, 300, 4
N_REFERENCE = 30  # random rotations for the figure without knowledge
WITHIN = 0.01  # of a column's range


@dataclass(frozen=True, eq=False)
class _Data:
    rows: FloatArray  # the victim's
    own: FloatArray
    labels: FloatArray
    sample: FloatArray  # similar people, not in the training


@dataclass(frozen=True)
class _Case:
    data: str
    load: Callable[[int], _Data]
    knowledge: tuple[str, ...]


class NoKnownCells(Experiment):
    name = "li2021/no-known-cells"
    summary = "the victim's table from inner products and knowledge of its columns alone"
    reference = Reference("fedleak", "beyond li2021, section 4.3")
    from_true_rows = (STABLE_RATE,)

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2, 3, 4)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        progress.begin(self.name, sum(2 * len(case.knowledge) for case in CASES))
        for case in CASES:
            runs = [_prepare(case, seed) for seed in self.seeds(quick=quick)]
            for with_weights in (True, False):
                for kind in case.knowledge:
                    progress.advance()
                    yield _row(case, kind, with_weights, runs)


@dataclass(frozen=True, eq=False)
class _Prepared:
    result: VerticalRun
    ids: IntArray
    gram: GramEstimate
    data: _Data
    seed: int


def _prepare(case: _Case, seed: int) -> _Prepared:
    data = case.load(seed)
    rng = np.random.default_rng([seed, 11])
    everything = np.hstack([data.own, data.rows])
    n_fake = BATCH - data.own.shape[1]
    curvature = float(np.linalg.norm(everything, 2) ** 2) / len(everything) + 0.25 * n_fake
    settings = VerticalLinearArbiterSettings(
        batch_size=BATCH,
        epochs=N_ROWS + 8,
        learning_rate=0.3 / curvature,
        initialisation="normal",
        cipher="sealed",
        key_bits=1024,
        l2=0.01,
        loss=False,
        prediction_service=True,
    )
    federation = federation_of(data.own, data.rows, data.labels, settings, logistic=False)
    played = play(
        federation,
        Randomness.published(seed, "li2021/no-known-cells"),
        deviation=FakeFeatures(count=n_fake),
        deviating=ATTACKER,
    )
    result = VerticalRun(played, data.rows, n_fake, settings.epochs * -(-N_ROWS // BATCH), True)
    ids, gram = certain_gram_of(result.view(), rng)
    if not isinstance(gram, GramEstimate):
        raise AssertionError(f"the experiment's own trajectory must identify the inner products: {gram.why}")
    return _Prepared(result, ids, gram, data, seed)


def _row(case: _Case, kind: str, with_weights: bool, runs: list[_Prepared]) -> Row:
    found = [_errors(kind, with_weights, run) for run in runs]
    reference = [_without(run) for run in runs]
    answered = [one for one in found if one is not None]
    return Row(
        setting={"data": case.data, "knowledge": kind, "weights_stolen": with_weights, "victim_features": _width(runs)},
        measured={
            "relative_error": mean([one[0] for one in answered]),
            "cells_recovered": mean([one[1] for one in answered]),
            "recovered_runs": float(sum(one[2] for one in answered)),
            "answered_runs": float(len(answered)),
            "relative_error_without_knowledge": float(np.mean([one[0] for one in reference])),
            "cells_recovered_without_knowledge": float(np.mean([one[1] for one in reference])),
        },
        baseline={
            "relative_error": float(np.mean([median_error(run.data.rows) for run in runs])),
            "cells_recovered": None,
        },
        note="without knowledge: a random rotation; 'nothing' still uses independence of the columns"
        + ("" if answered else "; the attack says: not identifiable"),
    )


def _width(runs: list[_Prepared]) -> int:
    return int(runs[0].data.rows.shape[1])


def _errors(kind: str, with_weights: bool, run: _Prepared) -> tuple[float, float, bool] | None:
    view = run.result.view(_knowledge(kind, run.data))
    if not with_weights:
        view = replace(view, oracles={})
    guess = rotate_into_place(view, run.ids, run.gram, np.random.default_rng(run.seed))
    if guess.status is Status.NOT_IDENTIFIABLE:
        return None
    return *_figures(guess.values, run.data.rows), guess.status is Status.RECOVERED


def _without(run: _Prepared) -> tuple[float, float]:
    rng = np.random.default_rng([run.seed, 5])
    width = run.gram.factor.shape[1]
    figures = [_figures(run.gram.factor @ random_start(width, rng), run.data.rows) for _ in range(N_REFERENCE)]
    return float(np.mean([f[0] for f in figures])), float(np.mean([f[1] for f in figures]))


def _figures(guess: FloatArray, truth: FloatArray) -> tuple[float, float]:
    within = np.abs(guess - truth) <= WITHIN * np.ptp(truth, axis=0)
    return relative_error(guess, truth), float(np.mean(within))


def _knowledge(kind: str, data: _Data) -> Knowledge:
    rows = data.rows
    if kind == "nothing":
        return Knowledge()
    names = [f"their{index}" for index in range(rows.shape[1])]
    if kind == "sample":
        table = Table(tuple(names), np.arange(len(data.sample)), data.sample)
        return Knowledge(samples=(PublicSample(VICTIM, table),))
    whole = kind == "possible values"
    columns = []
    for index, name in enumerate(names):
        low, high = float(rows[:, index].min()), float(rows[:, index].max())
        integers = whole and bool(np.equal(rows[:, index], np.round(rows[:, index])).all())
        columns.append(KnownColumn(VICTIM, name, ColumnKind.INTEGER if integers else None, low, high))
    return Knowledge(columns=tuple(columns))


def _split(values: FloatArray, own: FloatArray, labels: FloatArray, seed: int) -> _Data:
    order = np.random.default_rng([seed, 2]).permutation(len(values))
    train, sample = order[:N_ROWS], order[N_ROWS : N_ROWS + N_SAMPLE]
    return _Data(values[train], own[train][:, :N_OWN], labels[train], values[sample])


def _credit(seed: int) -> _Data:
    """Sex, education, marriage and two repayment states as they are coded; the attacker has balances, standardised."""
    spec = DataSpec(source="credit_default", scaling="none", max_rows=4000)
    table = load_table(spec)
    names = list(table.columns)
    mine = [names.index(name) for name in ("SEX", "EDUCATION", "MARRIAGE", "PAY_0", "PAY_2")]
    rest = np.setdiff1d(np.arange(len(names)), mine)
    others = table.values[:, rest]
    others = (others - others.mean(axis=0)) / others.std(axis=0)
    return _split(table.values[:, mine], others, np.asarray(table.labels, dtype=np.float64), seed)


def _breast(seed: int) -> _Data:
    table = paper_table("breast-cancer", binary=True)
    return _split(table.values[:, :5], table.values[:, 5:], table.labels, seed)


def _independent(seed: int) -> _Data:
    """Skewed and bounded columns, independent of one another."""
    rng = np.random.default_rng([seed, 1])
    n = N_ROWS + N_SAMPLE
    columns = [rng.exponential(size=n), rng.uniform(-1, 2, size=n), rng.beta(0.5, 0.5, size=n), rng.laplace(size=n)]
    values = np.column_stack(columns)
    return _split(
        values, rng.standard_normal((n, N_OWN)), values @ [0.5, -1.0, 0.7, 0.3] + rng.standard_normal(n), seed
    )


CASES = (
    _Case("credit, 5 coded columns", _credit, ("nothing", "range", "possible values", "sample")),
    _Case("breast cancer, 5 columns", _breast, ("nothing", "range", "sample")),
    _Case("4 independent columns, synthetic", _independent, ("nothing", "range", "sample")),
)
