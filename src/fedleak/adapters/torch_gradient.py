"""A gradient of somebody's own torch module, written to a file that ``fedleak audit`` takes.

    loss.backward()
    fedleak.save_gradient(module, "gradient.npz", input_shape=(3, 32, 32))

Gradients as the server received them go in by name: ``save_gradient(module, path, gradients=received, ...)``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray
from fedleak.core.errors import InputError, nearest_or_list
from fedleak.models.layered_modules import layered_from_torch, parameter_names_of
from fedleak.protocols.captured.gradient_file import OneGradient, write_gradient


def save_gradient(
    module: Any,
    path: str | os.PathLike[str],
    *,
    input_shape: Sequence[int],
    gradients: Mapping[str, Any] | None = None,
    batch_size: int | None = None,
) -> None:
    """``module``: a torch ``Sequential`` with the parameters that the gradient was computed at, nested or not.

    ``input_shape`` is that of one sample: (channels, height, width) or (columns,). ``gradients`` are by the names of
    ``module.named_parameters()``; without them, what ``backward`` left in the module is taken. The loss must have been
    softmax cross-entropy, the mean over the batch. ``batch_size`` where the server knows it.
    """
    network, ours = layered_from_torch(module, input_shape), parameter_names_of(module)
    given = _left_by_backward(module) if gradients is None else dict(gradients)
    for name in given:
        if name not in ours:
            raise InputError(
                f"gradients must be of the module's parameters; got {name!r}{nearest_or_list(name, list(ours))}"
            )
    missing = [name for name in ours if name not in given]
    if missing:
        raise InputError(f"gradients must have one for each parameter; {missing[0]!r} has none")
    by_own = {own: _numbers(given[name]) for name, own in ours.items()}
    ordered = {name: by_own[name] for name in network.parameter_order}
    write_gradient(OneGradient(network, ordered, batch_size), Path(path))


def _left_by_backward(module: Any) -> dict[str, Any]:
    return {name: tensor.grad for name, tensor in module.named_parameters() if tensor.grad is not None}


def _numbers(gradient: Any) -> AnyArray:
    """Of a tensor on any device, or of anything that numpy takes."""
    found = gradient.detach().cpu().numpy() if hasattr(gradient, "detach") else gradient
    return np.array(found)
