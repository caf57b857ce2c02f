"""Share of labels that are guessed right, beside always naming the more frequent class."""

from __future__ import annotations

import numpy as np

from fedleak.core.guess import Guess
from fedleak.core.knowledge import Knowledge
from fedleak.core.score import Better, Score
from fedleak.core.secret import SecretKind, Symmetry
from fedleak.core.truth import SecretValues
from fedleak.metrics.alignment import answers_of, unknown_cells
from fedleak.metrics.bootstrap import mean_interval
from fedleak.metrics.metric import Metric


class LabelAccuracy(Metric):
    """A row without a guess is given the more frequent class, which is what an ignorant attacker says."""

    name = "label-accuracy"
    summary = "share of labels guessed right; baseline: the majority class"
    better = Better.HIGHER
    applies_to = frozenset({SecretKind.LABELS})

    def score(
        self,
        guess: Guess,
        truth: SecretValues,
        knowledge: Knowledge,
        *,
        up_to: frozenset[Symmetry],
        rng: np.random.Generator,
    ) -> Score:
        unknown = unknown_cells(guess.secret, truth, knowledge)[:, 0]
        labels = truth.values[unknown, 0]
        classes, counts = np.unique(labels, return_counts=True)
        majority = classes[np.argmax(counts)]
        answers = [cells[unknown, 0] for cells in answers_of(guess, truth)]
        right = np.mean([np.where(np.isnan(answer), majority, answer) == labels for answer in answers], axis=0)
        return Score(
            self.name,
            float(right.mean()),
            float(counts.max() / counts.sum()),
            self.better,
            mean_interval(right, rng),
            len(labels),
        )
