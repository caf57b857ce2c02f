"""A layered network as data: the shape of a sample, its layers, its parameters by name.

A parameter is called after the position of its layer: ``0.weight``, ``0.bias``, ``3.weight``. Only torch runs it
(``layered_torch``); shapes, names and files need no torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray, Value, freeze, read_only
from fedleak.core.errors import InputError, UnreadableModelError, nearest_or_list
from fedleak.core.payload import ModelSpec, ScalarValue
from fedleak.models.layers import MAX_SIZE, Flatten, Layer, Linear, Shape, layer_of
from fedleak.models.model import FORMAT_VERSION, Model

LAYERED_KIND = "layered"
MAX_DEPTH = 200  # layers
MAX_NUMBERS = 1 << 28  # of all parameters
MAX_ARCH = 1 << 16  # characters of the text that lists the layers
ARCH_KEYS = ("version", "input_shape", "layers")


@dataclass(frozen=True, eq=False)
class LayeredNetwork(Value, Model):
    """``input_shape`` is (channels, height, width) of a picture or (columns,) of a table's row.

    The last layer gives a score for each class. What others call rows has a picture's channels last:
    ``inputs_of`` and ``cells_of`` go from one to the other.
    """

    input_shape: Shape
    layers: tuple[Layer, ...]
    parameters: Mapping[str, AnyArray]  # buffers among them; float32 or float64
    columns: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        wanted = named_shapes(self.input_shape, self.layers)
        for name in self.parameters:
            if name not in wanted:
                raise InputError(f"a network must have no parameter {name!r}{nearest_or_list(name, list(wanted))}")
        for name, shape in wanted.items():
            _check_parameter(name, shape, self.parameters)
        ordered = {name: freeze(self.parameters[name]) for name in wanted}
        object.__setattr__(self, "parameters", read_only(ordered))
        object.__setattr__(self, "columns", tuple(f"x{i}" for i in range(prod(self.input_shape))))

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """Of a sample after every layer."""
        return shapes_after(self.input_shape, self.layers)[1:]

    @property
    def output_shape(self) -> Shape:
        return self.shapes[-1]

    @cached_property
    def parameter_order(self) -> tuple[str, ...]:
        """What is trained, layer by layer, a weight before its bias: as gradients are listed."""
        return parameter_names(self.input_shape, self.layers)

    @property
    def buffer_order(self) -> tuple[str, ...]:
        trained = set(self.parameter_order)
        return tuple(name for name in self.parameters if name not in trained)

    @property
    def first_linear(self) -> int | None:
        """Position of the first fully connected layer."""
        return next((place for place, layer in enumerate(self.layers) if isinstance(layer, Linear)), None)

    @property
    def cell_shape(self) -> Shape:
        """Of a sample as parties hold it: channels last."""
        channels, *sides = self.input_shape
        return (*sides, channels) if sides else self.input_shape

    def inputs_of(self, cells: FloatArray) -> FloatArray:
        """Rows as parties hold them (channels last, or flat), as the network takes them (channels first)."""
        shaped = np.asarray(cells).reshape(len(cells), *self.cell_shape)
        return np.ascontiguousarray(np.moveaxis(shaped, -1, 1)) if len(self.input_shape) > 1 else shaped

    def cells_of(self, inputs: AnyArray) -> AnyArray:
        """The way back: channels last."""
        return np.ascontiguousarray(np.moveaxis(inputs, 1, -1)) if len(self.input_shape) > 1 else inputs

    def with_parameters(self, parameters: Mapping[str, AnyArray]) -> LayeredNetwork:
        """The same network with other values of these parameters."""
        return LayeredNetwork(self.input_shape, self.layers, {**self.parameters, **parameters})

    @property
    def n_classes(self) -> int:
        return max(2, prod(self.output_shape))

    def confidences(self, rows: FloatArray) -> FloatArray:
        """Softmax of the scores; of one score sigmoid. As at prediction: no dropout, running statistics."""
        from fedleak.models.layered_torch import predicted

        return predicted(self, self.inputs_of(rows))

    def behind_scaler(self, shift: FloatArray, scale: FloatArray) -> LayeredNetwork:
        place = 1 if isinstance(self.layers[0], Flatten) else 0
        first = self.layers[place] if place < len(self.layers) else None
        if len(self.input_shape) > 1 or not isinstance(first, Linear) or not first.bias:
            raise UnreadableModelError("a layered network behind a scaler must begin with a linear layer with a bias")
        weight, bias = (self.parameters[f"{place}.{name}"].astype(np.float64) for name in ("weight", "bias"))
        scaled = weight / scale
        return self.with_parameters({f"{place}.weight": scaled, f"{place}.bias": bias - scaled @ shift})

    @property
    def arch(self) -> str:
        return arch_text(self.input_shape, self.layers)

    def to_spec(self) -> ModelSpec:
        config: dict[str, ScalarValue] = {"version": FORMAT_VERSION, "arch": self.arch}
        return ModelSpec(LAYERED_KIND, config, self.parameters)


def layered_of(spec: ModelSpec) -> LayeredNetwork:
    """The network that a spec describes, perhaps a stranger's."""
    arch = spec.config.get("arch")
    if spec.kind != LAYERED_KIND or not isinstance(arch, str):
        raise InputError(f"a layered network must be of kind {LAYERED_KIND} with an arch; got {spec.kind!r}")
    shape, layers = read_arch(arch)
    return LayeredNetwork(shape, layers, spec.arrays)


