"""One attack on one defended run: what it recovers, and what the defense costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fedleak.attacks.predictions.equality_bayes import prior_of_columns
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Status
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.randomness import public_stream
from fedleak.defenses.changed_settings import Dropout
from fedleak.defenses.collaboration_check import CollaborationCheck
from fedleak.metrics.branching_rate import BranchingRate
from fedleak.metrics.cell_metrics import mean_squared_errors, recovered_share
from fedleak.papers.luo2021.served_trial import ACTIVE, PASSIVE, SPLIT, Served, serve, split_rows, target_columns
from fedleak.papers.luo2021.tables import PaperTable
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.trial.attempt import Failure

TRAINING_DEFENSES = (CollaborationCheck, Dropout)  # they change what the model is trained on, or how
Figures = Mapping[str, float]


@dataclass(frozen=True)
class Measured:
    """Figures of one attack in one trial; without any where it says nothing, and then the reason."""

    figures: Figures
    why: str = ""


@dataclass(frozen=True, eq=False)
class DefendedTrial:
    """A trained model, and the same predictions released under one defense after the other."""

    table: PaperTable
    target: tuple[str, ...]
    settings: PredictionSettings
    seed: int
    plain: Served
    everything: IntArray  # rows to train on and to predict

    @classmethod
    def start(
        cls, table: PaperTable, share: float, settings: PredictionSettings, seed: int, most: tuple[int, int]
    ) -> DefendedTrial:
        rows = split_rows(table, seed, SPLIT, (most[0], 0, most[1]))
        everything = np.sort(np.concatenate([rows.train, rows.predict]))
        settings = replace(settings, prediction_share=len(rows.predict) / len(everything))
        target = target_columns(table, seed, share)
        plain = serve(table, everything, target, None, settings, seed=seed)
        return cls(table, target, settings, seed, plain, everything)

    def under(self, defense: Defense | None) -> Served:
        """Trained anew where the defense acts on the training; otherwise the same model and the same rows."""
        if defense is None:
            return self.plain
        if isinstance(defense, TRAINING_DEFENSES):
            return serve(self.table, self.everything, self.target, None, self.settings, seed=self.seed, defense=defense)
        predicted = np.asarray(self.plain.hidden.ids, dtype=np.int64)
        model, seed = self.plain.model, self.seed
        return serve(self.table, predicted, self.target, model, self.settings, seed=seed, defense=defense)


def costs(served: Served) -> dict[str, float]:
    """What the active party still gets: how many predictions, and how many of them are right."""
    found = {"released_share": served.run.utility["released_share"]}
    if "prediction_accuracy" in served.run.utility:
        found["accuracy"] = served.run.utility["prediction_accuracy"]
    return {**found, "columns_kept_out": float(kept_out(served).sum())}


def kept_out(served: Served) -> BoolArray:
    """The victim's columns that vary, but not in what entered the computation."""
    entered = served.inputs[:, served.model.positions(served.target)]
    return np.asarray((np.ptp(entered, axis=0) == 0) & (np.ptp(served.hidden.values, axis=0) > 0))


def attacked(served: Served, attack: Attack, seed: int) -> Measured:
    revealed = served.played.seen_by((ACTIVE,)).capabilities or frozenset()
    missing = sorted(need.value for need in attack.requires - revealed)
    if missing:
        return Measured({}, f"skipped: the defense does not reveal {', '.join(missing)}")
    if served.run.utility["released_share"] == 0:
        return Measured({}, _refusal(served))
    attempt = served.attempt(attack)
    if isinstance(attempt.result, Failure) and attempt.result.skipped:
        return Measured({}, f"skipped: {attempt.result.why}")
    guess = attempt.guess
    if guess.status in (Status.NOT_IDENTIFIABLE, Status.UNDETERMINED):
        return Measured({}, f"{guess.status.value}: {guess.why}")
    return Measured(figures_of(served, guess, seed))


def _refusal(served: Served) -> str:
    n_unknown, n_equations = len(served.target) - int(kept_out(served).sum()), served.model.n_classes - 1
    exact = (
        f": no more unknown columns take part than the {n_equations} equations a row"
        if n_unknown <= n_equations
        else ""
    )
    return f"nothing is released{exact}"


def figures_of(served: Served, guess: Guess, seed: int) -> dict[str, float]:
    """Error of the cells that are guessed; share of all cells within 1 %, where a withheld one is not recovered."""
    answered = served.answered(guess)
    guessed = np.isfinite(answered.answers[0])
    found = {
        "mse": float(mean_squared_errors(answered)[guessed].mean()),
        "within_1_percent": recovered_share(answered),
    }
    rate = BranchingRate().score(answered, rng=public_stream(seed, "bootstrap"))
    return found if rate is None else {**found, "branching_rate": rate.value}


def prior_guess(served: Served) -> FloatArray:
    """What our attacks say of an unknown column before they look at a prediction: it is as the adversary's own are."""
    own = np.setdiff1d(np.arange(len(served.model.columns)), served.model.positions(served.target))
    return prior_of_columns(served.inputs[:, own], len(served.target)).mean


def reference_figures(served: Served, values: FloatArray | float, seed: int) -> dict[str, float]:
    """The same figures for a guess that looks at nothing."""
    truth = served.hidden
    cells = np.broadcast_to(np.asarray(values, dtype=np.float64), truth.values.shape)
    blind = Guess(Secret(SecretKind.FEATURES, PASSIVE), Status.PARTIAL, truth.ids, cells)
    return figures_of(served, blind, seed)
