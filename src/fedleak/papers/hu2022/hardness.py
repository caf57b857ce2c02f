"""Theorem 3.6 on real columns: what is hidden for two and more columns of a partner, and what is not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedleak.attacks.gram.gram_recovery import GramRecovery
from fedleak.attacks.residuals.score_recovery import ScoreRecovery
from fedleak.attacks.residuals.single_column_recovery import SingleColumnRecovery
from fedleak.core.adversary import Secret
from fedleak.core.attack import Attack, Guess, Reference, Status
from fedleak.core.whole.randomness import Randomness
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.hu2022.tables import deal, table_of
from fedleak.papers.summaries import means
from fedleak.protocols.linear.vertical_logistic import VerticalLogisticSettings
from fedleak.trial.play import Played, play
from fedleak.trial.progress import Progress

SOURCES = {"breast_cancer_wdbc": 30, "vehicle_scale": 18}
N_ROWS = 48
BATCH_SIZE = 12
EPOCHS = 20
WIDTHS = {True: (2, 3), False: (2, 3, 4, 5)}


class Hardness(Experiment):
    name = "hu2022/hardness"
    summary = "two and more columns of a partner: values hidden by a rotation, scores and inner products exposed"
    reference = Reference("hu2022", "theorem 3.6")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0, 1) if quick else tuple(range(5))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        cases = [(source, width) for source in SOURCES for width in WIDTHS[quick]]
        progress.begin(self.name, len(cases) * len(self.seeds(quick=quick)))
        for source, width in cases:
            results = []
            for seed in self.seeds(quick=quick):
                results.append(_measure(source, width, seed))
                progress.advance()
            yield Row(
                {"data": source, "columns": width, "rows": N_ROWS, "batch_size": BATCH_SIZE, "epochs": EPOCHS},
                means(results),
                {"values_identifiable": 0.0},
                note="shares of seeds; errors within 1e-6 of the largest. A rotation hides the values (theorem 3.6), "
                "scores and inner products are not",
            )


def _measure(source: str, width: int, seed: int) -> dict[str, float]:
    total = SOURCES[source]
    settings = VerticalLogisticSettings(
        batch_size=BATCH_SIZE, epochs=EPOCHS, learning_rate=1.0, initialisation="xavier", cipher="sealed"
    )
    columns = {"active": range(width, total), "passive": range(width)}
    parties = deal(table_of(source, "standard+max-row-norm"), columns, settings, n_rows=N_ROWS, seed=seed)
    played = play(parties, Randomness.published(seed, "hu2022/hardness"))
    return {
        "values_identifiable": float(_guess(played, SingleColumnRecovery).status is not Status.NOT_IDENTIFIABLE),
        "scores_recovered": _exact(played, ScoreRecovery),
        "inner_products_recovered": _exact(played, GramRecovery),
    }


def _guess(played: Played, attack: type[Attack]) -> Guess:
    target = Secret(attack.produces, "passive")
    return played.attempt(attack, ("active",), target, scores=False).guess


def _exact(played: Played, attack: type[Attack]) -> float:
    """1 where the attack gives every cell to within 1e-6 of the largest."""
    guess = _guess(played, attack)
    truth = played.run.truth.of(guess.secret).values
    if guess.values.shape != truth.shape:
        return 0.0
    return float(np.max(np.abs(guess.values - truth)) <= 1e-6 * np.max(np.abs(truth)))
