"""What one gradient gives away: as many equations as the adversary has columns, one unknown a row of the batch.

With no more rows than columns the residuals follow (corollary 3.2 of Hu et al. 2022), and with the labels the partner's
scores (section 4.1 of Li et al. 2021). Larger batches: labels where every column is known (theorem 4.1), and packed
ciphertexts, by which a dishonest party gets more equations (section 5.2).
"""

from __future__ import annotations

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.steps import DATA_ROLES
from fedleak.theory.condition import (
    Assessment,
    Condition,
    State,
    Theorem,
    at_most,
    n_outside_features,
    no_noise,
    revealed,
)
from fedleak.theory.countermeasures import VERTICAL


def batch_within_columns(facts: Facts) -> Condition:
    """s <= d: as many equations as unknowns."""
    return at_most("batch size is at most the adversary's features", facts.batch_size, facts.n_adversary_features)


class UniqueResiduals(Theorem):
    """If s <= d, the system sum_i r_i x_i = s * gradient has one solution (theorem 3.1, almost surely).

    That the rows are in general position is the paper's data assumption; the attack checks the rank of the
    real batches, and says so where it is too small.
    """

    name = "hu2022/corollary-3.2"
    aliases = ("hu2022/theorem-3.1",)
    summary = "with batch size <= own features, the own gradient determines every residual"
    reference = Reference("hu2022", "theorem 3.1 and corollary 3.2")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                batch_within_columns(facts),
                revealed(Capability.OWN_GRADIENT, facts),
                no_noise(facts),
            ),
            conclusion="every residual of every batch is determined",
            remedies=VERTICAL,
        )


def one_outsider(facts: Facts) -> Condition:
    """With two parties outside, their scores are one sum."""
    statement = "one party with columns is outside the coalition"
    outside = [party.name for party in facts.parties if party.role in DATA_ROLES and party.name not in facts.adversary]
    return Condition(statement, State.HOLDS if len(outside) == 1 else State.FAILS, f"outside: {', '.join(outside)}")


class ScoreRecovery(Theorem):
    """g = X^T d / m + l2 w has one solution d if the batch's own rows are independent; d gives the partner's z.

    The paper's "records are rarely dependent" is a statement on data; the attack checks the rank of the real batches.
    """

    name = "li2021/section-4.1"
    summary = "with batch size <= own features, the active party learns the partner's score of every row"
    reference = Reference("li2021", "section 4.1")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                batch_within_columns(facts),
                revealed(Capability.OWN_GRADIENT, facts),
                revealed(Capability.LABELS, facts),
                one_outsider(facts),
                no_noise(facts),
            ),
            conclusion="every partial score of every batch is determined",
            remedies=VERTICAL,
        )


class LabelsWithoutFeatures(Theorem):
    """sum_i y_i x_i is known, and for rows in general position one choice of signs gives it.

    No bound on the batch size is needed for uniqueness; finding the signs takes exponential time in the rows
    beyond the adversary's columns. Rows that repeat, or whole-number columns, break the general position.
    """

    name = "hu2022/theorem-4.1"
    summary = "a label party that holds no columns leaves its labels determined, for any batch size"
    reference = Reference("hu2022", "theorem 4.1")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                _nothing_outside(facts),
                revealed(Capability.OWN_GRADIENT, facts),
                no_noise(facts),
                _known_residual(facts),
            ),
            conclusion="every batch determines its labels; finding them is as hard as a subset-sum problem",
            remedies=VERTICAL,
        )


def _nothing_outside(facts: Facts) -> Condition:
    """d_A = 0: the adversary holds every column, so it knows every score."""
    statement = "every column is the adversary's: the label party holds none"
    n_outside = n_outside_features(facts)
    if n_outside is None:
        return Condition(statement, State.UNKNOWN, "a party's number of columns is not known")
    return Condition(statement, State.HOLDS if n_outside == 0 else State.FAILS, f"{n_outside} columns outside")


def _known_residual(facts: Facts) -> Condition:
    """Appendices E.2 and F.2 carry the theorem over: with known scores the label's part is -y / 2 in all of them."""
    statement = "the approximation of the sigmoid is known"
    state = State.UNKNOWN if facts.approximation is None else State.HOLDS
    return Condition(statement, state, facts.approximation or "not known")


SLOT_BITS = 64  # iota: a product with short auxiliary features, at up to 44 bits a shared value
BLINDED_SLOT_BITS = 160  # with three or more parties, whose values carry blinds of about 144 bits
CUBIC_BLOCKS = 3  # values a row that the cubic approximation sends


def n_slots(key_bits: int, slot_bits: int = SLOT_BITS) -> int:
    """u = floor((kappa - 1) / iota): products that fit one plaintext."""
    return (key_bits - 1) // slot_bits


class PackedEquations(Theorem):
    """The partner decrypts d values, each of which hides u products with features that the party made up.

    The paper writes u d_A equations for s unknowns; where three values a row are encrypted, unknowns are 3 s.
    With three or more parties blinds make values about 100 bits longer, and fewer fit: 12 at 2048 bits.
    """

    name = "hu2022/section-5.2"
    aliases = ("hu2022/algorithm-2",)
    summary = "packing auxiliary products breaks batches of up to u times the own features"
    reference = Reference("hu2022", "section 5.2, algorithm 2")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (enough_slots(facts), revealed(Capability.CIPHERTEXTS, facts), no_noise(facts)),
            conclusion="a party that deviates determines every value that partners encrypt, unseen by them",
            remedies=VERTICAL,
        )


def enough_slots(facts: Facts) -> Condition:
    statement = "the batch is at most u times the deviating party's features"
    width = facts.party(facts.adversary[0]).n_features if facts.adversary else None
    if width is None or facts.key_bits is None or facts.batch_size is None:
        return Condition(statement, State.UNKNOWN, "the features, the key size or the batch size is not known")
    unknowns = facts.batch_size * (CUBIC_BLOCKS if facts.approximation == "cubic" else 1)
    slot_bits = SLOT_BITS if len(facts.parties) <= 2 else BLINDED_SLOT_BITS
    return at_most(statement, unknowns, n_slots(facts.key_bits, slot_bits) * width)
