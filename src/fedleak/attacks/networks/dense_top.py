"""The fully connected end of a network, as a function of what goes into it: every layer's gradient, and how it moves.

For a row with scores z and label y the error of the scores is softmax(z) - y; errors go back through weights and slopes
of activations. All rows at once, in float64; derivatives are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, Value
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layers import Activation, Linear

Blocks = list[FloatArray]  # of the first layer and of every later one


@dataclass(frozen=True, eq=False)
class Dense(Value):
    weight: FloatArray
    bias: FloatArray | None
    name: str  # of its parameters: the layer's position


@dataclass(frozen=True, eq=False)
class DenseTop(Value):
    """``layers[0]`` is the first fully connected one; ``activations[i]`` comes after it, None where none does."""

    layers: tuple[Dense, ...]
    activations: tuple[Activation | None, ...]

    def gradient_of(self, place: int, gradient: dict[str, FloatArray]) -> FloatArray:
        """[dW | db] of a layer, or dW alone where it has no bias."""
        name = self.layers[place].name
        weight = gradient[f"{name}.weight"]
        return np.column_stack([weight, gradient[f"{name}.bias"]]) if f"{name}.bias" in gradient else weight


@dataclass(frozen=True, eq=False)
class Passed(Value):
    """A batch through the top: of each layer its inputs (with a 1 for the bias), what comes out before the activation,
    and the error there; and the errors of the scores before labels are taken off."""

    inputs: tuple[FloatArray, ...]
    outputs: tuple[FloatArray, ...]
    errors: tuple[FloatArray, ...]
    shares: FloatArray  # softmax of the scores


def top_of(network: LayeredNetwork) -> DenseTop | None:
    """None where the network has none, or where other layers are among it (batch norm, dropout)."""
    first = network.first_linear
    if first is None:
        return None
    layers: list[Dense] = []
    activations: list[Activation | None] = []
    for place in range(first, len(network.layers)):
        layer = network.layers[place]
        if isinstance(layer, Linear):
            weight, bias = (network.parameters.get(f"{place}.{role}") for role in ("weight", "bias"))
            assert weight is not None
            plain = None if bias is None else np.asarray(bias, np.float64)
            layers.append(Dense(np.asarray(weight, np.float64), plain, str(place)))
            activations.append(None)
        elif isinstance(layer, Activation) and activations[-1] is None:
            activations[-1] = layer
        else:
            return None
    return DenseTop(tuple(layers), tuple(activations)) if activations[-1] is None else None


def passed(top: DenseTop, first: FloatArray, labels: FloatArray) -> Passed:
    """``first``: (rows, outputs) of the first layer, before its activation; ``labels``: a row of weights each."""
    inputs, outputs = [first], [first]
    for place, layer in enumerate(top.layers[1:]):
        value = activated(top.activations[place], outputs[-1])[0]
        inputs.append(np.column_stack([value, np.ones(len(value))]) if layer.bias is not None else value)
        outputs.append(value @ layer.weight.T + (0.0 if layer.bias is None else layer.bias))
    shares = softmax(outputs[-1])
    errors = [shares - labels]
    for place in range(len(top.layers) - 1, 0, -1):
        slope = activated(top.activations[place - 1], outputs[place - 1])[1]
        errors.insert(0, (errors[0] @ top.layers[place].weight) * slope)
    return Passed(tuple(inputs), tuple(outputs), tuple(errors), shares)


def moved(
    top: DenseTop, at: Passed, first: FloatArray, shares: FloatArray
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Derivatives (rows, directions, width) of inputs and errors of every layer, where a row's outputs of the first
    layer move by ``first`` (directions, width) and its label by ``shares`` (directions, classes)."""
    outputs = [np.broadcast_to(first, (len(at.shares), *first.shape))]
    inputs = [outputs[0]]
    for place, layer in enumerate(top.layers[1:]):
        value = activated(top.activations[place], at.outputs[place])[1][:, None] * outputs[-1]
        inputs.append(np.concatenate([value, np.zeros((*value.shape[:2], 1))], axis=2) if _biased(layer) else value)
        outputs.append(value @ layer.weight.T)
    weighted = at.shares[:, None] * outputs[-1]
    errors = [weighted - at.shares[:, None] * weighted.sum(axis=2, keepdims=True) - shares]
    for place in range(len(top.layers) - 1, 0, -1):
        _, slope, bend = activated(top.activations[place - 1], at.outputs[place - 1])
        weight = top.layers[place].weight
        turned = (at.errors[place] @ weight * bend)[:, None] * outputs[place - 1]
        errors.insert(0, (errors[0] @ weight) * slope[:, None] + turned)
    return inputs, errors


def _biased(layer: Dense) -> bool:
    return layer.bias is not None


def softmax(scores: FloatArray) -> FloatArray:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def activated(layer: Activation | None, value: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Its value, its slope and how the slope bends."""
    if layer is None:
        return value, np.ones_like(value), np.zeros_like(value)
    if layer.how == "tanh":
        bent = np.tanh(value)
        return bent, 1 - bent**2, -2 * bent * (1 - bent**2)
    if layer.how == "sigmoid":
        share = 0.5 * (1 + np.tanh(0.5 * value))
        return share, share * (1 - share), share * (1 - share) * (1 - 2 * share)
    below = 0.0 if layer.how == "relu" else layer.slope
    slope = np.where(value > 0, 1.0, below)
    return value * slope, slope, np.zeros_like(value)


def smooth(top: DenseTop) -> bool:
    """Every activation has a slope that moves with its input."""
    return all(one is None or one.how in ("sigmoid", "tanh") for one in top.activations)


def sparse(top: DenseTop) -> bool:
    """A unit that is off for a row takes nothing of its error: ReLU after the first layer."""
    return top.activations[0] is not None and top.activations[0].how == "relu"


def widths(top: DenseTop) -> Sequence[int]:
    return [len(layer.weight) for layer in top.layers]
