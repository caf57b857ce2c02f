"""CAFE as printed, for pictures (Jin et al. 2021): algorithm 3, nested loops, and algorithm 4, a single loop.

It is here to be compared with ``picture-separation``, which has the same gradients. The descent says nothing of how
near it came: its answer is told without a certificate, and what is left of the gradients stands beside it. Steps on
eq. 7 and eq. 8 are the largest stable ones, which is kinder to it than the printed sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.cafe_descent import RowGradients, RowInputs
from fedleak.attacks.networks.cafe_fake_data import FakeData, Terms
from fedleak.attacks.networks.cafe_printed import limit_of_descent
from fedleak.attacks.networks.cut_view import CutView
from fedleak.attacks.networks.gradient_separation import REQUIRES
from fedleak.attacks.networks.layer_gradients import LayerGradient
from fedleak.attacks.networks.separated_rows import why_not
from fedleak.attacks.verdicts import nothing
from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import AnyArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status
from fedleak.core.facts import Facts
from fedleak.core.view import View

PER_ROW = 200
Gradients = Mapping[str, Mapping[str, AnyArray]]  # of every worker, by parameter


@dataclass(frozen=True)
class CafePictures(Attack):
    name = "cafe-printed-pictures"
    aliases = ("cafe-pictures",)
    summary = "descends on gradients over known batches for rows' gradients, inputs and fake pictures, as printed"
    reference = Reference("jin2021", "algorithms 3 and 4")
    requires = REQUIRES
    produces = SecretKind.IMAGES
    preloads = ("torch",)

    # Of each of the three descents, PER_ROW a row at most; 8,000 in the paper. Batches recur where they are fewer.
    n_steps: int = 2000
    single_loop: bool = True  # algorithm 4; otherwise the three descents follow one another, algorithm 3
    alpha: float = Terms.alpha
    beta: float = Terms.beta
    gamma: float = Terms.gamma
    threshold: float = Terms.threshold

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        target = CutView(view)
        seen = {name: CutView(view, name) for name in target.bottoms.items}
        refused = next((why for one in seen.values() if (why := why_not(one))), None)
        if refused:
            return nothing(view, refused, {}, width=len(target.network.columns), status=Status.UNDETERMINED)
        descent = PictureDescent(seen, target, rng, Terms(self.alpha, self.beta, self.gamma, self.threshold))
        n_steps = min(self.n_steps, PER_ROW * len(target.batches.ids))
        for parts in ((1, 2, 3),) if self.single_loop else ((1,), (2,), (3,)):
            descent.go(parts, n_steps)
        loops = "in a single loop" if self.single_loop else "one after the other"
        return Guess(
            view.target,
            Status.PARTIAL,
            target.batches.ids,
            target.as_cells(descent.fake.inputs(target.owner)),
            evidence={"steps": n_steps, "batches": len(target.drawn), **descent.fake.evidence},
            why=f"{n_steps} steps on eq. 7, eq. 8 and eq. 9 each, {loops}, over {len(target.drawn)} batches",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return limit_of_descent(facts)


class PictureDescent:
    """The three descents, in parts: who holds the truth may look at the pictures in between, the attack does not."""

    def __init__(self, seen: Mapping[str, CutView], target: CutView, rng: np.random.Generator, terms: Terms) -> None:
        self._seen, self._batches, self._terms = seen, target.batches, terms
        self._own: dict[str, RowGradients] = {}
        self._hidden: dict[str, RowInputs] = {}
        for name, one in seen.items():
            outputs, inputs = one.network.parameters[f"{one.network.first_linear}.weight"].shape
            self._own[name] = RowGradients(self._batches, outputs, rng, rate=None)
            self._hidden[name] = RowInputs(self._batches, inputs, rng)
        self.fake = FakeData(seen, target.top, len(self._batches.ids), rng)

    def go(self, parts: tuple[int, ...], n_steps: int) -> None:
        """So many steps of these parts of the attack, from the first batch on."""
        for number, gradients in zip(range(n_steps), self._stream(), strict=False):
            batch = number % len(self._batches.counts)
            for name, one in self._seen.items():
                layer = self._layer(one, batch, gradients[name])
                if 1 in parts:
                    self._own[name].step(batch, layer)
                if 2 in parts:
                    self._hidden[name].step(batch, layer, self._own[name].values)
            if 3 in parts:
                hidden = {name: one.values for name, one in self._hidden.items()}
                self.fake.step(self._batches.rows(batch), gradients, hidden, self._terms)

    def _layer(self, seen: CutView, batch: int, gradient: Mapping[str, AnyArray]) -> LayerGradient:
        size, place = self._batches.sizes[batch], seen.network.first_linear
        weight, bias = (size * gradient[f"{place}.{name}"].astype(np.float64) for name in ("weight", "bias"))
        return LayerGradient(weight, bias)

    def _stream(self) -> Iterator[Gradients]:
        """Batches in their order, from the first again without end."""
        while True:
            of_all = zip(*(one.gradients() for one in self._seen.values()), strict=True)
            yield from (dict(zip(self._seen, found, strict=True)) for found in of_all)
