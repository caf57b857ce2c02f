"""One batch in one party's network: forward, then backward from the gradient by its outputs.

Everything that a party of a federated network computes is this. Arrays go in and come out, in the precision of the
parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.models.joint_training import load_torch
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layered_torch import Tensor, Tensors, arrays_of, batch_loss, forward, tensors_of


class LocalBatch:
    """``cells`` are rows as a party holds them. ``seed`` is that of dropout: the same one keeps the same outputs."""

    def __init__(self, network: LayeredNetwork, cells: FloatArray, *, seed: int = 0) -> None:
        self.network = network
        self._cells = cells
        self._seed = seed

    @cached_property
    def outputs(self) -> AnyArray:
        """(rows, outputs)."""
        return np.asarray(self._forward[2].detach().numpy())

    @cached_property
    def _forward(self) -> tuple[Tensors, Tensor, Tensor]:
        """Parameters, inputs, outputs."""
        parameters = tensors_of(self.network.parameters, wanted=True)
        dtype = np.result_type(*self.network.parameters.values()) if parameters else np.float32
        torch = load_torch("networks")
        inputs = torch.tensor(self.network.inputs_of(self._cells).astype(dtype)).requires_grad_()
        generator = torch.Generator().manual_seed(self._seed)
        return parameters, inputs, forward(self.network, parameters, inputs, generator=generator)

    def back(self, upstream: AnyArray) -> dict[str, AnyArray]:
        """The gradient by every parameter, in the network's order, of what has this gradient by the outputs."""
        return self._back(self._tensor(upstream))

    def back_to_inputs(self, upstream: AnyArray) -> AnyArray:
        """The gradient by every row's inputs, channels first."""
        return np.asarray(self._differentiated([self._forward[1]], self._tensor(upstream))[0].numpy())

    def _back(self, upstream: Tensor) -> dict[str, AnyArray]:
        order = self.network.parameter_order
        found = self._differentiated([self._forward[0][name] for name in order], upstream)
        return arrays_of(dict(zip(order, found, strict=True)))

    def _differentiated(self, by: list[Tensor], upstream: Tensor) -> Any:
        return load_torch("networks").autograd.grad(self._forward[2], by, upstream, retain_graph=True)

    def _tensor(self, upstream: AnyArray) -> Tensor:
        return load_torch("networks").tensor(np.asarray(upstream)).to(self._forward[2].dtype)

    def each_back(self, upstream: AnyArray) -> Iterator[dict[str, AnyArray]]:
        """What every row contributes to ``back``: they add up to it."""
        whole = self._tensor(upstream)
        for row in range(len(whole)):
            alone = load_torch("networks").zeros_like(whole)
            alone[row] = whole[row]
            yield self._back(alone)


@dataclass(frozen=True, eq=False)
class Backward:
    """What a party computes its gradient from; a defense that replaces the computation gets this."""

    batch: LocalBatch
    upstream: AnyArray  # (rows, outputs): the gradient of the mean loss by the outputs

    def gradient(self) -> dict[str, AnyArray]:
        return self.batch.back(self.upstream)

    def of_each_row(self) -> Iterator[dict[str, AnyArray]]:
        return self.batch.each_back(self.upstream)


def loss_gradient(scores: AnyArray, labels: IntArray) -> tuple[float, AnyArray]:
    """The mean loss of a batch and its gradient by the scores."""
    torch = load_torch("networks")
    tensor = torch.tensor(np.asarray(scores)).requires_grad_()
    loss: Any = batch_loss(tensor, torch.tensor(labels))
    loss.backward()
    return float(loss.detach()), np.asarray(tensor.grad.numpy())
