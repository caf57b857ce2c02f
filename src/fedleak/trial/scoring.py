"""A guess beside the truth: its scores, its share of cells, and a few values for the picture."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack
from fedleak.core.finding import Exhibit
from fedleak.core.guess import Guess, Status
from fedleak.core.knowledge import Knowledge
from fedleak.core.score import Score
from fedleak.core.truth import SecretValues, Truth
from fedleak.metrics import metrics_for
from fedleak.metrics.alignment import aligned, answers_of
from fedleak.metrics.cells_recovered import CellsRecovered, recovered_share

MAX_EXHIBIT_CELLS = 300


def scores_of(
    guess: Guess,
    truth: Truth,
    knowledge: Knowledge,
    attack: type[Attack],
    coalition: tuple[str, ...],
    rng: np.random.Generator,
) -> tuple[Score, ...]:
    """The deciding metric first. A guess without a single value has none: that nothing can be said is no zero."""
    if guess.status is Status.NOT_IDENTIFIABLE or not np.isfinite(guess.values).any():
        return ()
    values, served = truth.of(guess.secret), truth.served_to(coalition)
    found = [
        metric.score(guess, values, knowledge, up_to=attack.up_to, rng=rng, served=served)
        for metric in metrics_for(guess.secret.kind, attack.measured_by)
    ]
    return tuple(score for score in found if score is not None)


def cells_recovered(
    guess: Guess, values: SecretValues, knowledge: Knowledge, attack: type[Attack]
) -> float | None:
    if guess.secret.kind not in CellsRecovered.applies_to:
        return None
    return recovered_share(guess, values, knowledge, attack.up_to)


def exhibit(guess: Guess, truth: SecretValues, attack: type[Attack]) -> Exhibit:
    """Cells spread evenly over the secret: chosen by position, never by how well they were guessed."""
    cells = aligned(answers_of(guess, truth)[0], truth.values, attack.up_to)
    answered = np.flatnonzero(np.isfinite(cells))
    chosen = answered[np.linspace(0, len(answered) - 1, min(len(answered), MAX_EXHIBIT_CELLS)).astype(np.int64)]
    true: FloatArray = truth.values.ravel()[chosen]
    return Exhibit(true, cells.ravel()[chosen])
