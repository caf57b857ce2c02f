"""One trial: columns permuted, a model trained, predictions served, a view taken; and what blind guesses score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess
from fedleak.core.facts import Facts
from fedleak.core.knowledge import Knowledge, KnownColumn
from fedleak.core.steps import Role
from fedleak.core.view import View
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.run import MemorySink, Run
from fedleak.core.whole.truth import SecretValues
from fedleak.models.interpret import interpret
from fedleak.models.joint_training import train_forest, train_logistic, train_network
from fedleak.models.model import Model
from fedleak.models.tree_models import TreeOutput
from fedleak.papers.luo2021.tables import PaperTable, column_steps
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.protocols.prediction.vertical_prediction import VerticalPrediction
from fedleak.trial.randomness import stream

ACTIVE, PASSIVE = "active party", "passive party"
LR, RF, NN = "LR", "RF", "NN"
SPLIT = (0.6, 0.2, 0.2)  # train, test, predict: the authors' for the attack on many predictions
SETTINGS = PredictionSettings()
# What an attack has to beat: the paper's two random guesses, the constant 0.5, and the true column mean.
UNIFORM, GAUSSIAN, HALF = "uniform guess", "gaussian guess", "constant 0.5"
COLUMN_MEAN = "column mean (unknown to the attacker)"


@dataclass(frozen=True, eq=False)
class Rows:
    """Positions in the table: to train on, to measure accuracy on, to predict."""

    train: IntArray
    test: IntArray
    predict: IntArray


@dataclass(frozen=True, eq=False)
class Served:
    run: Run
    facts: Facts
    model: Model
    target: tuple[str, ...]
    knowledge: Knowledge  # feature types: in which steps a column moves

    @property
    def hidden(self) -> SecretValues:
        return self.run.truth.of(Secret(SecretKind.FEATURES, PASSIVE))

    def view(self, kind: SecretKind) -> View:
        return self.run.view((ACTIVE,), Secret(kind, PASSIVE), self.facts, knowledge=self.knowledge)

    def attack(self, attack: Attack, seed: int) -> Guess:
        """The attack's answer; its randomness depends on the seed and its name alone."""
        return attack.run(self.view(attack.produces), rng=stream(seed, "attack", attack.name))

    def full_rows(self, hidden: FloatArray) -> FloatArray:
        """Rows for the model: the active party's columns and the given values of the passive party's."""
        inputs = self.inputs.copy()
        inputs[:, self.model.positions(self.target)] = hidden
        return inputs

    @property
    def inputs(self) -> FloatArray:
        table = next(r.value for r in self.run.locals["joint computation"] if r.name == "inputs")
        return np.asarray(table.values)  # type: ignore[union-attr]


def split_rows(table: PaperTable, seed: int, shares: tuple[float, float, float], most: tuple[int, int, int]) -> Rows:
    """Random rows for each use, by the authors' shares, at most so many of each."""
    order = stream(seed, "rows", table.name).permutation(len(table.labels))
    ends = np.cumsum([int(share * len(order)) for share in shares])
    parts = np.split(order, ends[:2])
    train, test, predict = (np.sort(part[:limit]) for part, limit in zip(parts, most, strict=True))
    return Rows(train, test, predict)


def target_columns(table: PaperTable, seed: int, share: float) -> tuple[str, ...]:
    """The last columns of a random permutation, at least one."""
    order = stream(seed, "columns", table.name).permutation(len(table.columns))
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
    wanted = set(target)
    own = tuple(name for name in table.columns if name not in wanted)
    parties = tuple(
        Party(name, role, columns, Slice(rows, _columns(table, rows, columns), labels))
        for name, role, columns, labels in (
            (ACTIVE, Role.ACTIVE, own, table.labels[rows]),
            (PASSIVE, Role.PASSIVE, tuple(target), None),
        )
    )
    federation = Federation(VerticalPrediction.name, parties, settings)
    hooks: tuple[Any, ...] = ()
    if defense is not None:
        federation = defense.configure(federation)
        hooks = defense.hooks(federation)
    protocol = VerticalPrediction(model)
    run = protocol.run(federation, rng=stream(seed, "protocol"), hooks=hooks, sink=MemorySink())
    facts = run.transcript.facts if defense is None else defense.declare(run.transcript.facts)
    capabilities = protocol.reveals(federation.settings, facts.parties, (ACTIVE,))
    steps = column_steps(table)
    known = tuple(KnownColumn(PASSIVE, name, step=s.step, slack=s.slack) for name in target if (s := steps[name]))
    seen = facts.seen_by((ACTIVE,), capabilities)
    assert run.truth.served is not None
    served_model = model or interpret(run.truth.served.model)
    return Served(run, seen, served_model, tuple(target), Knowledge(columns=known))


def _columns(table: PaperTable, rows: IntArray, names: Sequence[str]) -> FloatArray:
    return table.features[np.ix_(rows, np.array([table.columns.index(name) for name in names], dtype=np.int64))]


def trained(kind: str, table: PaperTable, rows: Rows, seed: int, *, epochs: int, dropout: float = 0.0) -> Model:
    """Logistic regression, forest (100 trees, depth 3, votes) or network (600-300-100)."""
    features, labels = table.features[rows.train], table.labels[rows.train]
    rng = stream(seed, "train", kind, table.name)
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