def without_parameters(input_shape: Shape, layers: Sequence[Layer]) -> LayeredNetwork:
    """A network whose parameters are all zero, to ask for its shapes and names."""
    zeros = {name: np.zeros(shape, np.float32) for name, shape in named_shapes(input_shape, layers).items()}
    return LayeredNetwork(tuple(input_shape), tuple(layers), zeros)


def shapes_after(input_shape: Shape, layers: Sequence[Layer]) -> tuple[Shape, ...]:
    """The shape of a sample before the first layer and after every layer."""
    if len(input_shape) not in (1, 3) or not all(0 < side <= MAX_SIZE for side in input_shape):
        raise InputError(
            f"input_shape must be (channels, height, width) or (columns,), each from 1 to {MAX_SIZE}; got {input_shape}"
        )
    if not 1 <= len(layers) <= MAX_DEPTH:
        raise InputError(f"a network must have from 1 to {MAX_DEPTH} layers; got {len(layers)}")
    shapes = [tuple(input_shape)]
    for place, layer in enumerate(layers):
        try:
            shapes.append(layer.after(shapes[-1]))
        except InputError as error:
            raise InputError(f"layer {place}: {error}") from error
    return tuple(shapes)


def named_shapes(input_shape: Shape, layers: Sequence[Layer]) -> dict[str, Shape]:
    """Of every parameter and buffer, by name, in order."""
    found: dict[str, Shape] = {}
    for place, (shape, layer) in enumerate(zip(shapes_after(input_shape, layers), layers, strict=False)):
        own = layer.parameters(shape) | layer.buffers(shape)
        found |= {f"{place}.{name}": of_one for name, of_one in own.items()}
    n_numbers = sum(map(prod, found.values()))
    if n_numbers > MAX_NUMBERS:
        raise InputError(f"a network must have at most {MAX_NUMBERS} parameters; got {n_numbers}")
    return found


def parameter_names(input_shape: Shape, layers: Sequence[Layer]) -> tuple[str, ...]:
    """Of what is trained, in order."""
    places = enumerate(zip(shapes_after(input_shape, layers), layers, strict=False))
    return tuple(f"{place}.{name}" for place, (shape, layer) in places for name in layer.parameters(shape))


def arch_text(input_shape: Shape, layers: Sequence[Layer]) -> str:
    """The network without its numbers, as JSON."""
    listed = [{"layer": layer.kind, **layer.given()} for layer in layers]
    return json.dumps({"version": FORMAT_VERSION, "input_shape": list(input_shape), "layers": listed})


def read_arch(text: str) -> tuple[Shape, tuple[Layer, ...]]:
    """The shape of a sample and the layers, from JSON that may be a stranger's."""
    if len(text) > MAX_ARCH:
        raise InputError(f"arch must be at most {MAX_ARCH} characters; got {len(text)}")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"arch must be JSON with {', '.join(ARCH_KEYS)}; it cannot be read") from error
    if not isinstance(found, dict) or set(found) != set(ARCH_KEYS):
        got = sorted(found)[:10] if isinstance(found, dict) else type(found).__name__
        raise InputError(f"arch must be a JSON object with {', '.join(ARCH_KEYS)}; got {got}")
    if found["version"] != FORMAT_VERSION:
        raise InputError(f"version of arch must be {FORMAT_VERSION}; got {str(found['version'])[:80]!r}")
    shape, listed = found["input_shape"], found["layers"]
    if not isinstance(shape, list) or not all(type(side) is int for side in shape):
        raise InputError(f"input_shape of arch must be a list of whole numbers; got {str(shape)[:80]}")
    if not isinstance(listed, list) or not 1 <= len(listed) <= MAX_DEPTH:
        raise InputError(f"layers of arch must be a list of 1 to {MAX_DEPTH} layers")
    layers = tuple(_listed_layer(place, one) for place, one in enumerate(listed))
    shapes_after(tuple(shape), layers)
    return tuple(shape), layers


def _listed_layer(place: int, listed: object) -> Layer:
    if not isinstance(listed, dict) or "layer" not in listed:
        raise InputError(f"layer {place} of arch must be an object with a layer; got {str(listed)[:80]}")
    try:
        return layer_of(listed["layer"], {name: value for name, value in listed.items() if name != "layer"})
    except InputError as error:
        raise InputError(f"layer {place} of arch: {error}") from error


def _check_parameter(name: str, shape: Shape, parameters: Mapping[str, AnyArray]) -> None:
    if name not in parameters:
        raise InputError(f"a network must have the parameter {name!r}; it has {list(parameters)[:20]}")
    array = parameters[name]
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise InputError(f"parameter {name!r} must hold floating-point numbers; got {array.dtype}")
    if array.shape != shape:
        raise InputError(f"parameter {name!r} must be of shape {shape}; got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"parameter {name!r} must hold finite numbers; got NaN or infinity")
