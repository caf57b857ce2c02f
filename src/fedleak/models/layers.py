"""The layers of a network as data: what each makes of a shape, and which parameters it has.

A layer is written in two ways. In a scenario it is a line, such as ``convolution 64 5 padding=2`` or ``linear 10``:
its kind, then its values in the order of the fields, or by name. In a file it is an object of the same names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from math import isfinite, prod
from typing import ClassVar

from fedleak.core.errors import InputError, nearest_or_list

Shape = tuple[int, ...]  # of one sample: (channels, height, width) or (columns,)
Given = Mapping[str, object]

MAX_SIZE = 1 << 16  # of channels, widths and the sides of a picture
ACTIVATIONS = ("relu", "leaky-relu", "sigmoid", "tanh")
POOLINGS = ("max", "average")


class Layer(ABC):
    """``parameters`` are trained; ``buffers`` are kept beside them and have no gradient."""

    kind: ClassVar[str]

    @abstractmethod
    def after(self, shape: Shape) -> Shape:
        """The shape of what the layer makes of a sample; an error where it cannot take it."""

    def parameters(self, shape: Shape) -> dict[str, Shape]:
        return {}

    def buffers(self, shape: Shape) -> dict[str, Shape]:
        return {}

    def __str__(self) -> str:
        """As a line of a scenario."""
        return " ".join([self.kind, *(f"{name}={_word(value)}" for name, value in self.given().items())])

    def given(self) -> dict[str, int | float | str | bool]:
        """Its values by name, without those that are the defaults."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        usual = {one.name: one.default for one in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in own.items() if usual[name] is MISSING or value != usual[name]}


