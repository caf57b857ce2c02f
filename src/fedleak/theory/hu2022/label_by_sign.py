"""Lemma 4.4, corollary 4.5 and theorem 4.6: for how many rounds the residual's sign is the label."""

from __future__ import annotations

from math import ceil, log, log1p

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, equals
from fedleak.theory.hu2022.gradient_noise import error_bound
from fedleak.theory.hu2022.unique_residuals import UniqueResiduals

DELTA = 0.05  # what statements about noise leave to chance


def growth(learning_rate: float, max_row_norm: float) -> float:
    """Lemma 4.4: h grows by at most this factor a round, h = max |theta x| + 2.

    The paper has rows of norm at most 1; for a bound R it is 1 + eta R^2 / 4, since |x_i . x_j| <= R^2.
    """
    return 1 + learning_rate * max_row_norm**2 / 4


def safe_rounds(learning_rate: float, first_score: float, max_row_norm: float) -> int:
    """T of eq. 25: the first T rounds have |theta x| < 2 for every row. ``first_score`` is max |theta_0 x|."""
    if first_score >= 2:
        return 0
    return ceil(log(4 / (2 + first_score)) / log1p(growth(learning_rate, max_row_norm) - 1))


def noisy_safe_rounds(learning_rate: float, first_score: float, error: float, max_row_norm: float = 1.0) -> int:
    """T~ of eq. 65: |theta x| < 2 in the first T~ rounds if every gradient's error is at most ``error`` (u).

    For rows of norm up to R: |theta_t x| grows by eta R^2 / 4 (|theta x| + 2) + eta R u a round (eq. 67), so
    q = |theta x| + p grows by the factor 1 + eta R^2 / 4 with p = 2 + 4 u / R; the threshold is 2 + p.
    (The proof's last line adds epsilon to the threshold; the theorem itself does not.)
    """
    if first_score >= 2:
        return 0
    offset = 2 + 4 * error / max_row_norm
    return ceil(log((2 + offset) / (first_score + offset)) / log1p(learning_rate * max_row_norm**2 / 4))


class LabelBySign(Theorem):
    name = "hu2022/theorem-4.6"
    aliases = ("hu2022/lemma-4.4", "hu2022/corollary-4.5")
    summary = "from zero weights, the sign of a residual is the label for the first T rounds"
    reference = Reference("hu2022", "lemma 4.4, corollary 4.5, theorem 4.6")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        conditions = (
            *UniqueResiduals.assess(facts).conditions,
            equals("the sigmoid is replaced by its first-order Taylor polynomial", facts.approximation, "taylor"),
            equals("weights start at zero", facts.initialisation, "zero"),
            whole_first_epoch(facts),
        )
        return Assessment(
            cls.name,
            conditions,
            conclusion="every label is determined in the first epoch",
            remedy='initialisation = "normal", or noise on the shared scores',
        )


def whole_first_epoch(facts: Facts, *, first_score: float = 0.0) -> Condition:
    """The criterion reaches every row only if the first epoch ends within T rounds (remark 4.3)."""
    statement = "the first epoch ends within the safe rounds T"
    if facts.learning_rate is None or facts.max_row_norm is None:
        return Condition(statement, State.UNKNOWN, "the learning rate or a bound on the rows' norm is not known")
    if facts.n_rows is None or facts.batch_size is None:
        return Condition(statement, State.UNKNOWN, "the number of rows or the batch size is not known")
    rounds = -(-facts.n_rows // facts.batch_size)
    if facts.score_noise is None:
        return Condition(statement, State.UNKNOWN, "whether noise moves the weights is not known")
    safe = safe_rounds(facts.learning_rate, first_score, facts.max_row_norm)
    if facts.score_noise:  # the adversary may be without it and the others' training not
        error = error_bound(facts.score_noise, facts.batch_size, rounds, delta=DELTA, max_row_norm=facts.max_row_norm)
        safe = noisy_safe_rounds(facts.learning_rate, first_score, error, facts.max_row_norm)
    state = State.HOLDS if rounds <= safe else State.UNKNOWN  # T is a worst case: past it, often still right
    how = f", with probability {1 - DELTA:g} under noise" if facts.score_noise else ""
    return Condition(statement, state, f"{rounds} rounds, T = {safe}{how}")
