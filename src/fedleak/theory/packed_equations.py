"""Packed ciphertexts: u products in each value that a partner decrypts, so that batches of u d rows are opened.

Section 5.2 of Hu et al. 2022. Whether a batch fits depends on how long a slot has to be, and a slot on how long a
partner's values may be: at 40 fraction bits 64 bits hold values up to 2^10, at 52 they do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.steps import DATA_ROLES
from fedleak.crypto.fixed_point import ENCODED_BITS
from fedleak.crypto.masked_product import ciphertexts_for, product_bits
from fedleak.crypto.masks import HIDING_BITS
from fedleak.crypto.packing import bits_of_sum
from fedleak.protocols.linear.vocabulary import VerticalLogisticFacts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, no_noise, revealed
from fedleak.theory.countermeasures import VERTICAL
from fedleak.theory.label_signs import weight_std
from fedleak.theory.residual_equations import rows_of_last_batch

SLOT_BITS = 64  # iota, at least, where slots are cut short
SCORE_BITS = 10  # before the binary point, of a value that fits a short slot
FEWEST_AUXILIARY_BITS = 2  # of a made-up feature
CUBIC_BLOCKS = 3  # values a row that the cubic approximation sends
MOST_DEVIATIONS = 4.0  # of first weights, together, from their expected length


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
    """Slots for the longest value that the encoding allows hold for certain. Shorter ones hold while values stay below
    2^10. Where even those are too few for the last batch of an epoch, nothing is opened."""
    statement = "the batch is at most u times the deviating party's features"
    width = None if facts.deviating is None else facts.party(facts.deviating).n_features
    last = rows_of_last_batch(facts)
    if width is None or facts.key_bits is None or facts.batch_size is None or facts.fraction_bits is None:
        return Condition(
            statement, State.UNKNOWN, "the features, the key size, the digits or the batch size is not known"
        )
    whole = facts.batch_size if facts.n_rows is None else min(facts.batch_size, facts.n_rows)
    batches = [_Batch(facts, width, n_rows) for n_rows in dict.fromkeys((whole, whole if last is None else last))]
    first, shortest = batches[0], batches[-1]
    detail = f"{first.n_values} values, {first.n_long} slots of any length, {first.n_short} short ones"
    if all(batch.n_values <= batch.n_long for batch in batches):
        return Condition(statement, State.HOLDS, detail)
    if all(batch.n_values <= batch.n_short for batch in batches):
        return Condition(statement, State.HOLDS if _stay_short(facts) else State.UNKNOWN, detail)
    opened = last is None or any(batch.n_values <= max(width, batch.n_short) for batch in (first, shortest))
    return Condition(statement, State.UNKNOWN if opened else State.FAILS, f"{detail}; the last batch has {last} rows")


@dataclass(frozen=True)
class _Batch:
    """With shorter batches slots are shorter; where honest products are packed too, so are theirs, and fewer
    ciphertexts are opened."""

    facts: Facts
    width: int
    n_rows: int

    @property
    def n_values(self) -> int:
        return _values_of(self.facts, self.n_rows)

    @property
    def n_long(self) -> int:
        """Slots for values of any length."""
        return self._n_opened * _fitting(self.facts, self.n_values, _longest_value(self.facts), 0)

    @property
    def n_short(self) -> int:
        return self._n_opened * _short(self.facts, self.n_values)

    @property
    def _n_opened(self) -> int:
        return _opened(self.facts, self.width, self.n_rows)


def _opened(facts: Facts, width: int, n_rows: int) -> int:
    """Ciphertexts that a partner opens of a batch: one a column, or fewer where honest products are packed as well."""
    if not width or not facts.of(VerticalLogisticFacts).pack_products:
        return width
    return ciphertexts_for(width, facts.key_bits or 0, product_bits(n_rows, _n_others(facts)))


def _n_others(facts: Facts) -> int:
    return sum(party.role in DATA_ROLES for party in facts.parties) - 1


def _values_of(facts: Facts, n_rows: int) -> int:
    return n_rows * (CUBIC_BLOCKS if facts.approximation == "cubic" else 1)


def _longest_value(facts: Facts) -> int:
    """Bits. With three or more parties values carry blinds, which cancel only in the sum over partners."""
    others = _n_others(facts)
    return ENCODED_BITS if others < 2 else ENCODED_BITS + HIDING_BITS + others.bit_length() + 2


def _fitting(facts: Facts, n_values: int, value_bits: int, least_bits: int) -> int:
    return n_slots(facts.key_bits or 0, max(least_bits, bits_of_sum(value_bits, n_values) + FEWEST_AUXILIARY_BITS))


def _short(facts: Facts, n_values: int) -> int:
    """Under blinds there are no short slots."""
    value_bits = _longest_value(facts)
    if value_bits > ENCODED_BITS:
        return _fitting(facts, n_values, value_bits, 0)
    return _fitting(facts, n_values, (facts.fraction_bits or 0) + SCORE_BITS, SLOT_BITS)


def _stay_short(facts: Facts) -> bool:
    """Whether |theta x| + 2 stays below 2^10 in the whole run: while eta R^2 / 4 <= 2 no step on the Taylor loss makes
    the weights longer but by the labels' push, eta R / 2."""
    rate, norm, rounds, width = facts.learning_rate, facts.max_row_norm, facts.n_rounds, facts.n_features
    if rate is None or norm is None or rounds is None or not width or facts.approximation != "taylor":
        return False
    deviation = 0.0 if facts.initialisation == "zero" else weight_std(facts.initialisation or "", width)
    if deviation is None or rate * norm**2 / 4 > 2:
        return False
    longest = deviation * (sqrt(width) + MOST_DEVIATIONS) + rounds * rate * norm / 2
    return norm * longest + 2 < 2.0**SCORE_BITS