@dataclass(frozen=True)
class Convolution(Layer):
    """Square kernels over a picture; ``weight`` is (channels, channels before, kernel, kernel)."""

    kind: ClassVar[str] = "convolution"

    channels: int
    kernel: int
    stride: int = 1
    padding: int = 0
    bias: bool = True

    def __post_init__(self) -> None:
        for name in ("channels", "kernel", "stride"):
            _check_size(self, name, 1)
        _check_size(self, "padding", 0)

    def after(self, shape: Shape) -> Shape:
        _, *sides = _picture(self, shape)
        made = [(side + 2 * self.padding - self.kernel) // self.stride + 1 for side in sides]
        if min(made) < 1:
            raise InputError(f"{self} must have a kernel that fits into its picture; got {_by(shape)}")
        return (self.channels, *made)

    def parameters(self, shape: Shape) -> dict[str, Shape]:
        weight = (self.channels, shape[0], self.kernel, self.kernel)
        return {"weight": weight} | ({"bias": (self.channels,)} if self.bias else {})


@dataclass(frozen=True)
class Pooling(Layer):
    """Of squares that do not overlap; what is left over at the edge is dropped."""

    kind: ClassVar[str] = "pooling"

    how: str
    size: int

    def __post_init__(self) -> None:
        _check_choice(self, "how", POOLINGS)
        _check_size(self, "size", 1)

    def after(self, shape: Shape) -> Shape:
        channels, *sides = _picture(self, shape)
        if min(sides) < self.size:
            raise InputError(f"{self} must have squares that fit into its picture; got {_by(shape)}")
        return (channels, *(side // self.size for side in sides))


@dataclass(frozen=True)
class Activation(Layer):
    kind: ClassVar[str] = "activation"

    how: str
    slope: float = 0.01  # of leaky-relu, below zero

    def __post_init__(self) -> None:
        _check_choice(self, "how", ACTIVATIONS)
        if not isfinite(self.slope):
            raise InputError(f"slope of {self.kind} must be finite; got {self.slope}")

    def after(self, shape: Shape) -> Shape:
        return shape


@dataclass(frozen=True)
class Flatten(Layer):
    """Channels first, then rows, then columns."""

    kind: ClassVar[str] = "flatten"

    def after(self, shape: Shape) -> Shape:
        return (prod(shape),)


@dataclass(frozen=True)
class Linear(Layer):
    """Fully connected; ``weight`` is (width, width before)."""

    kind: ClassVar[str] = "linear"

    width: int
    bias: bool = True

    def __post_init__(self) -> None:
        _check_size(self, "width", 1)

    def after(self, shape: Shape) -> Shape:
        if len(shape) != 1:
            raise InputError(f"{self} must come after flatten; got a picture of {_by(shape)}")
        return (self.width,)

    def parameters(self, shape: Shape) -> dict[str, Shape]:
        return {"weight": (self.width, shape[0])} | ({"bias": (self.width,)} if self.bias else {})


@dataclass(frozen=True)
class BatchNorm(Layer):
    """By channel, or by column; in training by the statistics of the batch, otherwise by the running ones."""

    kind: ClassVar[str] = "batch-norm"

    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 1:
            raise InputError(f"epsilon of {self.kind} must be above 0 and at most 1; got {self.epsilon}")

    def after(self, shape: Shape) -> Shape:
        return shape

    def parameters(self, shape: Shape) -> dict[str, Shape]:
        return {"weight": shape[:1], "bias": shape[:1]}

    def buffers(self, shape: Shape) -> dict[str, Shape]:
        return {"running_mean": shape[:1], "running_var": shape[:1]}


@dataclass(frozen=True)
class Dropout(Layer):
    kind: ClassVar[str] = "dropout"

    rate: float

    def __post_init__(self) -> None:
        if not 0 <= self.rate < 1:
            raise InputError(f"rate of {self.kind} must be from 0 to below 1; got {self.rate}")

    def after(self, shape: Shape) -> Shape:
        return shape


KINDS: dict[str, type[Layer]] = {
    layer.kind: layer for layer in (Convolution, Pooling, Activation, Flatten, Linear, BatchNorm, Dropout)
}


def layer_of(kind: object, given: Given) -> Layer:
    """The layer with these values by name; one line where it is not one."""
    known = {one.name: one for one in fields(_kind(kind))}  # type: ignore[arg-type]
    for name in given:
        if name not in known:
            raise InputError(f"{kind} must have no value called {name[:80]!r}{nearest_or_list(name[:80], list(known))}")
    values: dict[str, object] = {}
    for name, one in known.items():
        if name in given:
            values[name] = _typed(f"{name} of {kind}", str(one.type), given[name])
        elif one.default is MISSING:
            raise InputError(f"{kind} must have a value for {name}; it has none")
    return _kind(kind)(**values)


def _kind(kind: object) -> type[Layer]:
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"a layer must be one of {', '.join(KINDS)}; got {str(kind)[:80]!r}")
    return KINDS[kind]


def layer_of_line(line: str) -> Layer:
    """As a scenario has it: ``linear 10``, ``convolution 64 5 padding=2``."""
    kind, *words = line[:400].split() or [""]
    names = [one.name for one in fields(_kind(kind))]  # type: ignore[arg-type]
    given: dict[str, object] = {}
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not equals and place >= len(names):
            raise InputError(f"{kind} must have at most {len(names)} values ({', '.join(names)}); got {line[:80]!r}")
        given[name if equals else names[place]] = _parsed(value if equals else word)
    return layer_of(kind, given)


def _parsed(word: str) -> int | float | bool | str:
    if word in ("true", "false"):
        return word == "true"
    for number in (int, float):
        try:
            return number(word)
        except ValueError:
            continue
    return word


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _typed(name: str, wanted: str, value: object) -> object:
    if wanted == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    words = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a word"}
    if type(value).__name__ != wanted:
        raise InputError(f"{name} must be {words[wanted]}; got {str(value)[:80]!r}")
    return value


def _check_size(layer: Layer, name: str, least: int) -> None:
    if not least <= getattr(layer, name) <= MAX_SIZE:
        raise InputError(f"{name} of {layer.kind} must be from {least} to {MAX_SIZE}; got {getattr(layer, name)}")


def _check_choice(layer: Layer, name: str, choices: tuple[str, ...]) -> None:
    if getattr(layer, name) not in choices:
        raise InputError(f"{layer.kind} must be one of {', '.join(choices)}; got {getattr(layer, name)!r}")


def _picture(layer: Layer, shape: Shape) -> Shape:
    if len(shape) != 3:
        raise InputError(f"{layer} must get a picture (channels, height, width); got {_by(shape)}")
    return shape


def _by(shape: Shape) -> str:
    return " x ".join(map(str, shape))
