"""Labels from the sign of recovered residuals (Hu et al. 2022, criterion 4.2).

While every score is below 2 in absolute value, the residual theta x / 4 - y / 2 has the sign of -y. Scores start small
and grow with the rounds, so each row is judged by its first residual. Under noise of a known deviation all of
a row's residuals are added up instead: the noise is fresh in every round, the label is not. Through packed products the
same holds for batches beyond the own features (section 5.2).
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from fedleak.attacks.residuals.batch_residuals import (
    approximation_in,
    approximation_of,
    first_known,
    solved_batches,
    sum_known,
)
from fedleak.attacks.residuals.batch_systems import AGREEING, SolvedBatch, proof_of
from fedleak.attacks.residuals.outside_bounds import contradicts_bound
from fedleak.attacks.residuals.own_side import OwnScore
from fedleak.attacks.verdicts import (
    PACKED_DEVIATION,
    PACKED_REQUIRES,
    from_assessment,
    last_batch_alone,
    predict_packed,
)
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.payload import Array
from fedleak.core.steps import DATA_ROLES
from fedleak.core.view import View
from fedleak.models.sigmoid import Approximation
from fedleak.protocols.linear import vocabulary as linear
from fedleak.theory.condition import Assessment, State, no_noise
from fedleak.theory.label_signs import (
    LabelBySign,
    ManyParties,
    SmallInitialisation,
    first_score_bound,
    growth,
    safe_rounds,
)
from fedleak.theory.sigmoid_approximations import CubicLabel, PiecewiseLabel, cubic_safe_rounds

ALWAYS = 1 << 62  # rounds: under the piecewise approximation a residual never has the wrong sign (theorem F.2)


class ResidualSign(Attack):
    name = "residual-sign"
    aliases: ClassVar[tuple[str, ...]] = ("criterion-4.2",)
    summary = "reads each label off the sign of the row's first residual"
    reference = Reference("hu2022", "criterion 4.2")
    requires = frozenset(
        {Capability.OWN_FEATURES, Capability.OWN_GRADIENT, Capability.BATCH_IDS, Capability.TWO_CLASSES}
    )
    produces = SecretKind.LABELS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        silent = 1e-7 if approximation_of(view) is Approximation.PIECEWISE else 0.0
        solved = list(solved_batches(view))
        if view.facts.outside_noise:
            return _guess(view, *sum_known(iter(solved)))
        ids, rounds, residuals = first_known(iter(solved), silent=silent)
        found = _guess(view, ids, rounds, residuals)
        proves = _vouched_for(view.facts, rounds) and starts_as_declared(view.facts, rounds, residuals)
        whole = found.status is Status.RECOVERED  # what is proved is the whole answer, or nothing is said to be
        if not whole or not proves or contradicts_bound(view.facts, OwnScore(view)):
            return found
        return replace(found, certificate=_proof([batch for batch in solved if batch.round in set(rounds.tolist())]))

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        # Where a condition fails the theorem is silent: signs may still be right, with noise or without, and rows that
        # stand alone in a sparse column are found in batches of any size.
        return last_batch_alone(facts, from_assessment(assess_labels(facts), if_fails=Verdict.UNKNOWN))


def assess_labels(facts: Facts) -> Assessment:
    """The theorem that speaks about this approximation, start and number of parties."""
    if facts.approximation == Approximation.CUBIC:
        return CubicLabel.assess(facts)
    if facts.approximation == Approximation.PIECEWISE:
        return PiecewiseLabel.assess(facts)
    if len([party for party in facts.parties if party.role in DATA_ROLES]) > 2:
        return ManyParties.assess(facts)
    small_start = facts.initialisation in ("xavier", "kaiming", "normal")
    return (SmallInitialisation if small_start else LabelBySign).assess(facts)


def safe_rounds_of(facts: Facts) -> int | None:
    """T* of criterion 4.2 for these facts (with high probability from random weights); None where it is not known."""
    if facts.approximation == Approximation.PIECEWISE:
        return ALWAYS
    first_score = first_score_bound(facts)
    if facts.learning_rate is None or facts.max_row_norm is None or first_score is None:
        return None
    rule = cubic_safe_rounds if facts.approximation == Approximation.CUBIC else safe_rounds
    return rule(facts.learning_rate, first_score, facts.max_row_norm)


def _vouched_for(facts: Facts, rounds: IntArray) -> bool:
    """Whether the theorem says that residuals of these rounds have the labels' signs."""
    safe = safe_rounds_of(facts)
    clean = no_noise(facts).state is State.HOLDS
    return safe is not None and clean and bool(len(rounds)) and int(rounds.max()) < safe


