"""Success by epoch of a party that follows the protocol, at the paper's batch size.

``minimum-norm-labels`` on the first batches of each epoch alone. The paper's own attack needs batches of no more rows
than columns, and has no such curve.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.residuals.batch_systems import BatchSystem
from fedleak.attacks.residuals.label_equations import LabelEquations, in_basis
from fedleak.attacks.residuals.label_posterior import label_posterior
from fedleak.attacks.residuals.minimum_norm_labels import MinimumNormLabels, label_sums
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.facts import Facts
from fedleak.models.sigmoid import Approximation
from fedleak.papers.hu2022.tables import ACTIVE, PASSIVE, Rows
from fedleak.trial.play import Played

BATCHES = 2  # of each epoch


class PassiveCurve:
    """For the training in plain floating point: takes rounds as they come."""

    def __init__(self, rows: Rows, facts: Facts, *, epochs: int, per_epoch: int) -> None:
        self._rows, self._facts, self._per_epoch = rows, facts, per_epoch
        self._equations: list[list[LabelEquations]] = [[] for _ in range(epochs)]

    def add(self, number: int, batch: IntArray, before: FloatArray, after: FloatArray, learning_rate: float) -> None:
        """The passive party's half of the weights tells its gradient."""
        epoch, place = divmod(number, self._per_epoch)
        if place >= BATCHES:
            return
        half = len(before) // 2
        own = self._rows.train[batch][:, half:]
        gradient = (before[half:] - after[half:]) / learning_rate
        system = BatchSystem(number, batch, own, gradient)
        self._equations[epoch].append(in_basis(system, batch, own @ before[half:], self._facts))

    def success(self) -> FloatArray:
        return np.array([self._share_right(equations) for equations in self._equations])

    def _share_right(self, equations: list[LabelEquations]) -> float:
        sums = label_sums(equations, self._facts, Approximation.TAYLOR)
        theta = label_posterior(sums, len(self._rows.train)).theta
        rows = np.flatnonzero(np.isfinite(theta))
        return float(np.mean((theta[rows] > 0) == (self._rows.train_labels[rows] > 0)))


def attempted_success(played: Played, rows: Rows, *, epochs: int, per_epoch: int) -> FloatArray:
    """By the attack itself, in the passive party's place."""
    found = np.zeros(epochs)
    for epoch in range(epochs):
        attack = MinimumNormLabels(rounds=(epoch * per_epoch, epoch * per_epoch + BATCHES))
        guess = played.attempt(attack, (PASSIVE,), Secret(SecretKind.LABELS, ACTIVE), scores=False).guess
        found[epoch] = np.mean(guess.values[:, 0] == (rows.train_labels[guess.ids] > 0))
    return found
