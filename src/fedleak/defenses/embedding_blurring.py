"""What the label holder of a split network sends back, blurred so that it tells less of the labels.

All three are of Li et al. 2022 ("Label leakage and protection in two-party split learning", arXiv 2102.08504). They act
on the copy that is sent: the label holder's own network trains on exact gradients, its partner's on blurred ones.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, positions_of
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.payload import Array, Table
from fedleak.core.steps import LABELS, Role
from fedleak.core.whole.federation import Federation, setting
from fedleak.core.whole.hooks import Defense, Hook, HookKind, LocalState
from fedleak.protocols.networks import vocabulary as networks

PAPER = "Li et al. 2022, arXiv 2102.08504"


@dataclass(frozen=True)
class BlurredEmbeddingGradients(Defense):
    """Of each batch, as it is sent to each partner."""

    acts_at = frozenset({networks.EMBEDDING_GRADIENTS})

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        holders = federation.with_role(Role.ACTIVE)
        return tuple(Hook(networks.EMBEDDING_GRADIENTS, HookKind.SEND, one.name, self._sent) for one in holders)

    def _sent(self, payload: Array, local: LocalState, rng: np.random.Generator) -> Array:
        exact = np.asarray(payload.values)
        blurred = exact + self.noise(exact.astype(np.float64), local, rng)
        return Array(blurred.astype(exact.dtype))

    @abstractmethod
    def noise(self, gradients: FloatArray, local: LocalState, rng: np.random.Generator) -> FloatArray: ...


@dataclass(frozen=True)
class EmbeddingGradientNoise(BlurredEmbeddingGradients):
    name = "embedding-gradient-noise"
    aliases = ("iso",)
    summary = "adds the same Gaussian noise in all directions to the gradients of embeddings"
    reference = Reference("fedleak", f"{PAPER}, section 4 (iso)")

    power: float = setting(
        1.0, "expected squared length of the noise on a row, in units of the longest gradient's", tells_less="more"
    )

    def __post_init__(self) -> None:
        _check_power(self.name, self.power)

    def noise(self, gradients: FloatArray, local: LocalState, rng: np.random.Generator) -> FloatArray:
        longest = float(np.linalg.norm(gradients, axis=1).max())
        deviation = longest * float(np.sqrt(self.power / gradients.shape[1]))
        return np.asarray(deviation * rng.standard_normal(gradients.shape))


@dataclass(frozen=True)
class MaxNormNoise(BlurredEmbeddingGradients):
    """The length then says nothing on average. The direction does: a gradient is only stretched, or turned about."""

    name = "max-norm-noise"
    aliases = ("max-norm",)
    summary = "stretches every embedding's gradient at random, until its expected squared length is the longest one's"
    reference = Reference("fedleak", f"{PAPER}, section 4 (max_norm)")
    reach: float = setting(
        1.0, "share of the way to the longest gradient's squared length", unit="0 to 1", tells_less="more"
    )

    def __post_init__(self) -> None:
        if not 0 < self.reach <= 1:
            raise InputError(f"reach of {self.name} must be above 0 and at most 1; got {self.reach}")

    def noise(self, gradients: FloatArray, local: LocalState, rng: np.random.Generator) -> FloatArray:
        squares = np.maximum((gradients**2).sum(axis=1), 1e-300)
        wanted = self.reach * np.maximum(squares.max() / squares - 1, 0.0)
        return np.asarray(gradients * (np.sqrt(wanted) * rng.standard_normal(len(gradients)))[:, None])


@dataclass(frozen=True)
class Marvell(BlurredEmbeddingGradients):
    """A batch of one class is sent as it is: there are no two distributions to bring together."""

    name = "marvell"
    summary = "noise that makes embeddings' gradients of both classes as alike as its power allows"
    reference = Reference("fedleak", f"{PAPER}, section 4.3 (Marvell)")

    power: float = setting(
        4.0, "expected squared length of the noise, in units of the squared distance of the means", tells_less="more"
    )

    def __post_init__(self) -> None:
        _check_power(self.name, self.power)

    def noise(self, gradients: FloatArray, local: LocalState, rng: np.random.Generator) -> FloatArray:
        positive = _positive_rows(local)
        if positive.all() or not positive.any():
            return np.zeros_like(gradients)
        apart = gradients[positive].mean(axis=0) - gradients[~positive].mean(axis=0)
        distance = float(np.linalg.norm(apart))
        if distance == 0:
            return np.zeros_like(gradients)
        spreads = [float(gradients[mine].var(axis=0).mean()) / distance**2 for mine in (positive, ~positive)]
        shares = closest_gaussians(self.power, float(positive.mean()), spreads, gradients.shape[1])
        unit, noise = apart / distance, np.zeros_like(gradients)
        for mine, (along, across) in zip((positive, ~positive), shares, strict=True):
            drawn = np.sqrt(across) * rng.standard_normal((int(mine.sum()), len(unit)))
            drawn -= np.outer(drawn @ unit, unit)
            noise[mine] = distance * (drawn + np.outer(np.sqrt(along) * rng.standard_normal(len(drawn)), unit))
        return noise


def closest_gaussians(
    power: float, share: float, spreads: list[float], width: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Variances of the noise along the line between the means and across it, of positives and of negatives.

    They minimise the sum of both divergences of N(0, s_1 I + noise) from N(e, s_0 I + noise), |e| = 1, where

        2 sumKL = sum over directions of a/b + b/a - 2, and 1/a + 1/b along e,

    a and b the variances of both classes, under share (a_1 + (d - 1) a_2) + (1 - share)(b_1 + (d - 1) b_2) <= power.
    """
    from scipy.optimize import LinearConstraint, minimize

    own = np.maximum(np.array([spreads[0], spreads[0], spreads[1], spreads[1]]), 1e-9)
    costs = np.array([share, share * (width - 1), 1 - share, (1 - share) * (width - 1)])

    def divergence(noise: FloatArray) -> float:
        a1, a2, b1, b2 = own + np.maximum(noise, 0.0)
        return float(a1 / b1 + b1 / a1 + (width - 1) * (a2 / b2 + b2 / a2) + 1 / a1 + 1 / b1)

    start = np.array([power, 0.0, power, 0.0])
    limit = LinearConstraint(costs[None], ub=power)
    found = np.maximum(minimize(divergence, start, bounds=[(0, None)] * 4, constraints=[limit], method="SLSQP").x, 0.0)
    found *= min(1.0, power / max(float(costs @ found), 1e-300))
    best = found if divergence(found) <= divergence(start) else start
    return (float(best[0]), float(best[1])), (float(best[2]), float(best[3]))


def _positive_rows(local: LocalState) -> BoolArray:
    """Of the batch that is on its way, by the label holder's own records."""
    batch, labels = local.latest(networks.BATCH_ROWS), local.latest(LABELS)
    assert isinstance(batch, Array)
    assert isinstance(labels, Table)
    place = positions_of(labels.ids)
    return np.array([labels.values[place[int(row)], 0] > 0 for row in batch.values], dtype=np.bool_)


def _check_power(name: str, power: float) -> None:
    if not 0 < power < inf:
        raise InputError(f"power of {name} must be above 0 and finite; got {power}")
