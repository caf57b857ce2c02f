"""Figures 9 and 10: running time of the coalition with the arbiter, vertical regression of several parties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedleak.attacks.arbiter.arbiter_collusion import ArbiterCollusion
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Reference, Status
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.randomness import Randomness
from fedleak.papers.dealing import deal_columns
from fedleak.papers.experiment import Curve, Experiment, Panel, Row
from fedleak.papers.li2021.printed import MULTI_PARTY_ERROR
from fedleak.papers.li2021.relative_error import median_error, relative_error
from fedleak.papers.li2021.tables import STABLE_RATE, paper_table
from fedleak.papers.li2021.vertical_run import ARBITER, ATTACKER, PROTOCOL_NAMES, VICTIM
from fedleak.protocols.linear.vertical_arbiter import VerticalLinearArbiterSettings, VerticalLogisticArbiterSettings
from fedleak.trial.play import play
from fedleak.trial.progress import Progress

BYSTANDER = "bystander"
COALITION = (ATTACKER, ARBITER)
BATCHES_AN_EPOCH = 20


@dataclass(frozen=True)
class CollusionCase:
    dataset: str  # "synthetic" has Gaussian columns: none of the public tables has 100 columns and 1000 rows
    n_rows: int
    n_victim: int
    shuffled: bool = True


FIG9 = (
    *(
        CollusionCase(name, m, n)
        for name, widths in (
            ("motor-temperature", (2, 5, 8)),
            ("red-wine", (2, 5, 8)),
            ("residential-building", (20, 60)),
        )
        for n in widths
        for m in (50, 100, 200)
    ),
    CollusionCase("synthetic", 1000, 100),
    CollusionCase("red-wine", 100, 5, shuffled=False),
)
FIG10 = (
    *(
        CollusionCase(name, m, n)
        for name, widths in (("breast-cancer", (5, 15, 25)), ("iris", (1, 3)), ("residential-building", (20, 60)))
        for n in widths
        for m in (50, 100)
    ),
    CollusionCase("breast-cancer", 200, 25),
    CollusionCase("breast-cancer", 100, 5, shuffled=False),
)


class _Collusion(Experiment):
    from_true_rows = (STABLE_RATE,)
    cases: ClassVar[tuple[CollusionCase, ...]]
    logistic: ClassVar[bool]

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        cases = [case for case in self.cases if not quick or case.n_rows <= 50 or not case.shuffled]
        progress.begin(self.name, len(cases))
        for case in cases:
            yield measure_collusion(case, logistic=self.logistic, seed=0)
            progress.advance()

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        return tuple(_panel(name, rows) for name in dict.fromkeys(str(row.setting["dataset"]) for row in rows))


class Fig9(_Collusion):
    name = "li2021/fig9"
    summary = "a coalition with the arbiter inverts every party, vertical linear regression"
    reference = Reference("li2021", "figure 9")
    cases = FIG9
    logistic = False


class Fig10(_Collusion):
    name = "li2021/fig10"
    summary = "a coalition with the arbiter inverts every party, vertical logistic regression"
    reference = Reference("li2021", "figure 10")
    cases = FIG10
    logistic = True


def measure_collusion(case: CollusionCase, *, logistic: bool, seed: int) -> Row:
    federation = _federation(case, logistic, seed)
    played = play(federation, Randomness.published(seed, "li2021/collusion"))
    target = Secret(SecretKind.FEATURES, VICTIM)
    attempt = played.attempt(ArbiterCollusion, COALITION, target, scores=False)
    guess, truth = attempt.guess, played.run.truth.of(target).values
    error = relative_error(guess.values, truth) if guess.status is Status.RECOVERED else None
    return Row(
        setting={
            "dataset": case.dataset,
            "rows": case.n_rows,
            "victim_features": case.n_victim,
            "batches": "shuffled" if case.shuffled else "recurring",
            "rounds": played.facts.n_rounds,
        },
        measured={
            "cpu_seconds": attempt.cpu_seconds,
            "relative_error": error,
            "spare_equations": float(guess.evidence["spare equations"] or 0),
        },
        paper={
            "cpu_seconds": None,
            "relative_error": MULTI_PARTY_ERROR if case.shuffled else None,
            "spare_equations": None,
        },
        baseline={"cpu_seconds": None, "relative_error": median_error(truth), "spare_equations": None},
        note=f"{guess.status.value}: {guess.why}. The paper prints times as a picture only",
    )


def _federation(case: CollusionCase, logistic: bool, seed: int) -> Federation:
    rng = np.random.default_rng([seed, case.n_rows, case.n_victim])
    if case.dataset == "synthetic":
        values = rng.standard_normal((case.n_rows, case.n_victim + 20))
        labels = values @ rng.standard_normal(values.shape[1]) / np.sqrt(values.shape[1])
        labels = labels + rng.standard_normal(case.n_rows)  # as in life, the columns do not explain everything
        labels = (labels > 0).astype(np.float64) if logistic else labels
    else:
        table = paper_table(case.dataset, binary=logistic)
        chosen = rng.permutation(len(table.values))[: case.n_rows]
        values, labels = table.values[chosen][:, rng.permutation(table.values.shape[1])], table.labels[chosen]
    n_columns, middle = values.shape[1], case.n_victim + max((values.shape[1] - case.n_victim) // 2, 1)
    own = {ATTACKER: range(case.n_victim, middle), VICTIM: range(case.n_victim), BYSTANDER: range(middle, n_columns)}
    shares = {name: columns for name, columns in own.items() if columns}
    parties = deal_columns(values, [f"x{i}" for i in range(n_columns)], labels, shares, arbiter=ARBITER)
    return Federation(PROTOCOL_NAMES[logistic], parties, _settings(case, logistic, values))


def _settings(
    case: CollusionCase, logistic: bool, values: np.ndarray
) -> VerticalLinearArbiterSettings | VerticalLogisticArbiterSettings:
    kind = VerticalLogisticArbiterSettings if logistic else VerticalLinearArbiterSettings
    curvature = float(np.linalg.norm(values, 2) ** 2) / len(values) * (0.25 if logistic else 1.0)
    n_batches = BATCHES_AN_EPOCH
    return kind(
        batch_size=-(-case.n_rows // n_batches),
        epochs=-(-12 * case.n_rows // (10 * n_batches)) + 2,  # a fifth more rounds than rows
        learning_rate=0.3 / curvature,
        initialisation="normal",
        shuffle=case.shuffled,
        l2=0.01,
        loss=False,
        cipher="sealed",
        key_bits=1024,
    )


def _panel(dataset: str, rows: Sequence[Row]) -> Panel:
    mine = [row for row in rows if row.setting["dataset"] == dataset and row.setting["batches"] == "shuffled"]
    widths = sorted({int(str(row.setting["victim_features"])) for row in mine})
    curves = []
    for width in widths:
        points = sorted(
            (float(str(row.setting["rows"])), float(row.measured["cpu_seconds"] or 0.0))
            for row in mine
            if row.setting["victim_features"] == width
        )
        curves.append(Curve(f"{width} victim features", [p[0] for p in points], [p[1] for p in points]))
    return Panel(dataset, "rows", "CPU seconds of the attack", curves)