def _n_rows(view: View) -> int:
    """That took part in any batch."""
    batches = [m.payload.values for m in view.at(linear.BATCH) if isinstance(m.payload, Array)]
    return len(np.unique(np.concatenate(batches))) if batches else 0


def _guess(view: View, ids: IntArray, rounds: IntArray, residuals: FloatArray) -> Guess:
    safe = safe_rounds_of(view.facts)
    noise = view.facts.outside_noise or 0.0
    whole = len(ids) == _n_rows(view)  # recovered is said of all rows or not at all
    evidence = {
        "rows judged": len(ids),
        "safe rounds T": None if safe == ALWAYS else safe,
        "last round used": int(rounds.max(initial=-1)),
        "declared noise": noise,
    }
    if not len(ids):
        why = "no batch has as many independent equations as rows, so no residual is determined"
        # Of the residuals that is a rank; of labels it is none: residuals of smallest norm have most of their signs.
        return Guess(view.target, Status.UNDETERMINED, ids, np.empty((0, 1)), evidence=evidence, why=why)
    return Guess(
        view.target,
        Status.RECOVERED if whole and _vouched_for(view.facts, rounds) else Status.PARTIAL,
        ids,
        (residuals < 0).astype(float)[:, None],
        confidence=_confidence(residuals, rounds, safe, noise)[:, None],
        evidence=evidence,
        why="a negative residual means label 1 while every score is small",
    )


def starts_as_declared(facts: Facts, rounds: IntArray, residuals: FloatArray) -> bool:
    """Whether the residuals bear out what is declared: from zero weights they are 1/2 or -1/2 in round 0, and lemma 4.4
    bounds |theta x| by 2 (growth^t - 1) in round t. Noise that nobody declared shows here; a random start bounds the
    first scores with a probability alone."""
    known = facts.initialisation == "zero" and approximation_in(facts) is Approximation.TAYLOR
    if not known or facts.learning_rate is None or facts.max_row_norm is None or not (rounds == 0).any():
        return False
    largest_score = 2 * (growth(facts.learning_rate, facts.max_row_norm) ** rounds.astype(np.float64) - 1)
    return starts_at_half(residuals, largest_score / 4)


def starts_at_half(residuals: FloatArray, room: FloatArray | float = 0.0) -> bool:
    """From zero weights a residual is 1/2 or -1/2 (Taylor), up to what scores have had ``room`` for since."""
    return bool((np.abs(np.abs(residuals) - 0.5) <= room + AGREEING).all())


def _proof(used: list[SolvedBatch]) -> str:
    """The residuals are proved, and the theorem vouches for their signs: both, or nothing."""
    residuals = proof_of(used)
    return f"{residuals}; from weights of zero a negative one means label 1 in all these rounds" if residuals else ""


def _confidence(residuals: FloatArray, rounds: IntArray, safe: int | None, noise: float) -> FloatArray:
    """1 where the theorem vouches for the sign. Beyond: by distance from zero (at zero weights it is 1/2); under
    noise the posterior between residuals of +1/2 and -1/2, for Gaussian noise of a quarter of the score's."""
    if noise:
        exponent = np.minimum(np.abs(residuals) / (noise / 4) ** 2, 700.0)
        return 1 / (1 + np.exp(-exponent))
    by_distance = 0.5 + 0.5 * np.minimum(np.abs(residuals) / 0.5, 1.0)
    return np.where(rounds < safe, 1.0, by_distance) if safe is not None else by_distance


class PackedResidualSign(ResidualSign):
    name = "packed-residual-sign"
    aliases = ()
    summary = "reads labels off residuals that packed products opened, for batches beyond the own features"
    reference = Reference("hu2022", "algorithm 2 and criterion 4.2")
    requires = PACKED_REQUIRES
    deviation = PACKED_DEVIATION

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predict_packed(facts, assess_labels(facts))
