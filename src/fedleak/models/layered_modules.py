"""A torch module as a layered network: read by its parameters, nothing is run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedleak.core.arrays import AnyArray
from fedleak.core.errors import UnreadableModelError
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layers import Activation, BatchNorm, Convolution, Dropout, Flatten, Layer, Linear, Pooling
from fedleak.models.library_models import flat_layers

READABLE = "Conv2d, MaxPool2d, AvgPool2d, ReLU, LeakyReLU, Sigmoid, Tanh, Flatten, Linear, BatchNorm, Dropout, Identity"
ACTIVATIONS = {"ReLU": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "LeakyReLU": "leaky-relu"}


def layered_from_torch(module: Any, input_shape: Sequence[int]) -> LayeredNetwork:
    """Of a ``Sequential``, nested or not; ``input_shape`` is (channels, height, width) or (columns,).

    Its last layer gives the scores: a final Softmax belongs to the loss. Identity layers are left out.
    """
    layers: list[Layer] = []
    parameters: dict[str, AnyArray] = {}
    for part in flat_layers(module):
        if type(part).__name__ == "Identity":
            continue
        layer = _layer(part)
        for name in [*layer.parameters((1, 1, 1)), *layer.buffers((1, 1, 1))]:
            parameters[f"{len(layers)}.{name}"] = _numbers(getattr(part, name))
        layers.append(layer)
    return LayeredNetwork(tuple(int(side) for side in input_shape), tuple(layers), parameters)


def parameter_names_of(module: Any) -> dict[str, str]:
    """What torch calls each trained parameter, and what the layered network calls it."""
    by_tensor = {id(tensor): name for name, tensor in module.named_parameters()}
    found: dict[str, str] = {}
    place = 0
    for part in flat_layers(module):
        if type(part).__name__ == "Identity":
            continue
        for name, tensor in part.named_parameters():
            found[by_tensor[id(tensor)]] = f"{place}.{name}"
        place += 1
    return found


def _layer(part: Any) -> Layer:
    name = type(part).__name__
    if name in ACTIVATIONS:
        return Activation(ACTIVATIONS[name], **({"slope": part.negative_slope} if name == "LeakyReLU" else {}))
    if name in ("BatchNorm1d", "BatchNorm2d"):
        _need(part, "affine and with running statistics", part.affine and part.track_running_stats)
        return BatchNorm(part.eps)
    if name in ("Dropout", "Dropout1d", "Dropout2d"):
        _need(part, "a plain Dropout", name == "Dropout")
        return Dropout(part.p)
    readers = {"Conv2d": _convolution, "MaxPool2d": _pooling, "AvgPool2d": _pooling, "Linear": _linear}
    if name == "Flatten":
        _need(part, "over all but the first dimension", part.start_dim == 1 and part.end_dim == -1)
        return Flatten()
    if name not in readers:
        raise UnreadableModelError(f"a network must be a torch Sequential of {READABLE}; got {name}")
    return readers[name](part)


def _convolution(part: Any) -> Convolution:
    _need(part, "without groups or dilation", part.groups == 1 and _side(part, "dilation") == 1)
    _need(part, "padded with zeros", part.padding_mode == "zeros")
    kernel, padding = _side(part, "kernel_size"), part.padding
    if padding == "same":
        _need(part, "of an odd kernel to keep the size", kernel % 2 == 1)
        size = kernel // 2
    else:
        size = 0 if padding == "valid" else _side(part, "padding")
    return Convolution(part.out_channels, kernel, _side(part, "stride"), size, part.bias is not None)


def _pooling(part: Any) -> Pooling:
    size = _side(part, "kernel_size")
    _need(part, "of squares side by side", _side(part, "stride") == size and _side(part, "padding") == 0)
    _need(part, "without dilation and with whole squares", getattr(part, "dilation", 1) == 1 and not part.ceil_mode)
    return Pooling("max" if type(part).__name__ == "MaxPool2d" else "average", size)


def _linear(part: Any) -> Linear:
    return Linear(part.out_features, part.bias is not None)


def _side(part: Any, name: str) -> int:
    """A size that is the same down and across."""
    value = getattr(part, name)
    sides = set(value) if isinstance(value, tuple) else {value}
    _need(part, f"of one {name} for both directions", len(sides) == 1)
    return int(sides.pop())


def _need(part: Any, what: str, holds: bool) -> None:
    if not holds:
        raise UnreadableModelError(f"{type(part).__name__} of a network must be {what}; got {part}")


def _numbers(tensor: Any) -> AnyArray:
    array: AnyArray = tensor.detach().cpu().numpy().copy()
    return array
