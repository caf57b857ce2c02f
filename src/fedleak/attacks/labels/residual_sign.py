"""Labels from the sign of recovered residuals (Hu et al. 2022, criterion 4.2).

While every score is below 2 in absolute value, the residual theta x / 4 - y / 2 has the sign of -y.
Scores start small and grow with the rounds, so each row is judged by its first residual.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.own_gradient import batch_systems, solve
from fedleak.attacks.prediction import from_assessment
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Prediction, Reference, Verdict
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess, Status
from fedleak.core.secret import SecretKind
from fedleak.core.view import View
from fedleak.theory.condition import State
from fedleak.theory.hu2022.label_by_sign import LabelBySign, safe_rounds
from fedleak.theory.hu2022.unique_residuals import batch_within_columns


class ResidualSign(Attack):
    name = "residual-sign"
    aliases = ("criterion-4.2",)
    summary = "reads each label off the sign of the row's first residual"
    reference = Reference("hu2022", "criterion 4.2")
    requires = frozenset({Capability.OWN_FEATURES, Capability.OWN_GRADIENT, Capability.BATCH_IDS})
    produces = SecretKind.LABELS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        first: dict[int, tuple[int, float]] = {}
        for system in batch_systems(view):
            solved = solve(system)
            for row, residual in zip(solved.ids, solved.residuals, strict=True):
                if np.isfinite(residual) and int(row) not in first:
                    first[int(row)] = (solved.round, float(residual))
        return _guess(view, first)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        too_few = batch_within_columns(facts).state is State.FAILS
        # Where another condition fails the theorem is silent: signs may still be right, with noise or without.
        if_fails = Verdict.IMPOSSIBLE if too_few else Verdict.UNKNOWN
        return from_assessment(LabelBySign.assess(facts), if_fails=if_fails)


def _guess(view: View, first: dict[int, tuple[int, float]]) -> Guess:
    ids = np.array(sorted(first), dtype=np.int64)
    rounds = np.array([first[int(row)][0] for row in ids])
    residuals = np.array([first[int(row)][1] for row in ids])
    safe = _safe_rounds(view.facts)
    evidence = {"rows judged": len(ids), "safe rounds T": safe, "last round used": int(rounds.max(initial=-1))}
    if not len(ids):
        why = "no batch has as many independent own columns as rows, so no residual is determined"
        return Guess(view.target, Status.NOT_IDENTIFIABLE, ids, np.empty((0, 1)), evidence=evidence, why=why)
    return Guess(
        view.target,
        Status.RECOVERED if safe is not None and rounds.max() < safe else Status.PARTIAL,
        ids,
        (residuals < 0).astype(float)[:, None],
        confidence=_confidence(residuals, rounds, safe)[:, None],
        evidence=evidence,
        why="a negative residual means label 1 while every score is below 2 in absolute value",
    )


def _safe_rounds(facts: Facts) -> int | None:
    if facts.learning_rate is None or facts.max_row_norm is None or facts.initialisation != "zero":
        return None
    return safe_rounds(facts.learning_rate, 0.0, facts.max_row_norm)


def _confidence(residuals: FloatArray, rounds: FloatArray, safe: int | None) -> FloatArray:
    """1 where the theorem vouches for the sign; else by distance from zero (at zero weights it is 1/2)."""
    by_distance = 0.5 + 0.5 * np.minimum(np.abs(residuals) / 0.5, 1.0)
    return np.where(rounds < safe, 1.0, by_distance) if safe is not None else by_distance
