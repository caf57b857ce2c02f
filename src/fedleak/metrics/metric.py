"""What every metric offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from fedleak.core.guess import Guess
from fedleak.core.knowledge import Knowledge
from fedleak.core.score import Better, Score
from fedleak.core.secret import SecretKind, Symmetry
from fedleak.core.truth import SecretValues


class Metric(ABC):
    """Scores over all of the secret's cells that the adversary did not know beforehand.

    ``rng`` draws the bootstrap; ``up_to`` is the attack's, and the only freedom of alignment.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    better: ClassVar[Better]
    applies_to: ClassVar[frozenset[SecretKind]]

    @abstractmethod
    def score(
        self,
        guess: Guess,
        truth: SecretValues,
        knowledge: Knowledge,
        *,
        up_to: frozenset[Symmetry],
        rng: np.random.Generator,
    ) -> Score: ...
