"""How far a dummy batch's gradient is from the one that was seen, as those who match gradients measure it.

Gradients are lists of tensors in the network's order. Every distance can be differentiated, and is 0 where they agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fedleak.models.layered import LayeredNetwork
from fedleak.models.layered_torch import forward
from fedleak.models.layers import BatchNorm

Distance = Callable[[Sequence[Any], Sequence[Any]], Any]


def squared(mine: Sequence[Any], seen: Sequence[Any]) -> Any:
    """Zhu et al. 2019 (deep leakage, arXiv 1906.08935), as a share of the gradient's own square."""
    size = sum(one.pow(2).sum() for one in seen)
    return sum((a - b).pow(2).sum() for a, b in zip(mine, seen, strict=True)) / size


def cosine(mine: Sequence[Any], seen: Sequence[Any]) -> Any:
    """Geiping et al. 2020 (inverting gradients, arXiv 2003.14053): the angle between all tensors as one vector."""
    inner = sum((a * b).sum() for a, b in zip(mine, seen, strict=True))
    lengths = [sum(one.pow(2).sum() for one in side).sqrt() for side in (mine, seen)]
    return 1 - inner / (lengths[0] * lengths[1] + 1e-30)


def kernel(mine: Sequence[Any], seen: Sequence[Any]) -> Any:
    """Wang et al. 2020 (SAPAG, arXiv 2009.06228): 1 - exp(-|difference|^2 / variance) of each tensor. The
    square is a mean here: a sum over thousands of entries leaves exp at 0, and no slope."""
    total: Any = 0.0
    for a, b in zip(mine, seen, strict=True):
        width = b.var(unbiased=False) if b.numel() > 1 else b.pow(2).mean()
        total = total - (-(a - b).pow(2).mean() / (width + 1e-30)).expm1()
    return total / len(seen)


def statistics_off(network: LayeredNetwork, parameters: Mapping[str, Any], inputs: Any) -> Any:
    """Yin et al. 2021 (GradInversion, arXiv 2104.07586): means and variances into every batch norm, from those
    that training has gathered there; 0 without any."""
    value, done, total = inputs, 0, inputs.new_zeros(())
    for place, layer in enumerate(network.layers):
        if not isinstance(layer, BatchNorm):
            continue
        value, done = forward(network, parameters, value, start=done, stop=place), place
        others = [axis for axis in range(value.ndim) if axis != 1]
        mean, variance = value.mean(dim=others), value.var(dim=others, unbiased=False)
        total = total + (mean - parameters[f"{place}.running_mean"]).norm()
        total = total + (variance - parameters[f"{place}.running_var"]).norm()
    return total


def apart(groups: Any) -> Any:
    """Yin et al. 2021, group consistency: how far batches from several starts are from their mean; 0 of one start."""
    return (groups - groups.mean(dim=0, keepdim=True)).pow(2).mean()
