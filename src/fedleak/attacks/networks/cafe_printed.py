"""CAFE's first two steps as printed (Jin et al. 2021, algorithms 1 and 2, nested loops), for tables.

In networks of fully connected layers alone the paper's attack ends there. The descent says nothing of how near it came:
its answer is told without a certificate, and what is left of its two objectives stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.cafe_descent import descended_gradients, descended_inputs
from fedleak.attacks.networks.cut_view import CutView
from fedleak.attacks.networks.gradient_separation import REQUIRES
from fedleak.attacks.networks.layer_gradients import LayerGradient
from fedleak.attacks.networks.separated_rows import why_not
from fedleak.attacks.verdicts import nothing
from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.layers import Flatten
from fedleak.theory.batch_separation import BatchesOfKnownRows
from fedleak.theory.condition import State


@dataclass(frozen=True)
class CafePrinted(Attack):
    name = "cafe-printed"
    aliases = ("cafe",)
    summary = "descends on gradients over known batches for every row's gradient, then for every row, as printed"
    reference = Reference("jin2021", "algorithms 1 to 3")
    requires = REQUIRES
    produces = SecretKind.FEATURES
    preloads = ("torch",)

    n_steps: int = 8000  # of each of the two descents; batches recur where there are fewer

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        seen = CutView(view)
        width, place = len(seen.network.columns), seen.network.first_linear
        refused = why_not(seen)
        if refused is None and not all(isinstance(layer, Flatten) for layer in seen.network.layers[: place or 0]):
            refused = (
                "other layers come before the first fully connected one: step III is that of cafe-printed-pictures"
            )
        if refused or place is None:
            return nothing(view, refused or "", {}, width=width, status=Status.UNDETERMINED)
        own = descended_gradients(seen.batches, self._stream(seen, place), rng)
        inputs = descended_inputs(seen.batches, self._stream(seen, place), own, rng)
        evidence = {"steps": self.n_steps, "batches": len(seen.drawn), **_left(seen, place, own, inputs)}
        why = f"{self.n_steps} steps on eq. 7, then on eq. 8, over {len(seen.drawn)} batches"
        return Guess(view.target, Status.PARTIAL, seen.batches.ids, inputs, evidence=evidence, why=why)

    def _stream(self, seen: CutView, place: int) -> Iterator[LayerGradient]:
        """Batches in their order, from the first again until all steps are taken."""
        taken = 0
        while taken < self.n_steps:
            for gradient in seen.layer(place):
                if taken == self.n_steps:
                    return
                taken += 1
                yield gradient

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return limit_of_descent(facts)


def limit_of_descent(facts: Facts) -> Prediction:
    """Theorem 1 promises the first step in the limit; how far 8,000 steps come, no theorem says."""
    assessment = BatchesOfKnownRows.assess(facts)
    verdict = Verdict.IMPOSSIBLE if assessment.state is State.FAILS else Verdict.UNKNOWN
    return Prediction(verdict, (f"{assessment.theorem}: in the limit of infinitely many steps", *assessment.reasons))


def _left(seen: CutView, place: int, own: FloatArray, inputs: FloatArray) -> dict[str, float]:
    """Of both objectives after the descent, as shares of the gradients."""
    squares = np.zeros(4)
    for counts, gradient in zip(seen.batches.counts, seen.layer(place), strict=True):
        weighted = counts[:, None] * own
        squares[:2] += np.sum((weighted.sum(axis=0) - gradient.bias) ** 2), np.sum(gradient.bias**2)
        squares[2:] += np.sum((weighted.T @ inputs - gradient.weight) ** 2), np.sum(gradient.weight**2)
    shares = np.sqrt(squares[::2] / np.maximum(squares[1::2], 1e-300))
    return {"misfit of bias gradients": float(shares[0]), "misfit of weight gradients": float(shares[1])}
