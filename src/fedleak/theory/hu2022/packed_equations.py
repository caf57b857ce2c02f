"""Section 5.2: how many equations a dishonest party gets out of its partner's decryptions."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, at_most, no_noise, revealed

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
            remedy="noise on the shared scores, or gradients that stay secret-shared; a larger batch is no remedy",
        )


def enough_slots(facts: Facts) -> Condition:
    statement = "the batch is at most u times the deviating party's features"
    width = facts.party(facts.adversary[0]).n_features if facts.adversary else None
    if width is None or facts.key_bits is None or facts.batch_size is None:
        return Condition(statement, State.UNKNOWN, "the features, the key size or the batch size is not known")
    unknowns = facts.batch_size * (CUBIC_BLOCKS if facts.approximation == "cubic" else 1)
    slot_bits = SLOT_BITS if len(facts.parties) <= 2 else BLINDED_SLOT_BITS
    return at_most(statement, unknowns, n_slots(facts.key_bits, slot_bits) * width)
