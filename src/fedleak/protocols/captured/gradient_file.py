"""One gradient from elsewhere, in a file: the network that it was computed on, and the gradient of every parameter.

An .npz archive of plain arrays: ``arch``, the JSON text that lists the layers; ``param_order``, the names of the
trained parameters, layer by layer; ``param/NAME`` and ``grad/NAME`` of each; perhaps ``batch_size``. docs/gradients.md
is the page for who writes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from fedleak.core.arrays import AnyArray
from fedleak.core.errors import FileFormatError, InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array, Texts, Tree
from fedleak.core.steps import Role
from fedleak.core.transcript import EVERYONE, Message, Transcript
from fedleak.core.whole.run import Captured
from fedleak.data.sources.binary_files import read_arrays
from fedleak.models.layered import LayeredNetwork, named_shapes, parameter_names, read_arch
from fedleak.models.layers import Linear
from fedleak.protocols.networks import vocabulary as networks
from fedleak.storage.file_writing import written_whole

ENDING = ".npz"
ARCH, ORDER, BATCH_SIZE = "arch", "param_order", "batch_size"
PARAMETER, GRADIENT = "param/", "grad/"
CLIENT, SERVER = "client", "server"
MOST_NAMES = 10_000


@dataclass(frozen=True, eq=False)
class OneGradient:
    """``gradients`` by the network's own names, in its order."""

    network: LayeredNetwork
    gradients: Mapping[str, AnyArray]
    batch_size: int | None = None

    def __post_init__(self) -> None:
        if list(self.gradients) != list(self.network.parameter_order):
            raise InputError(
                f"gradients must be those of {list(self.network.parameter_order)}, in that order; "
                f"got {list(self.gradients)}"
            )
        for name, gradient in self.gradients.items():
            _check_numbers(f"{GRADIENT}{name}", gradient, self.network.parameters[name].shape)
        if not any(gradient.any() for gradient in self.gradients.values()):
            raise InputError("gradients must not all be zero: nothing was computed, or it was reset before")
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"{BATCH_SIZE} must be 1 or more; got {self.batch_size}")


def write_gradient(found: OneGradient, path: Path) -> None:
    """The file appears whole or not at all."""
    arrays: dict[str, AnyArray] = {ARCH: np.array(found.network.arch), ORDER: np.array(list(found.gradients))}
    arrays |= {f"{PARAMETER}{name}": values for name, values in found.network.parameters.items()}
    arrays |= {f"{GRADIENT}{name}": values for name, values in found.gradients.items()}
    if found.batch_size is not None:
        arrays[BATCH_SIZE] = np.array(found.batch_size)
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def read_gradient(path: Path) -> OneGradient:
    """Perhaps a stranger's: every defect is one line that names the file. Names of parameters are the writer's, and
    stand for ours in the order of ``param_order``."""
    arrays = read_arrays(path)
    try:
        shape, layers = read_arch(_text(arrays, ARCH))
        order, ours = _names(arrays), parameter_names(shape, layers)
        _check_names(arrays, order, ours)
        parameters = {own: _array(arrays, PARAMETER + name) for own, name in zip(ours, order, strict=True)}
        for name, wanted in named_shapes(shape, layers).items():
            if name not in parameters:  # running statistics, which have no gradient
                parameters[name] = arrays.get(PARAMETER + name, _usual_statistics(name, wanted))
        network = LayeredNetwork(shape, layers, parameters)
        gradients = {own: _array(arrays, GRADIENT + name) for own, name in zip(ours, order, strict=True)}
        return OneGradient(network, gradients, _batch_size(arrays))
    except InputError as error:
        raise FileFormatError(f"{path}: {error}") from error


def captured_gradient(path: Path) -> Captured:
    """As one round of a training on a client's rows, as its server sees it."""
    found = read_gradient(path)
    sent = Tree({name: Array(gradient) for name, gradient in found.gradients.items()})
    messages = (
        Message(networks.PARTICIPANTS.name, 0, SERVER, EVERYONE, Texts((CLIENT,))),
        Message(networks.NETWORK.name, 0, SERVER, EVERYONE, found.network.to_spec()),
        Message(networks.LAYER_GRADIENTS.name, 0, CLIENT, SERVER, sent),
    )
    return Captured(Transcript(_facts(found), messages), {})


def _facts(found: OneGradient) -> Facts:
    network = found.network
    ends_in_scores = isinstance(network.layers[-1], Linear)
    own = networks.NetworkFacts(
        bottom=tuple(map(str, network.layers[:-1])) if ends_in_scores else None,
        n_classes=prod(network.output_shape),
        n_batches=1,
        local_steps=0,
        known_batches=False,
        precision=str(np.result_type(*found.gradients.values())),
    )
    picture = len(network.input_shape) > 1
    client = PartyFacts(CLIENT, Role.ACTIVE, prod(network.input_shape), n_rows=found.batch_size, pictures=picture)
    parties = (client, PartyFacts(SERVER, Role.SERVER, 0))
    return Facts("horizontal-network", parties, n_rows=found.batch_size, batch_size=found.batch_size, own=own)


def _text(arrays: Mapping[str, AnyArray], name: str) -> str:
    array = _array(arrays, name)
    if array.dtype.kind != "U" or array.ndim:
        raise InputError(f"{name} must be one text; got {array.dtype} of shape {array.shape}")
    return str(array)


def _names(arrays: Mapping[str, AnyArray]) -> tuple[str, ...]:
    array = _array(arrays, ORDER)
    if array.dtype.kind != "U" or array.ndim != 1 or len(array) > MOST_NAMES:
        raise InputError(f"{ORDER} must be a list of texts; got {array.dtype} of shape {array.shape}")
    return tuple(map(str, array))


def _check_names(arrays: Mapping[str, AnyArray], order: tuple[str, ...], ours: tuple[str, ...]) -> None:
    if len(order) != len(ours) or len(set(order)) != len(order):
        raise InputError(
            f"{ORDER} must name the {len(ours)} trained parameters of arch, each once, layer by layer; got {len(order)}"
        )
    known = {prefix + name for prefix in (PARAMETER, GRADIENT) for name in order} | {ARCH, ORDER, BATCH_SIZE}
    for name in arrays:
        if name.startswith(GRADIENT) and name not in known:
            raise InputError(f"{name[:80]!r} must be a gradient of a parameter of {ORDER}; it is none")


def _array(arrays: Mapping[str, AnyArray], name: str) -> AnyArray:
    if name not in arrays:
        raise InputError(f"the array {name[:80]!r} must be there; it is not")
    return arrays[name]


def _usual_statistics(name: str, shape: tuple[int, ...]) -> AnyArray:
    return np.ones(shape, np.float32) if name.endswith("running_var") else np.zeros(shape, np.float32)


def _batch_size(arrays: Mapping[str, AnyArray]) -> int | None:
    if BATCH_SIZE not in arrays:
        return None
    array = arrays[BATCH_SIZE]
    if array.dtype.kind not in "iu" or array.ndim:
        raise InputError(f"{BATCH_SIZE} must be one whole number; got {array.dtype} of shape {array.shape}")
    return int(array)


def _check_numbers(name: str, array: AnyArray, shape: tuple[int, ...]) -> None:
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise InputError(f"{name!r} must hold floating-point numbers; got {array.dtype}")
    if array.shape != shape:
        raise InputError(f"{name!r} must be of shape {shape}, as its parameter is; got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name!r} must hold finite numbers; got NaN or infinity")
