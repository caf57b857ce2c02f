"""Fake gradients (Jin et al. 2021, section 3.4 and appendix F): the values of another gradient in the true one's order.

A party draws sets of normal numbers shaped like its gradient, and sorts each tensor. Of a true gradient, sorted too, it
takes the nearest set, and sends that set's values where the true ones of the same rank were. Large entries stay large.
What the text says of convergence is a bound on the distance that shrinks while training goes on: here the fake is drawn
towards the truth until it is within ``threshold``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.payload import Array, Tree
from fedleak.core.steps import DATA_ROLES
from fedleak.core.whole.federation import Federation, setting
from fedleak.core.whole.hooks import Hook, HookKind, LocalState
from fedleak.defenses.layer_blurring import BlurredLayerGradients, arrays_of
from fedleak.protocols.networks import vocabulary as networks


@dataclass(frozen=True)
class FakeGradients(BlurredLayerGradients):
    """``scaled``: with the length of each true tensor. As printed (variance 1.1, not scaled) a step of the fake is
    thousands of times as long as one of the truth."""

    name = "fake-gradients"
    summary = "sends the values of random gradients in the order of the true one's entries"
    reference = Reference("jin2021", "section 3.4, appendix F")

    scaled: bool = setting(True, "every fake tensor has the length of the true one; false: as printed")
    variance: float = setting(1.1, "of the fake entries, where they are not scaled")
    candidates: int = setting(10, "sets that the nearest one is taken from; the paper draws 1000, which are much alike")
    threshold: float = setting(
        0.0, "largest distance from the truth in the first round, in its length, over the root of rounds later; 0: any"
    )

    def __post_init__(self) -> None:
        if not 0 < self.variance < inf or self.candidates < 1 or not 0 <= self.threshold < inf:
            raise InputError(
                f"variance of {self.name} must be above 0, candidates 1 or more, threshold 0 or more; "
                f"got {self.variance}, {self.candidates}, {self.threshold}"
            )

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        parties = [party.name for party in federation.parties if party.role in DATA_ROLES]
        return tuple(Hook(networks.LAYER_GRADIENTS, HookKind.SEND, name, FakeSource(self).sent) for name in parties)

    def tensor(self, values: AnyArray, rng: np.random.Generator) -> AnyArray:
        """Alone, of a fresh set."""
        return in_order_of(values, self.sized(np.sort(rng.standard_normal(values.size)), values))

    def sized(self, fake: FloatArray, true: AnyArray) -> FloatArray:
        if not self.scaled:
            return np.asarray(fake * sqrt(self.variance))
        length = float(np.linalg.norm(true.astype(np.float64)))
        return np.asarray(fake * (length / max(float(np.linalg.norm(fake)), 1e-300)))


@dataclass(eq=False)
class FakeSource:
    """One party's sets, drawn once (lines 1 and 2 of the algorithm)."""

    defense: FakeGradients
    sets: list[dict[str, FloatArray]] = field(default_factory=list)

    def sent(self, gradient: Tree, local: LocalState, rng: np.random.Generator) -> Tree:
        true = arrays_of(gradient)
        if not self.sets:
            drawn = range(self.defense.candidates)
            self.sets = [{n: np.sort(rng.standard_normal(v.size)) for n, v in true.items()} for _ in drawn]
        fakes = [{name: self.defense.sized(one[name], values) for name, values in true.items()} for one in self.sets]
        ordered = {name: np.sort(values, axis=None).astype(np.float64) for name, values in true.items()}
        nearest = min(fakes, key=lambda one: _distance(one, ordered))
        kept = self._share_kept(_distance(nearest, ordered), ordered, local.round)
        placed = {name: in_order_of(values, nearest[name]) for name, values in true.items()}
        sent = {name: values + kept * (placed[name] - values) for name, values in true.items()}
        return Tree({name: Array(values.astype(true[name].dtype)) for name, values in sent.items()})

    def _share_kept(self, distance: float, ordered: dict[str, FloatArray], number: int) -> float:
        """Of the way from the truth to the fake."""
        if not self.defense.threshold or not distance:
            return 1.0
        length = sqrt(sum(float(values @ values) for values in ordered.values()))
        return min(1.0, self.defense.threshold * length / sqrt(1 + max(number, 0)) / distance)


def in_order_of(true: AnyArray, ascending: FloatArray) -> FloatArray:
    """The given values where the true ones of the same rank are."""
    placed = np.empty(true.size)
    placed[np.argsort(true, axis=None, kind="stable")] = ascending
    return placed.reshape(true.shape)


def _distance(one: dict[str, FloatArray], other: dict[str, FloatArray]) -> float:
    return sqrt(sum(float(np.square(one[name] - other[name]).sum()) for name in other))
