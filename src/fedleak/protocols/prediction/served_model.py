"""The model that is served: its settings, where it comes from, and what is revealed of it.

It is trained on the joint table or read from a file. The active party may get each column's contribution in place of
the model; an opaque model, which cannot be stored, is revealed as a service that answers about any rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import InputError, OracleError
from fedleak.core.oracle import Answer, OracleSpec, Service
from fedleak.core.payload import Array, Payload
from fedleak.core.transcript import Message
from fedleak.core.whole.federation import Settings, setting
from fedleak.models import opaque
from fedleak.models.boosted_model import BOOSTED_KIND
from fedleak.models.joint_training import train_forest, train_logistic, train_network, train_tree
from fedleak.models.model import Model
from fedleak.models.model_files import read_model_file
from fedleak.models.opaque import SERVICE, OpaqueModel
from fedleak.models.score_models import LinearModel, Link
from fedleak.models.tree_models import ForestModel, TreeModel, TreeOutput
from fedleak.protocols.prediction import vocabulary as prediction

MODELS = ("logistic", "tree", "forest", "network", "boosted", "opaque")
REVEALS = ("model", "nothing", "contributions")
OUTPUTS = ("one-hot", "fractions")
SERVED_AS = {  # a model's kind, as it is stored, and as settings name it
    "linear": "logistic",
    "tree": "tree",
    "forest": "forest",
    "network": "network",
    "boosted": "boosted",
    "opaque": "opaque",
}


@dataclass(frozen=True)
class PredictionSettings(Settings):
    model: str = setting(
        "logistic",
        "the model that is trained and served; boosted: from a model_file; opaque: an object of yours, by audit_model",
        choices=MODELS,
    )
    model_file: str = setting("", "a model of your own, saved by XGBoost, LightGBM or fedleak; served as it is")
    prediction_share: float = setting(
        0.2,
        "share of the rows that are predicted and not trained on; 1 where no model is trained",
        unit="0 to 1",
        tells_less="fewer",
    )
    reveal: str = setting(
        "model",
        "what the active party gets besides the confidences: the model, nothing, or each column's contribution",
        choices=REVEALS,
        tells_less="other",
    )
    unit_box: bool = setting(True, "everybody knows that every column lies between 0 and 1 (minmax scaling)")
    n_classes: int = setting(0, "number of classes, for `check`, which reads no labels; 0 is unknown")
    l2: float = setting(1e-5, "logistic: weight of the squared parameters, per row", tells_less="more")
    with_bias: bool = setting(False, "logistic: whether each class has a bias", tells_less="other")
    tree_depth: int = setting(5, "tree: largest depth", unit="levels", tells_less="fewer")
    forest_depth: int = setting(3, "forest: largest depth", unit="levels", tells_less="fewer")
    n_trees: int = setting(100, "forest: number of trees", unit="trees", tells_less="fewer")
    tree_output: str = setting(
        "one-hot", "tree and forest: confidences of a leaf, one-hot votes or fractions of classes", choices=OUTPUTS
    )
    hidden: tuple[int, ...] = setting((600, 300, 100), "network: neurons of the hidden layers", unit="neurons")
    epochs: int = setting(60, "network: passes over the training rows", unit="epochs", tells_less="fewer")
    learning_rate: float = setting(1e-3, "network: Adam's step size")
    dropout: float = setting(0.0, "network: share of neurons left out while training", unit="0 to 1")

    def __post_init__(self) -> None:
        for name, choices in (("model", MODELS), ("reveal", REVEALS), ("tree_output", OUTPUTS)):
            if getattr(self, name) not in choices:
                raise InputError(f"{name} must be one of {', '.join(choices)}; got {getattr(self, name)!r}")
        for name in ("tree_depth", "forest_depth", "n_trees", "epochs"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be 1 or more; got {getattr(self, name)}")
        if not 0 < self.prediction_share <= 1:
            raise InputError(f"prediction_share must be above 0 and at most 1; got {self.prediction_share}")
        if not self.l2 > 0 or not self.learning_rate > 0:
            raise InputError(f"l2 and learning_rate must be above 0; got {self.l2} and {self.learning_rate}")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must be at least 0 and below 1; got {self.dropout}")
        if any(width < 1 for width in self.hidden):
            raise InputError(f"hidden must be whole numbers from 1 on; got {self.hidden}")


def served_model(
    settings: PredictionSettings,
    rows: FloatArray,
    labels: IntArray,
    columns: tuple[str, ...],
    rng: np.random.Generator,
) -> Model:
    if settings.model_file:
        return _checked(read_model_file(Path(settings.model_file)), settings)
    if settings.model in (opaque.KIND, BOOSTED_KIND):
        raise InputError(
            f'model must be one that a scenario can train or read from a model_file; got "{settings.model}": serve an '
            "object with fedleak.adapters.own_model.audit_model"
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
    found = kind_served(model, settings.model_file)
    if found != settings.model:
        raise InputError(f'model must be "{found}" for {settings.model_file}; got "{settings.model}"')
    if isinstance(model, TreeModel | ForestModel) and model.output.value != settings.tree_output:
        raise InputError(f'tree_output must be "{model.output.value}" for {settings.model_file}')
    return model


def kind_served(model: Model, place: str) -> str:
    """As the setting ``model`` names it."""
    kind = model.to_spec().kind
    if kind not in SERVED_AS:
        raise InputError(f"{place} must hold a model that gives confidences for rows of a table; got a {kind} one")
    return SERVED_AS[kind]


def contributions(model: Model, rows: FloatArray, confidences: FloatArray) -> FloatArray:
    """theta_kj (x_j - mean x_j) for the predicted class k, its parameters taken against the classes' mean.

    These are the Shapley values of the score of a linear model with independent columns; they sum to the score's
    distance from its average.
    """
    if not isinstance(model, LinearModel):
        raise InputError(f'reveal = "contributions" must go with a logistic model; got {type(model).__name__}')
    weights = np.vstack([-model.weights, model.weights]) if model.link is Link.SIGMOID else model.weights
    relative = weights - weights.mean(axis=0)
    predicted = np.argmax(np.nan_to_num(confidences), axis=1)
    result: FloatArray = relative[predicted] * (rows - rows.mean(axis=0))
    return result


def model_service(model: OpaqueModel, client: str) -> Service:
    """The holder of an opaque model may ask it about any rows."""
    width = len(model.columns)
    spec = OracleSpec(
        SERVICE,
        input=f"rows in the {width} columns of the model, as an array",
        answer=f"the confidences of {model.n_classes} classes for each row",
    )

    def serve(query: Payload) -> Answer:
        if not isinstance(query, Array) or query.values.ndim != 2 or query.values.shape[1] != width:
            raise OracleError(f"a query to {spec.name} must be rows of {width} numbers")
        try:
            confidences = model.confidences(np.asarray(query.values, dtype=np.float64))
        except InputError as error:  # on rows of the adversary's choice: its attack failed, not the audit
            raise OracleError(str(error)) from error
        message = Message(prediction.CONFIDENCES.name, 0, prediction.JOINT_COMPUTATION, client, Array(confidences))
        return Answer((message,))

    return Service(prediction.JOINT_COMPUTATION, (client,), spec, serve)
