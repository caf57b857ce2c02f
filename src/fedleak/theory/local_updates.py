"""Local steps between rounds: the update's closed form (theorem 1 of Li et al. 2019), and whether it comes apart.

Theorem 2: real symmetric factors of γ are not unique. The count is right: n symmetric d × d matrices have n d(d + 1)/2
entries, γ gives d² equations, and ``other_factors`` constructs a whole family. But it protects less than it seems. An
attacker is not after the single α_i: their sum is nearly fixed (members of the family near the true factors differ in
Σα_i by second-order terms only), and Σα_i has integer entries, of which at most one set is within 1/2 of an estimate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.core.adversary import Capability
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.protocols.averaging.vocabulary import ASYNCHRONISED, HorizontalLogisticFacts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, equals, revealed
from fedleak.theory.horizontal_rounds import batches_recur, outside_rows, undisturbed

SAFE_PRODUCT = 1.0  # see exactness_limit


def closed_form(
    alphas: Sequence[FloatArray], betas: Sequence[FloatArray], rate: float
) -> tuple[FloatArray, FloatArray]:
    """(γ, η) with Δ = γθ − (λ/2)η: γ = I − ∏(I − λα_i/4), η = Σ_i [∏_{j>i} (I − λα_j/4)] β_i; later factors left."""
    d = len(betas[0])
    product, offset = np.eye(d), np.zeros(d)
    for alpha, beta in zip(alphas, betas, strict=True):
        factor = np.eye(d) - rate / 4 * alpha
        product, offset = factor @ product, factor @ offset + beta
    return np.eye(d) - product, offset


def exactness_limit(n_columns: int, n_rows: int, density: float = 0.5) -> float:
    """A rule of thumb, measured and not proven: Σα of random binary rows is exact by rounding up to about this rate.

    What decides is the product s·‖Σα‖ of step and largest eigenvalue, with s = λ/4 and ‖Σα‖ ≈ m d p²: well above 1,
    third-order terms of the batches' differences exceed 1/2.
    """
    return 4 * SAFE_PRODUCT / (n_rows * n_columns * density**2)


class LocalUpdate(Theorem):
    """Δ is affine in θ, as in the synchronised case, so γ and η are determined by d + 1 rounds.

    Theorem 2 concludes that nothing more follows, as real symmetric α_i are not unique; see ``other_factors`` and the
    top of this file for why integers change that.
    """

    name = "li2019/theorem-1"
    aliases = ("li2019/local-steps",)
    summary = "local steps over the same batches: small rates give the inner products of all rows away by rounding"
    reference = Reference("li2019", "theorem 1; limit measured by fedleak")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                equals(
                    "parties take a local step on each batch", facts.of(HorizontalLogisticFacts).update, ASYNCHRONISED
                ),
                batches_recur(facts, "the others' batches and their order are the same in every round"),
                _small_rate(facts),
                undisturbed(facts),
                revealed(Capability.UPDATE_SUM, facts),
            ),
            conclusion="inner products of binary columns over all batches follow by rounding",
        )


def _small_rate(facts: Facts) -> Condition:
    statement = "the learning rate is below the measured limit of exactness"
    columns = [party.n_features for party in facts.parties if party.n_features]
    rows = outside_rows(facts)
    if facts.learning_rate is None or rows is None or not columns or columns[0] is None:
        return Condition(statement, State.UNKNOWN, "the rate, the rows or the columns are not known")
    limit = exactness_limit(columns[0], max(rows))
    state = State.HOLDS if facts.learning_rate <= limit else State.FAILS
    return Condition(statement, state, f"{facts.learning_rate:g} and about {limit:.2g}")


def n_unknowns(n_columns: int, n_batches: int) -> int:
    return n_batches * n_columns * (n_columns + 1) // 2


def n_equations(n_columns: int) -> int:
    return n_columns**2


def freedom(n_columns: int, n_batches: int) -> int:
    """Dimension of the family of real solutions: at least d for two batches, growing by d(d + 1)/2 a batch."""
    return n_unknowns(n_columns, n_batches) - n_equations(n_columns)


def product_of(alphas: Sequence[FloatArray], step: float) -> FloatArray:
    """∏ (I − s α_i), later factors left."""
    result = np.eye(len(alphas[0]))
    for alpha in alphas:
        result = (np.eye(len(alpha)) - step * alpha) @ result
    return result


def other_factors(alphas: Sequence[FloatArray], step: float, scale: float) -> list[FloatArray]:
    """Other real symmetric α_1, α_2 with the same product as the given two, one pair for every ``scale``.

    With A = I − sα_1, B = I − sα_2 and T = I + scale·AB, the product BA = (BT)(T⁻¹A), and both new factors are
    symmetric: BT = B + scale·BAB, T⁻¹A = (A⁻¹ + scale·B)⁻¹.
    """
    first, second = (np.eye(len(alpha)) - step * alpha for alpha in alphas)
    new_second = second + scale * second @ first @ second
    new_first = np.linalg.inv(np.linalg.inv(first) + scale * second)
    identity = np.eye(len(first))
    return [(identity - new_first) / step, (identity - new_second) / step]
