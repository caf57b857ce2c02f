"""One trial: columns permuted, a model trained, predictions served, a view taken; and what blind guesses score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess
from fedleak.core.knowledge import Knowledge, KnownColumn
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.randomness import Randomness, public_stream
from fedleak.core.whole.run import Run
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.cell_metrics import mean_squared_errors
from fedleak.metrics.metric import Answered
from fedleak.models.interpret import interpret
from fedleak.models.joint_training import train_forest, train_logistic, train_network
from fedleak.models.model import Model
from fedleak.models.tree_models import TreeOutput
from fedleak.papers.dealing import deal_columns
from fedleak.papers.luo2021.tables import PaperTable, column_steps
from fedleak.protocols.prediction import vocabulary as prediction
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.protocols.prediction.vertical_prediction import VerticalPrediction
from fedleak.trial.attempt import Attempt
from fedleak.trial.play import Played, play

ACTIVE, PASSIVE = "active party", "passive party"
LR, RF, NN = "LR", "RF", "NN"
SPLIT = (0.6, 0.2, 0.2)  # train, test, predict: the authors' for the attack on many predictions
SETTINGS = PredictionSettings()
# What an attack has to beat: the paper's two random guesses, the constant 0.5, and the true column mean.
UNIFORM, GAUSSIAN, HALF = "uniform guess", "gaussian guess", "constant 0.5"
COLUMN_MEAN = "column mean (unknown to the attacker)"


Most = tuple[int | None, int | None, int | None]  # rows to train on, to test on, to predict; None: all of their share


@dataclass(frozen=True, eq=False)
class Rows:
    """Positions in the table: to train on, to measure accuracy on, to predict."""

    train: IntArray
    test: IntArray
    predict: IntArray


@dataclass(frozen=True, eq=False)
class Served:
    played: Played
    model: Model
    target: tuple[str, ...]
    knowledge: Knowledge  # feature types: in which steps a column moves

    @property
    def run(self) -> Run:
        return self.played.run

    @property
    def hidden(self) -> SecretValues:
        return self.run.truth.of(Secret(SecretKind.FEATURES, PASSIVE))

    def attempt(self, attack: Attack, *, repeat: int = 0) -> Attempt:
        """The active party's; attacks of one name draw the same."""
        target = Secret(attack.produces, PASSIVE)
        return self.played.attempt(attack, (ACTIVE,), target, self.knowledge, scores=False, repeat=repeat)

    def answered(self, guess: Guess) -> Answered:
        """The active party's guess, beside the truth; it knows no cell, and nothing is forgiven."""
        truth = self.run.truth
        return Answered(guess, truth.of(guess.secret), Knowledge(), served=truth.served_to((ACTIVE,)))

    def errors(self, guess: Guess) -> FloatArray:
        """Squared errors of all cells (eq. 10); where nothing is guessed, of the column's mean."""
        return mean_squared_errors(self.answered(guess))

    def mse(self, attack: Attack) -> float:
        return float(self.errors(self.attempt(attack).guess).mean())

    def full_rows(self, hidden: FloatArray) -> FloatArray:
        """Rows for the model: the active party's columns and the given values of the passive party's."""
        inputs = self.inputs.copy()
        inputs[:, self.model.positions(self.target)] = hidden
        return inputs

    @property
    def inputs(self) -> FloatArray:
        table = next(r.value for r in self.run.locals[prediction.JOINT_COMPUTATION] if r.name == prediction.INPUTS.name)
        return np.asarray(table.values)  # type: ignore[union-attr]


def split_rows(table: PaperTable, seed: int, shares: tuple[float, float, float], most: Most) -> Rows:
    """Random rows for each use, by the authors' shares, at most so many of each."""
    order = public_stream(seed, "rows", table.name).permutation(len(table.labels))
    ends = np.cumsum([int(share * len(order)) for share in shares])
    parts = np.split(order, ends[:2])
    train, test, predict = (np.sort(part[:limit]) for part, limit in zip(parts, most, strict=True))
    return Rows(train, test, predict)


def target_columns(table: PaperTable, seed: int, share: float) -> tuple[str, ...]:
    """The last columns of a random permutation, at least one."""
    order = public_stream(seed, "columns", table.name).permutation(len(table.columns))
    n_target = max(1, round(share * len(order)))
    return tuple(table.columns[i] for i in order[-n_target:])


def serve(
    table: PaperTable,
    rows: IntArray,
    target: Sequence[str],
    model: Model | None,
    settings: PredictionSettings,
    *,
    seed: int,
    defense: Defense | None = None,
) -> Served:
    """Serve the predictions of some rows with a ready model, with a defense where one is given.

    Without a model the run trains one, as the settings say, on the rows that it does not predict.
    """
    theirs = np.array([table.columns.index(name) for name in target], dtype=np.int64)
    shares = {ACTIVE: np.setdiff1d(np.arange(len(table.columns)), theirs), PASSIVE: theirs}
    parties = deal_columns(table.features, table.columns, table.labels, shares, rows=rows)
    federation = Federation(VerticalPrediction.name, parties, settings)
    played = play(
        federation, Randomness.published(seed, "luo2021"), defense=defense, protocol=VerticalPrediction(model)
    )
    assert played.run.truth.served is not None
    served_model = model or interpret(played.run.truth.served.model)
    return Served(played, served_model, tuple(target), _feature_types(table, target))


def _feature_types(table: PaperTable, names: Sequence[str]) -> Knowledge:
    steps = column_steps(table)
    return Knowledge(
        columns=tuple(KnownColumn(PASSIVE, name, step=s.step, slack=s.slack) for name in names if (s := steps[name]))
    )


def trained(kind: str, table: PaperTable, rows: Rows, seed: int, *, epochs: int, dropout: float = 0.0) -> Model:
    """Logistic regression, forest (100 trees, depth 3, votes) or network (600-300-100)."""
    features, labels = table.features[rows.train], table.labels[rows.train]
    rng = public_stream(seed, "train", kind, table.name)
    if kind == LR:
        return logistic(table, rows)
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


def logistic(table: PaperTable, rows: Rows) -> Model:
    """Trained to convergence, without bias, as in the authors' code."""
    return train_logistic(
        table.features[rows.train],
        table.labels[rows.train],
        table.columns,
        table.n_classes,
        l2=SETTINGS.l2,
        with_bias=False,
    )


def reference_errors(truth: SecretValues, rng: np.random.Generator) -> dict[str, float]:
    """MSE per feature on the unit interval. The Gaussian is N(0.5, 0.25^2), as in section VI-A."""
    values = truth.values

    def error(guess: FloatArray | float) -> float:
        return float(np.mean((guess - values) ** 2))

    return {
        UNIFORM: error(rng.random(values.shape)),
        GAUSSIAN: error(rng.normal(0.5, 0.25, values.shape)),
        HALF: error(0.5),
        COLUMN_MEAN: error(values.mean(axis=0)),
    }
