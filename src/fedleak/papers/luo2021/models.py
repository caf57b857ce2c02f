"""The attacked models of the experiments on many predictions, trained on the joint table."""

from __future__ import annotations

from fedleak.audit.randomness import stream
from fedleak.models.model import Model
from fedleak.models.training.logistic import train_logistic
from fedleak.models.training.network import train_network
from fedleak.models.training.trees import train_forest
from fedleak.models.tree import TreeOutput
from fedleak.papers.luo2021.tables import PaperTable
from fedleak.papers.luo2021.trial import Rows
from fedleak.protocols.prediction.settings import PredictionSettings

LR, RF, NN = "LR", "RF", "NN"
SPLIT = (0.6, 0.2, 0.2)  # train, test, predict: the authors' for the attack on many predictions
SETTINGS = PredictionSettings()


def trained(kind: str, table: PaperTable, rows: Rows, seed: int, *, epochs: int, dropout: float = 0.0) -> Model:
    """Logistic regression, forest (100 trees, depth 3, votes) or network (600-300-100)."""
    features, labels = table.features[rows.train], table.labels[rows.train]
    rng = stream(seed, "train", kind, table.name)
    if kind == LR:
        return train_logistic(features, labels, table.columns, table.n_classes, l2=SETTINGS.l2, with_bias=False)
    if kind == RF:
        return train_forest(
            features,
            labels,
            table.columns,
            n_trees=SETTINGS.n_trees,
            depth=SETTINGS.forest_depth,
            output=TreeOutput.ONE_HOT,
            rng=rng,
        )
    return train_network(
        features,
        labels,
        table.columns,
        table.n_classes,
        hidden=SETTINGS.hidden,
        epochs=epochs,
        learning_rate=SETTINGS.learning_rate,
        dropout=dropout,
        rng=rng,
    )
