"""Residuals of single rows from a party's own gradient (Hu et al. 2022, corollary 3.2).

Beyond the own features, a dishonest party gets more equations (section 5.2): by products packed into what its partners
decrypt, or by columns that it only claims to have.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.residuals.batch_residuals import solved_batches
from fedleak.attacks.residuals.batch_systems import SolvedBatch, proof_of
from fedleak.attacks.residuals.residual_sign import starts_at_half
from fedleak.attacks.verdicts import (
    PACKED_DEVIATION,
    PACKED_REQUIRES,
    from_assessment,
    last_batch_alone,
    predict_packed,
)
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import EXACT, Facts
from fedleak.core.view import View
from fedleak.models.sigmoid import Approximation
from fedleak.theory.condition import State, no_noise
from fedleak.theory.packed_equations import PackedEquations
from fedleak.theory.residual_equations import UniqueResiduals


class ResidualRecovery(Attack):
    name = "residual-recovery"
    summary = "solves the party's own gradient for the residual of every row of a batch"
    reference = Reference("hu2022", "corollary 3.2")
    requires = frozenset({Capability.OWN_FEATURES, Capability.OWN_GRADIENT, Capability.BATCH_IDS})
    produces = SecretKind.RESIDUALS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        solved = list(solved_batches(view))
        ids = np.concatenate([np.column_stack([np.full(len(b.ids), b.round), b.ids]) for b in solved])
        values = np.concatenate([batch.residuals for batch in solved])[:, None]
        known = np.isfinite(values)
        status, why = _status(known, solved, view.facts)
        return Guess(
            view.target,
            status,
            ids,
            values,
            evidence={
                "batches": len(solved),
                "smallest rank": min(batch.rank for batch in solved),
                "largest condition": max((batch.condition for batch in solved if batch.rank), default=None),
                "determined share": float(np.mean(known)),
            },
            why=why,
            certificate="" if status is not Status.RECOVERED or _belies(view.facts, solved) else proof_of(solved),
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        # With too few equations no residual is determined for rows in general position, but one whose row stands alone
        # in a sparse column is. With noise the system has one solution, the residual plus the noise: how close that is
        # to the residual the theorem does not say.
        return last_batch_alone(facts, from_assessment(UniqueResiduals.assess(facts), if_fails=Verdict.UNKNOWN))


def _belies(facts: Facts, solved: list[SolvedBatch]) -> bool:
    """Noise that nobody declared is in every residual. It shows in round 0 where weights are said to begin at zero."""
    first = [batch.residuals for batch in solved if batch.round == 0]
    says = facts.initialisation == "zero" and facts.approximation == Approximation.TAYLOR
    return says and bool(first) and not starts_at_half(np.concatenate(first))


def _status(known: np.ndarray, solved: list[SolvedBatch], facts: Facts) -> tuple[Status, str]:
    without_noise = no_noise(facts)
    if known.all() and without_noise.state is not State.HOLDS:
        return Status.PARTIAL, f"every batch is solved, for residuals with the noise in them: {without_noise.detail}"
    if known.all():
        return Status.RECOVERED, "every batch has as many independent equations as rows"
    largest = max(solved, key=lambda batch: len(batch.ids) - batch.rank)
    why = f"a batch of {len(largest.ids)} rows has only {largest.rank} independent equations"
    n_lost = sum(batch.rank == 0 for batch in solved)
    if n_lost:
        why = f"{n_lost} of {len(solved)} batches gave no equation: a partner's values did not fit what was packed"
    if known.any():
        return Status.PARTIAL, why
    # A rank speaks about real numbers. Of two classes a residual is a half, less a small score: whole programs find it.
    return (Status.NOT_IDENTIFIABLE if facts.approximation == EXACT else Status.UNDETERMINED), why


class PackedResidualRecovery(ResidualRecovery):
    name = "packed-residual-recovery"
    summary = "opens every value that partners encrypt, by products packed into what they decrypt"
    reference = Reference("hu2022", "algorithm 2")
    requires = PACKED_REQUIRES
    deviation = PACKED_DEVIATION

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predict_packed(facts, PackedEquations.assess(facts))


CLAIMED_COLUMNS = 64  # as many as ``claimed-columns`` has by default


class ClaimedResidualRecovery(ResidualRecovery):
    name = "claimed-residual-recovery"
    summary = "solves a gradient that random claimed columns have made long enough"
    reference = Reference("hu2022", "section 5.2")
    deviation = "claimed-columns"

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        width = facts.n_adversary_features
        if width is None or facts.batch_size is None:
            return Prediction(Verdict.UNKNOWN, ("the columns or the batch size is not known",))
        noise = no_noise(facts)
        if noise.state is not State.HOLDS:
            return Prediction(Verdict.UNKNOWN, (f"residuals carry noise: {noise.detail}",))
        missing = max(0, facts.batch_size - width)
        if missing > CLAIMED_COLUMNS:
            return Prediction(Verdict.UNKNOWN, (f"{missing} columns are missing, and {CLAIMED_COLUMNS} are claimed",))
        return Prediction(
            Verdict.EXACT, (f"{missing} claimed columns make up for what the batch has beyond the {width} real ones",)
        )
