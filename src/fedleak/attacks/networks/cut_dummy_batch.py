"""A dummy batch of a network that is cut between workers: whole pictures, of which each worker holds a part.

Rivals of CAFE match the gradients of all workers and of the top at once (Jin et al. 2021, section 4.1). Labels are
unknowns, or read off the gradient of the top's last bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.attacks.networks.cut_view import CutView
from fedleak.attacks.networks.dense_top import softmax
from fedleak.attacks.networks.dummy_batch import Dummies, Objective
from fedleak.attacks.networks.input_matching import total_variation
from fedleak.attacks.networks.label_counts import NEUTRAL, label_counts
from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.core.payload import Array, Tree
from fedleak.core.view import View
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layered_torch import outputs_of, tensors_of, vertical_gradients
from fedleak.protocols.networks.vocabulary import TOP_GRADIENTS

PRECISION = "float32"  # as gradients are sent


@dataclass(frozen=True, eq=False)
class CutGradients:
    """Of the first batch: by worker and parameter, and of the top. Workers' parts are alike in shape."""

    bottoms: dict[str, LayeredNetwork]
    top: LayeredNetwork
    of_bottoms: dict[str, dict[str, AnyArray]]
    of_top: dict[str, AnyArray]
    n_rows: int

    @property
    def labels(self) -> IntArray | None:
        """In the order of the classes; None where whole numbers do not add up to the batch."""
        last = self.of_top[f"{len(self.top.layers) - 1}.bias"].astype(np.float64)
        if self.n_rows == 1:
            return np.array([int(np.argmin(last))])
        counts = label_counts(last, self._neutral_prediction(), self.n_rows)
        return None if counts is None else counts.labels

    def _neutral_prediction(self) -> FloatArray:
        made = [outputs_of(one, np.full((1, *one.input_shape), NEUTRAL)) for one in self.bottoms.values()]
        return np.asarray(softmax(outputs_of(self.top, np.hstack(made)).astype(np.float64))[0])


def first_gradients(view: View) -> CutGradients:
    """What the server has of the first batch."""
    seen = CutView(view)
    workers = {name: CutView(view, name) for name in seen.bottoms.items}
    of_top = next(message.payload for message in view.at(TOP_GRADIENTS))
    assert isinstance(of_top, Tree)
    return CutGradients(
        {name: one.network for name, one in workers.items()},
        seen.top,
        {name: next(one.gradients()) for name, one in workers.items()},
        {name: np.asarray(part.values) for name, part in of_top.items.items() if isinstance(part, Array)},
        int(seen.batches.sizes[0]),
    )


class CutDummyBatch(Dummies):
    """Inputs are (rows, workers, channels, height, width)."""

    def __init__(self, seen: CutGradients, objective: Objective, labels: IntArray | None) -> None:
        self._bottoms, self._top = seen.bottoms, seen.top
        self._parameters = {
            name: tensors_of(one.parameters, dtype=PRECISION, wanted=True) for name, one in seen.bottoms.items()
        }
        self._top_parameters = tensors_of(seen.top.parameters, dtype=PRECISION, wanted=True)
        sent = [seen.of_bottoms[name][part] for name, one in seen.bottoms.items() for part in one.parameter_order]
        sent += [seen.of_top[part] for part in seen.top.parameter_order]
        tensors = list(tensors_of({str(place): one for place, one in enumerate(sent)}, dtype=PRECISION).values())
        part = next(iter(seen.bottoms.values())).input_shape
        row = (len(seen.bottoms), *part)
        super().__init__(tensors, objective, row, seen.top.output_shape[0], seen.n_rows, labels)

    def _made(self, inputs: Any, labels: Any) -> list[Any]:
        parts = {name: inputs[:, place] for place, name in enumerate(self._bottoms)}
        of_bottoms, of_top = vertical_gradients(
            self._bottoms, self._top, self._parameters, self._top_parameters, parts, labels, differentiable=True
        )
        return [part for one in of_bottoms.values() for part in one.values()] + list(of_top.values())

    def _beside(self, inputs: Any) -> Any:
        smooth = self._objective.smooth
        return smooth * total_variation(inputs.flatten(0, 2)).mean() if smooth else 0.0
