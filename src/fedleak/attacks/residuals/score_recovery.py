"""The partner's score of every row in every round: the residual less what the coalition knows of it.

Section 4.1 of Li et al. 2021, and eq. 10 of Hu et al. 2022, whose theorem 3.6 grants the adversary exactly this. One
capability with two ways of reading residuals: by the grid on which the opened gradient of an arbiter lies, or, for
models of two classes, row by row from the gradient or from shares that a dishonest member opened.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedleak.attacks.residuals.joint_victim import JointVictim, joint_victim
from fedleak.attacks.residuals.least_norm_scores import least_norm_scores
from fedleak.attacks.residuals.outside_scores import OutsideScores, outside_scores, predict_scores
from fedleak.attacks.residuals.own_side import OWN_PART
from fedleak.attacks.residuals.residual_sign import assess_labels as labels_by_sign
from fedleak.attacks.residuals.trajectory import ReadTrajectory, read_on_the_grid, reads_the_grid
from fedleak.attacks.verdicts import NotIdentified, in_part, unsolved
from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.theory.condition import State, no_noise
from fedleak.theory.residual_equations import ScoreRecovery as ScoreTheorem


class ScoreRecovery(Attack):
    name = "score-recovery"
    aliases = ("partial-score-recovery",)
    summary = "takes the own score and the label off each residual; what remains is the partner's score"
    reference = Reference("li2021", "section 4.1 (also hu2022, eq. 10)")
    requires = OWN_PART
    produces = SecretKind.PARTIAL_SCORES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        victim = joint_victim(view)
        found = _of_the_sum(view)
        return _divided(found, victim) if victim.divided and found.values.size else found

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predict_scores(facts, ScoreTheorem.assess(facts), of_single_rows=True)


def _of_the_sum(view: View) -> Guess:
    """Of all parties outside."""
    if not reads_the_grid(view):
        return _from_residuals(view, outside_scores(view))
    read = read_on_the_grid(view)
    if isinstance(read, NotIdentified):
        return unsolved(view, read, width=1)
    return _from_grid(view, read)


def _divided(found: Guess, victim: JointVictim) -> Guess:
    """One of several: rotations of all columns together change no message, and its share is their mean."""
    status = Status.PARTIAL if found.status is Status.RECOVERED else found.status
    why = f"{found.why}; {victim.how_divided}"
    return replace(found, status=status, values=victim.share * found.values, intervals=None, why=why)


def _from_grid(view: View, read: ReadTrajectory) -> Guess:
    rounds = read.trajectory.rounds
    ids = [
        np.column_stack([np.full(len(step.rows), number), read.ids[step.rows]])
        for number, step in zip(read.round_numbers, rounds, strict=True)
    ]
    return Guess(
        view.target,
        Status.RECOVERED if no_noise(view.facts).state is State.HOLDS else Status.PARTIAL,
        np.concatenate(ids),
        np.concatenate([step.scores for step in rounds])[:, None],
        evidence={
            "rounds": len(rounds),
            "largest condition": read.condition,
            "error of a score": read.trajectory.noise,
            "exact up to the victim's rounding": read.exact,
        },
        why="every batch has as many independent own columns as rows",
    )


def _from_residuals(view: View, found: OutsideScores) -> Guess:
    """A score that the residual or the sigmoid's approximation leaves open is NaN, with the interval it lies in."""
    ids, values, intervals = _cells(found)
    known = np.isfinite(values)
    evidence = {"determined share": float(known.mean()), "labels by the residuals' signs": found.labels_by_sign}
    if not known.any():
        return _undetermined(view, Guess(view.target, Status.UNDETERMINED, ids, values, intervals, evidence=evidence))
    clean = no_noise(view.facts).state is State.HOLDS
    signs_hold = not found.labels_by_sign or labels_by_sign(view.facts).state is State.HOLDS
    one_root = bool((intervals[..., 0] == intervals[..., 1]).all())  # a cubic residual may leave three scores
    status = Status.RECOVERED if known.all() and clean and signs_hold and one_root else Status.PARTIAL
    why = "residual minus own score and label"
    if not signs_hold:
        why += ", which is read off the residuals' signs and not proved"
    return Guess(view.target, status, ids, values, intervals, evidence=evidence, why=why)


def _undetermined(view: View, silent: Guess) -> Guess:
    """No single score is determined, but directions among them are."""
    why = "no batch has as many independent equations as rows, so no score is determined"
    found = least_norm_scores(view)
    if found is None:
        return replace(silent, why=f"{why}; to tell a part takes known labels and residuals linear in the score")
    status = Status.PARTIAL if found.rank else Status.NOT_IDENTIFIABLE
    evidence = {**silent.evidence, "rank": found.rank, "unknowns": found.n_unknowns}
    told = f"{why}; {in_part(found.rank, found.n_unknowns)}"
    return Guess(view.target, status, found.ids, found.values, evidence=evidence, why=told)


def _cells(found: OutsideScores) -> tuple[IntArray, FloatArray, FloatArray]:
    ids = np.concatenate(
        [np.column_stack([np.full(len(r.rows), r.round), found.row_ids[r.rows]]) for r in found.rounds]
    )
    values = np.concatenate([one.scores for one in found.rounds])[:, None]
    low = np.concatenate([one.low for one in found.rounds])
    high = np.concatenate([one.high for one in found.rounds])
    return ids, values, np.stack([low, high], axis=1)[:, None, :]
