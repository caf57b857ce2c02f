"""A scaler in front of a model, folded into the model's parameters: it then takes unscaled inputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.models.model import Model
from fedleak.models.opaque import OpaqueModel
from fedleak.models.score_models import LinearModel, NetworkModel
from fedleak.models.tree_models import ForestModel, TreeModel


def behind_scaler(model: Model, shift: FloatArray, scale: FloatArray) -> Model:
    """The model of x that equals ``model`` of (x - shift) / scale, scale above 0."""
    if isinstance(model, LinearModel):
        weights = model.weights / scale
        return replace(model, weights=weights, bias=model.bias - weights @ shift)
    if isinstance(model, NetworkModel):
        first = model.weights[0] / scale
        biases = (model.biases[0] - first @ shift, *model.biases[1:])
        return replace(model, weights=(first, *model.weights[1:]), biases=biases)
    if isinstance(model, TreeModel):
        return _tree_behind(model, shift, scale)
    if isinstance(model, ForestModel):
        return replace(model, trees=tuple(_tree_behind(tree, shift, scale) for tree in model.trees))
    if isinstance(model, OpaqueModel):
        return model.behind_scaler(shift, scale)
    raise TypeError(f"no scaler can be folded into {type(model).__name__}")


def _tree_behind(tree: TreeModel, shift: FloatArray, scale: FloatArray) -> TreeModel:
    feature = np.maximum(tree.feature, 0)
    return replace(tree, threshold=tree.threshold * scale[feature] + shift[feature])
