"""A passive party's partial scores from the active party's own gradient (Li et al. 2021, section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedleak.attacks.expectation import from_assessment
from fedleak.attacks.gram.from_view import ReadTrajectory, read_trajectory
from fedleak.attacks.gram.solution import NotIdentified
from fedleak.attacks.training.outsiders import mixed_scores
from fedleak.core.attack import Attack, Prediction, Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess, Status
from fedleak.core.payload import ScalarValue
from fedleak.core.secret import SecretKind
from fedleak.core.view import View
from fedleak.theory.li2021.score_recovery import ScoreRecovery as ScoreTheorem


class ScoreRecovery(Attack):
    name = "score-recovery"
    summary = "solves the active party's gradient for the residuals, and those for the victim's partial scores"
    reference = Reference("li2021", "section 4.1")
    requires = frozenset(
        {
            Capability.OWN_FEATURES,
            Capability.OWN_WEIGHTS,
            Capability.OWN_GRADIENT,
            Capability.LABELS,
            Capability.BATCH_IDS,
            Capability.LINEAR_RESIDUAL,
        }
    )
    produces = SecretKind.PARTIAL_SCORES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        mixed = mixed_scores(view.facts, view.coalition)
        read = NotIdentified(mixed, 0) if mixed else read_trajectory(view)
        if isinstance(read, NotIdentified):
            return nothing(view, read.why, {"rank": read.rank}, width=1, id_width=2)
        return _guess(view, read)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(ScoreTheorem.assess(facts))


def nothing(view: View, why: str, evidence: Mapping[str, ScalarValue], *, width: int, id_width: int = 1) -> Guess:
    """The answer of an attack that can say why there is none."""
    shape = (0, id_width) if id_width > 1 else (0,)
    ids = np.zeros(shape, dtype=np.int64)
    return Guess(view.target, Status.NOT_IDENTIFIABLE, ids, np.zeros((0, width)), evidence=evidence, why=why)


def _guess(view: View, read: ReadTrajectory) -> Guess:
    rounds = read.trajectory.rounds
    ids = [
        np.column_stack([np.full(len(step.rows), number), read.ids[step.rows]])
        for number, step in zip(read.round_numbers, rounds, strict=True)
    ]
    return Guess(
        view.target,
        Status.RECOVERED,
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
