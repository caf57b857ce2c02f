"""Theorem 4.10: labels with three and more parties, by one of them, by a coalition, and by packed products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.residuals.residual_sign import PackedResidualSign, ResidualSign
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Attack, Reference
from fedleak.core.whole.randomness import Randomness
from fedleak.deviations import DEVIATIONS
from fedleak.papers.experiment import Bundled, Experiment, Row
from fedleak.papers.hu2022.tables import deal, table_of
from fedleak.papers.summaries import standard_error
from fedleak.protocols.linear.vertical_logistic import VerticalLogisticSettings
from fedleak.trial.play import play
from fedleak.trial.progress import Progress

N_COLUMNS = 24
N_ROWS = 96


@dataclass(frozen=True)
class Case:
    n_parties: int
    batch_size: int
    coalition: tuple[str, ...]
    method: type[Attack]
    initialisation: str = "zero"
    scaling: str = "standard+max-row-norm"


def cases() -> list[Case]:
    """Columns are dealt evenly: 8, 6 or 4 each."""
    found = []
    for n_parties in (3, 4, 6):
        own = N_COLUMNS // n_parties
        one, two = ("passive1",), ("passive1", "passive2")
        found += [
            Case(n_parties, own, one, ResidualSign),
            Case(n_parties, own, one, ResidualSign, "xavier"),
            Case(n_parties, own, one, ResidualSign, "normal"),
            Case(n_parties, own, one, ResidualSign, "normal", "standard"),
            Case(n_parties, 2 * own, one, ResidualSign),
            Case(n_parties, 2 * own, two, ResidualSign),
            Case(n_parties, 2 * own, one, PackedResidualSign),
        ]
    return found


class Multiparty(Experiment):
    name = "hu2022/multiparty"
    summary = "labels by the residual's sign with three to six parties, alone, together and actively"
    reference = Reference("hu2022", "theorem 4.10")
    needs = Bundled.ALWAYS

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0, 1) if quick else tuple(range(5))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        progress.begin(self.name, len(cases()) * len(self.seeds(quick=quick)))
        for case in cases():
            scores = []
            for seed in self.seeds(quick=quick):
                scores.append(success(case, seed))
                progress.advance()
            yield _row(case, np.array([score for score, _ in scores]), float(np.mean([base for _, base in scores])))


def success(case: Case, seed: int) -> tuple[float, float]:
    """Share of labels read right (a row without an answer is wrong), and that of the more frequent class."""
    names = ["active", *(f"passive{i}" for i in range(1, case.n_parties))]
    own = N_COLUMNS // case.n_parties
    columns = {name: range(i * own, (i + 1) * own) for i, name in enumerate(names)}
    settings = VerticalLogisticSettings(
        batch_size=case.batch_size, epochs=1, learning_rate=0.1, initialisation=case.initialisation, cipher="sealed"
    )
    table = table_of("sklearn:breast_cancer", case.scaling)
    parties = deal(table, columns, settings, n_rows=N_ROWS, seed=seed)
    played = play(
        parties,
        Randomness.published(seed, "hu2022/multiparty"),
        deviation=None if case.method.deviation is None else DEVIATIONS.get(case.method.deviation)(),
        deviating=case.coalition[0],
    )
    target = Secret(SecretKind.LABELS, "active")
    guess = played.attempt(case.method, case.coalition, target, scores=False).guess
    truth = played.run.truth.of(target)
    found = dict(zip(guess.ids.tolist(), guess.values[:, 0].tolist(), strict=True))
    right = [found.get(int(row)) == label for row, label in zip(truth.ids, truth.values[:, 0], strict=True)]
    share = float(truth.values.mean())
    return float(np.mean(right)), max(share, 1 - share)


def _row(case: Case, scores: np.ndarray, majority: float) -> Row:
    own = N_COLUMNS // case.n_parties
    enough = case.batch_size <= own * len(case.coalition) or case.method.deviation is not None
    small = case.initialisation != "normal"
    summary = standard_error("success", scores)
    return Row(
        {
            "parties": case.n_parties,
            "columns_each": own,
            "batch_size": case.batch_size,
            "coalition": " and ".join(case.coalition),
            "method": case.method.name,
            "initialisation": case.initialisation,
            "rows": "longest has norm 1" if case.scaling.endswith("norm") else "standardised",
        },
        summary.figures,
        {"success": 1.0} if enough and small else None,
        {"success": majority},
        note="a row that the attack leaves open counts as wrong; the paper's figure is theorem 4.10",
        bands=summary.bands,
    )
