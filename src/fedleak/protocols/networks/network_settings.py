"""Settings that all federated networks share, the networks that they describe, and what follows from them in public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.whole.federation import Federation, Settings, setting
from fedleak.models.initial_parameters import SCHEMES, initial_network
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layers import Layer, Linear, Shape, layer_of_line
from fedleak.models.parameter_steps import OPTIMISERS
from fedleak.protocols.networks import vocabulary as networks

BATCHES = (networks.DRAWN, networks.SHUFFLED)
PRECISIONS = ("float32", "float64")
_HEAD = ("linear 256", "activation relu", "linear 64", "activation relu")
# The network in the code beside Jin et al. 2021, without its last layer; rows of a table skip the convolutions.
FOR_PICTURES = (
    *("convolution 64 5 padding=2", "activation relu", "pooling max 2"),
    *("convolution 128 5 padding=2", "activation relu", "pooling max 2", "flatten"),
    *_HEAD,
)
FOR_TABLES = _HEAD


@dataclass(frozen=True)
class NetworkSettings(Settings):
    rounds: int = setting(100, "batches of the training, or rounds of local steps", unit="rounds", tells_less="fewer")
    batch_size: int = setting(40, "rows of a batch", unit="rows", tells_less="more")
    batches: str = setting(
        networks.DRAWN,
        "drawn: every batch anew from all rows; shuffled: every epoch deals all rows out",
        choices=BATCHES,
    )
    trained: bool = setting(True, "parameters change from round to round; false: they stay as they were drawn")
    optimiser: str = setting("sgd", "how gradients change the parameters", choices=OPTIMISERS)
    learning_rate: float = setting(0.01, "step size; the loss is the mean over the batch", tells_less="fewer")
    initialisation: str = setting("torch", "how the first parameters are drawn", choices=SCHEMES)
    precision: str = setting("float32", "of parameters and of everything that is sent", choices=PRECISIONS)

    def __post_init__(self) -> None:
        for name in ("rounds", "batch_size"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be 1 or more; got {getattr(self, name)}")
        if not 0 < self.learning_rate < inf:
            raise InputError(f"learning_rate must be above 0 and finite; got {self.learning_rate}")
        choices = {"batches": BATCHES, "optimiser": OPTIMISERS, "initialisation": SCHEMES, "precision": PRECISIONS}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}")


@dataclass(frozen=True)
class CutSettings(NetworkSettings):
    """Of networks with a bottom at each party and a top over all of them."""

    bottom: tuple[str, ...] = setting(
        (), 'layers of each party\'s network, such as "linear 64"; without any, the usual ones for the data'
    )
    top: tuple[str, ...] = setting(
        (), "layers over the outputs of all parties, before the last: a score for each class"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        layers_of(self.bottom, "bottom")
        layers_of(self.top, "top")


def layers_of(lines: Sequence[str], setting_name: str) -> tuple[Layer, ...]:
    """The layers that a scenario lists; an error names the setting and the line."""
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(layer_of_line(line))
        except InputError as error:
            raise InputError(f"{setting_name}, layer {number}: {error}") from error
    return tuple(found)


def drawn_network(
    shape: Shape, layers: Sequence[Layer], settings: NetworkSettings, rng: np.random.Generator
) -> LayeredNetwork:
    return initial_network(shape, layers, settings.initialisation, rng, dtype=settings.precision)


def input_shape_of(cells: AnyArray) -> Shape:
    """Of a party's rows: channels first where they are pictures."""
    *sides, last = cells.shape[1:]
    return (int(last), *map(int, sides))


def usual_layers(shape: Shape) -> tuple[str, ...]:
    return FOR_PICTURES if len(shape) > 1 else FOR_TABLES


def with_scores(layers: Sequence[Layer], n_classes: int) -> tuple[Layer, ...]:
    """With the last layer, which every network of scores gets: fully connected, an output a class."""
    return (*layers, Linear(n_classes))


def classes_of(labels: AnyArray | None, holder: str) -> IntArray:
    """Labels as classes from 0 on; an error where they are none."""
    if labels is None:
        raise InputError(f"{holder} must hold the labels; set [data] target to their column")
    found = np.asarray(labels)
    whole = found.astype(np.int64)
    if not len(found) or not np.array_equal(whole, found) or whole.min() < 0:
        raise InputError(f"labels of {holder} must be classes, whole numbers from 0 on; got others or none")
    return whole


def network_facts(
    protocol: str, settings: NetworkSettings, parties: tuple[PartyFacts, ...], n_rows: int | None, **own: object
) -> Facts:
    """``own`` are what one protocol adds."""
    facts = Facts(
        protocol=protocol,
        parties=parties,
        n_rows=n_rows,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
    )
    return facts.with_own(
        networks.NetworkFacts,
        n_batches=settings.rounds,
        batches=settings.batches,
        trained=settings.trained,
        optimiser=settings.optimiser,
        precision=settings.precision,
        first_parameters=settings.initialisation,
        **own,
    )


def cut_facts(protocol: str, settings: CutSettings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
    """Which layers a party has by default depends on its data: it is unknown without them."""
    bottom = settings.bottom or None
    return network_facts(
        protocol, settings, parties, n_rows, bottom=bottom, top=settings.top, local_steps=0, known_batches=True
    )


def with_classes(facts: Facts, federation: Federation) -> Facts:
    """How many classes there are is public, once there are data."""
    held = [party.train.labels for party in federation.parties if party.train.labels is not None]
    largest = [int(np.max(labels)) for labels in held if len(labels)]
    return facts.with_own(networks.NetworkFacts, n_classes=max(2, max(largest) + 1)) if largest else facts
