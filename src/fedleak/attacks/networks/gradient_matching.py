"""Rivals: pictures of a client's batch, by a dummy batch whose gradient is made like the one that was seen.

Written from the papers; the search is ours and alike for all: L-BFGS, which took fewer gradients than Adam for each of
them. What they find is an estimate, however small the distance is: that no other pictures have that gradient is not
shown. A budget counts pictures x evaluations.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedleak.attacks.networks.client_gradients import ClientGradient, client_gradients
from fedleak.attacks.networks.dense_top import top_of
from fedleak.attacks.networks.dummy_batch import FEW, DummyBatch, MatchedBatch, Objective, matched_batch
from fedleak.attacks.networks.gradient_distances import cosine, kernel, squared
from fedleak.attacks.networks.label_counts import counts_of
from fedleak.attacks.networks.layer_factors import factors_of
from fedleak.attacks.verdicts import nothing
from fedleak.core.adversary import Capability, SecretKind, Symmetry
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.layers import Dropout

WORK = 2_000  # pictures x evaluations
SMOOTH = 1e-6


@dataclass(frozen=True)
class _Matching(Attack):
    requires = frozenset({Capability.NETWORK, Capability.LAYER_GRADIENTS})
    produces = SecretKind.IMAGES
    up_to = frozenset({Symmetry.ROW_ORDER})
    preloads = ("torch", "scipy.optimize", "scipy.special")

    work: int = WORK
    batches: int = 4  # that are tried, at most

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        found: list[tuple[IntArray, FloatArray, MatchedBatch]] = []
        why = "no gradient of the client was seen with its network"
        for seen in client_gradients(view, view.target.owner):
            n_rows, why = _rows_of(seen)
            if why or len(found) == self.batches or (found and seen.ids is None):
                break
            ids = np.arange(n_rows) if seen.ids is None else seen.ids
            if not np.isin(ids, [one for held, _, _ in found for one in held]).any():
                matched = self.matched(seen, n_rows, max(FEW, self.work // n_rows), rng)
                found.append((ids, seen.network.cells_of(matched.inputs), matched))
        return _guess(view, found) if found else _refused(view, why)

    @abstractmethod
    def matched(
        self, seen: ClientGradient, n_rows: int, n_evaluations: int, rng: np.random.Generator
    ) -> MatchedBatch: ...

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return Prediction(Verdict.UNKNOWN, ("no theorem says when a search for a like gradient ends at the batch",))


@dataclass(frozen=True)
class DeepLeakage(_Matching):
    name = "deep-leakage"
    aliases = ("dlg",)
    summary = "moves a dummy batch and its labels until their gradient is like the one that was seen (L-BFGS)"
    reference = Reference("jin2021", "table 2, DLG: Zhu et al. 2019, arXiv 1906.08935")

    def matched(self, seen: ClientGradient, n_rows: int, n_evaluations: int, rng: np.random.Generator) -> MatchedBatch:
        return matched_batch(DummyBatch(seen, Objective(squared), n_rows, None), n_evaluations, rng)


@dataclass(frozen=True)
class LabelledDeepLeakage(_Matching):
    name = "labelled-deep-leakage"
    aliases = ("idlg",)
    summary = "reads the labels off the last bias, and moves a dummy batch until its gradient is like the one seen"
    reference = Reference("jin2021", "section 2, iDLG: Zhao et al. 2020, arXiv 2001.02610")

    def matched(self, seen: ClientGradient, n_rows: int, n_evaluations: int, rng: np.random.Generator) -> MatchedBatch:
        batch = DummyBatch(seen, Objective(squared), n_rows, _labels(seen, n_rows))
        return matched_batch(batch, n_evaluations, rng)


@dataclass(frozen=True)
class KernelMatching(_Matching):
    name = "kernel-matching"
    aliases = ("sapag",)
    summary = "matches gradients by a Gaussian kernel whose width is each tensor's own"
    reference = Reference("jin2021", "table 2, SAPAG: Wang et al. 2020, arXiv 2009.06228")

    def matched(self, seen: ClientGradient, n_rows: int, n_evaluations: int, rng: np.random.Generator) -> MatchedBatch:
        return matched_batch(DummyBatch(seen, Objective(kernel), n_rows, _labels(seen, n_rows)), n_evaluations, rng)


@dataclass(frozen=True)
class CosineMatching(_Matching):
    """``statistics`` is the weight of the batch norms' statistics, ``starts`` and ``together`` are those of group
    consistency: the papers' BN and GC regularisers."""

    name = "cosine-matching"
    aliases = ("inverting-gradients",)
    summary = "matches the direction of the gradient, with a total variation that keeps pictures smooth"
    reference = Reference("jin2021", "table 2, cosine similarity: Geiping et al. 2020, arXiv 2003.14053")

    smooth: float = SMOOTH
    statistics: float = 0.0
    starts: int = 1
    together: float = 0.0

    @cached_property
    def objective(self) -> Objective:
        return Objective(cosine, self.smooth, self.statistics, self.together, self.starts)

    def matched(self, seen: ClientGradient, n_rows: int, n_evaluations: int, rng: np.random.Generator) -> MatchedBatch:
        batch = DummyBatch(seen, self.objective, n_rows, _labels(seen, n_rows))
        return matched_batch(batch, max(FEW, n_evaluations // self.starts), rng)


def _labels(seen: ClientGradient, n_rows: int) -> IntArray | None:
    """None where they do not come out: then they are unknowns, as in deep leakage."""
    counts = counts_of(seen, n_rows)
    return None if counts is None else counts.labels


def _rows_of(seen: ClientGradient) -> tuple[int, str]:
    """How many rows a batch has: told, or read off the rank of the first fully connected layer; or why it cannot be
    tried."""
    if len(seen.network.input_shape) != 3:
        return 0, "the network takes no pictures"
    if any(isinstance(layer, Dropout) for layer in seen.network.layers):
        return 0, "the network has dropout: which units were left out is not known"
    if seen.n_rows is not None:
        return seen.n_rows, ""
    top = top_of(seen.network)
    factors = None if top is None else factors_of(top.gradient_of(0, seen.values), seen.epsilon)
    return (0, "how many rows the batch has is not told") if factors is None else (factors.n_rows, "")


def _refused(view: View, why: str) -> Guess:
    width = max(1, view.facts.party(view.target.owner).n_features or 1)
    return nothing(view, why, {}, width=width, status=Status.UNDETERMINED)


def _guess(view: View, found: Sequence[tuple[IntArray, FloatArray, MatchedBatch]]) -> Guess:
    return Guess(
        view.target,
        Status.PARTIAL,
        np.concatenate([ids for ids, _, _ in found]).astype(np.int64),
        np.concatenate([cells for _, cells, _ in found]),
        evidence={
            "largest distance": max(matched.distance for _, _, matched in found),
            "evaluations": sum(matched.evaluations for _, _, matched in found),
        },
        why="an estimate: that no other pictures have this gradient is not shown",
    )
