"""What a party sends of its layers' gradients, made less exact: noise, few entries, or clipped rows and noise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.payload import Array, Tree
from fedleak.core.steps import DATA_ROLES
from fedleak.core.whole.federation import Federation, setting
from fedleak.core.whole.hooks import Defense, Hook, HookKind, LocalState
from fedleak.models.local_batch import Backward
from fedleak.protocols.networks import vocabulary as networks
from fedleak.theory.sampled_gaussian import epsilon_of


@dataclass(frozen=True)
class BlurredLayerGradients(Defense):
    """Of every party with data, batch by batch."""

    acts_at = frozenset({networks.LAYER_GRADIENTS})

    def configure(self, federation: Federation) -> Federation:
        update = getattr(federation.settings, "update", "gradient")
        if update != "gradient":
            raise InputError(f'update must be "gradient" for {self.name}: it acts on gradients; got {update!r}')
        return federation

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        parties = [party.name for party in federation.parties if party.role in DATA_ROLES]
        return tuple(Hook(networks.LAYER_GRADIENTS, HookKind.SEND, name, self.sent) for name in parties)

    def sent(self, gradient: Tree, local: LocalState, rng: np.random.Generator) -> Tree:
        blurred = {name: self.tensor(values, rng) for name, values in arrays_of(gradient).items()}
        return Tree({name: Array(values) for name, values in blurred.items()})

    @abstractmethod
    def tensor(self, values: AnyArray, rng: np.random.Generator) -> AnyArray:
        """What is sent in a tensor's place."""


def arrays_of(gradient: Tree) -> dict[str, AnyArray]:
    return {name: np.asarray(part.values) for name, part in gradient.items.items() if isinstance(part, Array)}


@dataclass(frozen=True)
class LayerGradientNoise(BlurredLayerGradients):
    name = "layer-gradient-noise"
    summary = "adds Gaussian noise to every entry of the gradients of layers"
    reference = Reference("fedleak", "Zhu et al. 2019, arXiv 1906.08935, section 5.1")

    share: float = setting(
        0.1, "standard deviation of the noise, in units of the root mean square of each tensor", tells_less="more"
    )

    def __post_init__(self) -> None:
        if not 0 < self.share < inf:
            raise InputError(f"share of {self.name} must be above 0 and finite; got {self.share}")

    def tensor(self, values: AnyArray, rng: np.random.Generator) -> AnyArray:
        size = self.share * float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))
        return np.asarray(values + size * rng.standard_normal(values.shape)).astype(values.dtype)


@dataclass(frozen=True)
class GradientPruning(BlurredLayerGradients):
    name = "gradient-pruning"
    aliases = ("gradient-compression",)
    summary = "sends only the largest entries of every tensor of a gradient, and zeros for the others"
    reference = Reference("fedleak", "Lin et al. 2018, arXiv 1712.01887; Zhu et al. 2019, section 5.2")

    fraction: float = setting(0.1, "share of a tensor's entries that are sent", unit="0 to 1", tells_less="fewer")

    def __post_init__(self) -> None:
        if not 0 < self.fraction < 1:
            raise InputError(f"fraction of {self.name} must be between 0 and 1; got {self.fraction}")

    def tensor(self, values: AnyArray, rng: np.random.Generator) -> AnyArray:
        flat = values.ravel()
        largest = np.argsort(-np.abs(flat), kind="stable")[: ceil(self.fraction * len(flat))]
        kept = np.zeros_like(flat)
        kept[largest] = flat[largest]
        return kept.reshape(values.shape)


@dataclass(frozen=True)
class DpSgd(BlurredLayerGradients):
    """The budget is about one row's presence, towards whoever sees all gradients of the party's own layers."""

    name = "dp-sgd"
    summary = "cuts every row's gradient to a length and adds noise to their sum, with a privacy budget"
    reference = Reference("fedleak", "Abadi et al. 2016, arXiv 1607.00133, algorithm 1")

    clip: float = setting(1.0, "length that a row's gradient, over all layers, is cut to", unit="of a row's loss")
    noise: float = setting(1.0, "standard deviation of the noise on the sum, in units of clip", tells_less="more")
    delta: float = setting(1e-5, "probability that is left out of the budget")

    def __post_init__(self) -> None:
        for name in ("clip", "noise"):
            if not 0 < getattr(self, name) < inf:
                raise InputError(f"{name} of {self.name} must be above 0 and finite; got {getattr(self, name)}")
        if not 0 < self.delta < 1:
            raise InputError(f"delta of {self.name} must be between 0 and 1; got {self.delta}")

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        parties = [party.name for party in federation.parties if party.role in DATA_ROLES]
        return tuple(Hook(networks.LAYER_GRADIENTS, HookKind.COMPUTE, name, self._computed) for name in parties)

    def tensor(self, values: AnyArray, rng: np.random.Generator) -> AnyArray:
        """Of the sum of cut gradients."""
        return np.asarray(values + self.clip * self.noise * rng.standard_normal(values.shape))

    def _computed(self, honest: Backward, local: LocalState, rng: np.random.Generator) -> Tree:
        n_rows = len(honest.upstream)
        total: dict[str, FloatArray] = {}
        for row in self._cut(honest.of_each_row(), n_rows):
            total = {name: total.get(name, 0.0) + part for name, part in row.items()}
        types = {name: honest.batch.network.parameters[name].dtype for name in total}
        noisy = {name: self.tensor(values, rng) / n_rows for name, values in total.items()}
        return Tree({name: Array(values.astype(types[name])) for name, values in noisy.items()})

    def _cut(self, rows: Iterator[Mapping[str, AnyArray]], n_rows: int) -> Iterator[dict[str, FloatArray]]:
        """Rows' gradients are those of the mean loss: a row's own is as many times longer."""
        for row in rows:
            own = {name: n_rows * part.astype(np.float64) for name, part in row.items()}
            length = float(np.sqrt(sum(np.square(part).sum() for part in own.values())))
            yield {name: part * min(1.0, self.clip / max(length, 1e-300)) for name, part in own.items()}

    def notes(self, federation: Federation) -> tuple[str, ...]:
        n_rows = min(len(party.train.ids) for party in federation.parties if party.role in DATA_ROLES)
        size, rounds = (getattr(federation.settings, name, 0) for name in ("batch_size", "rounds"))
        if not n_rows or not size:
            return ()
        known = epsilon_of(noise=self.noise, sampling=1.0, steps=ceil(rounds * size / n_rows), delta=self.delta)
        hidden = epsilon_of(noise=self.noise, sampling=min(1.0, size / n_rows), steps=rounds, delta=self.delta)
        return (
            f"epsilon {known:.3g} at delta {self.delta:g} towards who knows the rows of each batch, for a row that is "
            f"visited as often as is usual; {hidden:.3g} towards who does not, if batches were drawn row by row",
            "it is about one row's presence in one party's gradients of its own layers; embeddings, their gradients "
            "and the top's gradient, where there are any, are sent as they are",
        )
