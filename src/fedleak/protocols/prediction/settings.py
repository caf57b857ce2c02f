"""Settings of the prediction protocol."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.errors import InputError
from fedleak.core.settings import Settings, setting

MODELS = ("logistic", "tree", "forest", "network", "opaque")
REVEALS = ("model", "nothing", "contributions")
OUTPUTS = ("one-hot", "fractions")


@dataclass(frozen=True)
class PredictionSettings(Settings):
    model: str = setting(
        "logistic",
        "the model that is trained and served; opaque: an object of yours, served by fedleak.adapters.own_model",
        choices=MODELS,
    )
    model_file: str = setting("", "a model of your own, saved by fedleak.models.file.save_model; served as it is")
    prediction_share: float = setting(
        0.2, "share of the rows that are predicted and not trained on; 1 where no model is trained", unit="0 to 1"
    )
    reveal: str = setting(
        "model",
        "what the active party gets besides the confidences: the model, nothing, or each column's contribution",
        choices=REVEALS,
    )
    unit_box: bool = setting(True, "everybody knows that every column lies between 0 and 1 (minmax scaling)")
    n_classes: int = setting(0, "number of classes, for `check`, which reads no labels; 0 is unknown")
    l2: float = setting(1e-5, "logistic: weight of the squared parameters, per row")
    with_bias: bool = setting(False, "logistic: whether each class has a bias")
    tree_depth: int = setting(5, "tree: largest depth", unit="levels")
    forest_depth: int = setting(3, "forest: largest depth", unit="levels")
    n_trees: int = setting(100, "forest: number of trees", unit="trees")
    tree_output: str = setting(
        "one-hot", "tree and forest: confidences of a leaf, one-hot votes or fractions of classes", choices=OUTPUTS
    )
    hidden: tuple[int, ...] = setting((600, 300, 100), "network: neurons of the hidden layers", unit="neurons")
    epochs: int = setting(60, "network: passes over the training rows", unit="epochs")
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
