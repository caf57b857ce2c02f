"""The model that is served: trained on the joint table, or read from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import InputError
from fedleak.models import opaque
from fedleak.models.file import load_model
from fedleak.models.forest import ForestModel
from fedleak.models.model import Model
from fedleak.models.training.logistic import train_logistic
from fedleak.models.training.network import train_network
from fedleak.models.training.trees import train_forest, train_tree
from fedleak.models.tree import TreeModel, TreeOutput
from fedleak.protocols.prediction.settings import PredictionSettings


def served_model(
    settings: PredictionSettings,
    rows: FloatArray,
    labels: IntArray,
    columns: tuple[str, ...],
    rng: np.random.Generator,
) -> Model:
    if settings.model_file:
        return _checked(load_model(Path(settings.model_file)), settings)
    if settings.model == opaque.KIND:
        raise InputError(
            'model must be one that a scenario can train or read from a file; got "opaque": serve the object with '
            "fedleak.adapters.own_model.audit_model"
        )
    if not len(rows):
        raise InputError(
            "prediction_share must be below 1 where a model is trained (1 only with a model_file); "
            f"got {settings.prediction_share}"
        )
    n_classes = int(labels.max()) + 1
    output = TreeOutput(settings.tree_output)
    if settings.model == "logistic":
        return train_logistic(rows, labels, columns, n_classes, l2=settings.l2, with_bias=settings.with_bias)
    if settings.model == "tree":
        return train_tree(rows, labels, columns, depth=settings.tree_depth, output=output, rng=rng)
    if settings.model == "forest":
        return train_forest(
            rows, labels, columns, n_trees=settings.n_trees, depth=settings.forest_depth, output=output, rng=rng
        )
    return train_network(
        rows,
        labels,
        columns,
        n_classes,
        hidden=settings.hidden,
        epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        dropout=settings.dropout,
        rng=rng,
    )


def _checked(model: Model, settings: PredictionSettings) -> Model:
    """The settings say publicly which kind of model is served: the file must hold that kind."""
    kinds = {"linear": "logistic", "tree": "tree", "forest": "forest", "network": "network"}
    found = kinds[model.to_spec().kind]
    if found != settings.model:
        raise InputError(f'model must be "{found}" for {settings.model_file}; got "{settings.model}"')
    if isinstance(model, TreeModel | ForestModel) and model.output.value != settings.tree_output:
        raise InputError(f'tree_output must be "{model.output.value}" for {settings.model_file}')
    return model
