"""A layered network run by torch: functions of its parameters and inputs, differentiable in both, of any precision.

Parameters are tensors by name, as ``LayeredNetwork`` calls them. The loss is softmax cross-entropy, the mean over the
batch; gradients are those of the loss. torch is an extra, imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.models.joint_training import load_torch
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layers import Activation, BatchNorm, Convolution, Dropout, Flatten, Layer, Linear, Pooling

Tensor = Any  # torch.Tensor, which is not imported here
Tensors = dict[str, Tensor]


def tensors_of(arrays: Mapping[str, AnyArray], *, dtype: str | None = None, wanted: bool = False) -> Tensors:
    """Tensors of arrays by name (a network's parameters, a gradient), copied; ``dtype`` as torch calls it, such as
    "float64"; ``wanted`` to have gradients with respect to them."""
    torch = load_torch("networks")
    made = {name: torch.tensor(np.asarray(array)) for name, array in arrays.items()}
    cast = {name: tensor.to(getattr(torch, dtype)) if dtype else tensor for name, tensor in made.items()}
    return {name: tensor.requires_grad_(wanted) for name, tensor in cast.items()}


def arrays_of(tensors: Mapping[str, Tensor]) -> dict[str, AnyArray]:
    return {name: tensor.detach().numpy().copy() for name, tensor in tensors.items()}


def forward(
    network: LayeredNetwork,
    parameters: Mapping[str, Tensor],
    inputs: Tensor,
    *,
    start: int = 0,
    stop: int | None = None,
    training: bool = True,
    generator: Any = None,
) -> Tensor:
    """What layers ``start`` to ``stop`` (not included) make of a batch; from the first to the last without them.

    In training dropout draws from ``generator``, and batch norm takes the statistics of the batch.
    """
    value = inputs
    for place in range(start, len(network.layers) if stop is None else stop):
        own = {
            name.partition(".")[2]: tensor
            for name, tensor in parameters.items()
            if name.partition(".")[0] == str(place)
        }
        value = _through(network.layers[place], own, value, training, generator)
    return value


def _through(layer: Layer, own: Tensors, value: Tensor, training: bool, generator: Any) -> Tensor:
    torch = load_torch("networks")
    functional = torch.nn.functional
    match layer:
        case Convolution():
            return functional.conv2d(value, own["weight"], own.get("bias"), layer.stride, layer.padding)
        case Linear():
            return functional.linear(value, own["weight"], own.get("bias"))
        case Flatten():
            return value.flatten(1)
        case Pooling():
            pool = functional.max_pool2d if layer.how == "max" else functional.avg_pool2d
            return pool(value, layer.size)
        case Activation():
            return _activated(layer, value)
        case BatchNorm():
            return _normed(layer, own, value, training)
        case Dropout():
            return _dropped(layer, value, generator) if training else value
    raise TypeError(f"a layer must be one of ours; got {layer!r}")


def _activated(layer: Activation, value: Tensor) -> Tensor:
    torch = load_torch("networks")
    if layer.how == "leaky-relu":
        return torch.nn.functional.leaky_relu(value, layer.slope)
    return {"relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh}[layer.how](value)


def _normed(layer: BatchNorm, own: Tensors, value: Tensor, training: bool) -> Tensor:
    mean, var = (None, None) if training else (own["running_mean"], own["running_var"])
    return load_torch("networks").nn.functional.batch_norm(
        value, mean, var, own["weight"], own["bias"], training=training, eps=layer.epsilon
    )


def _dropped(layer: Dropout, value: Tensor, generator: Any) -> Tensor:
    kept = load_torch("networks").rand(value.shape, generator=generator, dtype=value.dtype) >= layer.rate
    return value * kept / (1 - layer.rate)


def batch_loss(scores: Tensor, labels: Tensor) -> Tensor:
    """Softmax cross-entropy, the mean over the batch; labels are classes, or a row of weights for each sample."""
    return load_torch("networks").nn.functional.cross_entropy(scores, labels)


def gradients(
    network: LayeredNetwork,
    parameters: Mapping[str, Tensor],
    inputs: Tensor,
    labels: Tensor,
    *,
    differentiable: bool = False,
    generator: Any = None,
) -> Tensors:
    """Of the batch's loss, by parameter in the network's order; ``parameters`` must want gradients.

    ``differentiable``: the gradients can themselves be differentiated, by inputs and labels too.
    """
    order = network.parameter_order
    loss = batch_loss(forward(network, parameters, inputs, generator=generator), labels)
    found = load_torch("networks").autograd.grad(
        loss, [parameters[name] for name in order], create_graph=differentiable
    )
    return dict(zip(order, found, strict=True))


def vertical_gradients(
    bottoms: Mapping[str, LayeredNetwork],
    top: LayeredNetwork,
    parameters: Mapping[str, Mapping[str, Tensor]],
    top_parameters: Mapping[str, Tensor],
    inputs: Mapping[str, Tensor],
    labels: Tensor,
    *,
    differentiable: bool = False,
) -> tuple[dict[str, Tensors], Tensors]:
    """Gradients of every party's bottom network, and of the top that takes what all bottoms give, side by side in
    the order of ``bottoms``."""
    torch = load_torch("networks")
    joined = torch.cat([forward(one, parameters[name], inputs[name]) for name, one in bottoms.items()], dim=1)
    loss = batch_loss(forward(top, top_parameters, joined), labels)
    named = [(party, name) for party, one in bottoms.items() for name in one.parameter_order]
    wanted = [parameters[party][name] for party, name in named] + [top_parameters[name] for name in top.parameter_order]
    found = torch.autograd.grad(loss, wanted, create_graph=differentiable)
    by_party: dict[str, Tensors] = {party: {} for party in bottoms}
    for (party, name), gradient in zip(named, found, strict=False):
        by_party[party][name] = gradient
    return by_party, dict(zip(top.parameter_order, found[len(named) :], strict=True))


def outputs_of(network: LayeredNetwork, inputs: FloatArray, *, stop: int | None = None) -> FloatArray:
    """What the last layer (or the one before ``stop``) gives for rows as the network takes them, at prediction, in
    float64, a thousand rows at a time."""
    torch = load_torch("networks")
    parameters = tensors_of(network.parameters, dtype="float64")
    with torch.no_grad():
        batches = torch.tensor(np.asarray(inputs, dtype=np.float64)).split(1000)
        made = [forward(network, parameters, one, stop=stop, training=False) for one in batches]
        return np.asarray(torch.cat(made).numpy())


def with_statistics(network: LayeredNetwork, inputs: FloatArray) -> LayeredNetwork:
    """The network with the running statistics of these rows in every batch norm, as training would have left them."""
    torch = load_torch("networks")
    places = [place for place, layer in enumerate(network.layers) if isinstance(layer, BatchNorm)]
    parameters, value, done = tensors_of(network.parameters, dtype="float64"), torch.tensor(np.asarray(inputs)), 0
    found: dict[str, AnyArray] = {}
    with torch.no_grad():
        for place in places:
            value, done = forward(network, parameters, value.double(), start=done, stop=place, training=False), place
            others = [axis for axis in range(value.ndim) if axis != 1]
            statistics = {"running_mean": value.mean(dim=others), "running_var": value.var(dim=others)}
            for name, tensor in statistics.items():
                parameters[f"{place}.{name}"] = tensor
                found[f"{place}.{name}"] = tensor.numpy().astype(network.parameters[f"{place}.{name}"].dtype)
    return network.with_parameters(found) if found else network


def predicted(network: LayeredNetwork, inputs: FloatArray) -> FloatArray:
    """Confidences of rows as the network takes them."""
    from scipy.special import softmax

    scores = outputs_of(network, inputs)
    scores = np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
    return np.asarray(softmax(scores, axis=1))
