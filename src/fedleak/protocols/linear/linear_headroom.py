"""Room for numbers under a cipher or on shares, from public sizes alone, before anything runs.

Rows, columns, parties, fraction bits, the length of the key, and the bounds of values that are public or declared say
how long a sum of products may become. Values themselves are checked on their way in and out; what sizes rule out
already is told before any key is drawn, with the setting to change.
"""

from __future__ import annotations

from fedleak.core.errors import ScenarioError
from fedleak.core.facts import Facts
from fedleak.core.steps import DATA_ROLES
from fedleak.crypto.fixed_point import ENCODED_BITS, MARGIN_BITS
from fedleak.crypto.masked_product import product_bits
from fedleak.crypto.ring_arithmetic import VALUE_BITS
from fedleak.theory.label_signs import first_score_bound

NOISE_DEVIATIONS = 6.0  # a normal deviate is beyond with a probability of 2e-9
LARGEST_TARGET = 2.0  # of a label of -1 or 1 in a shared score (eq. 5 of Hu et al. 2022)


def check_linear_headroom(facts: Facts) -> None:
    """That scores fit an encoding, and sums of products of two encodings, one of them under shares, the modulus."""
    _check_scores(facts)
    _check_products(facts)


def check_shared_headroom(facts: Facts) -> None:
    """That the first sum over a batch of residual times feature, with the fraction bits of both, fits 64-bit shares."""
    rows = facts.n_rows if facts.batch_size is None else facts.batch_size
    if facts.fraction_bits is None or rows is None or facts.max_row_norm is None:
        return
    largest, room = rows * facts.max_row_norm * _first_residual(facts), VALUE_BITS - 2 * facts.fraction_bits
    if largest >= 2.0**room:
        raise ScenarioError(
            f"sums on shares must stay under 2^{room} at {facts.fraction_bits} fraction bits; got up to {largest:.3g} "
            f"over {rows} rows. Lower federation.share_fraction_bits, or federation.batch_size"
        )


def _first_residual(facts: Facts) -> float:
    """As large as it may be in the first round; clipped to 1/2 and a half of a label, in every round."""
    if facts.approximation == "piecewise":
        return 1.0
    noise, first = facts.score_noise or 0.0, first_score_bound(facts) or 0.0
    return NOISE_DEVIATIONS * noise + first + LARGEST_TARGET


def _check_scores(facts: Facts) -> None:
    """Of the first round: later scores depend on the data."""
    noise, first = facts.score_noise or 0.0, first_score_bound(facts) or 0.0
    largest = max(NOISE_DEVIATIONS * noise + first + LARGEST_TARGET, facts.max_row_norm or 0.0)
    if facts.fraction_bits is None or largest < 2.0 ** (ENCODED_BITS - facts.fraction_bits):
        return
    cause = f"noise of standard deviation {noise:g}" if noise else "the bounds on rows and first weights"
    limit = f"scores must stay under 2^{ENCODED_BITS - facts.fraction_bits} at {facts.fraction_bits} fraction bits"
    raise ScenarioError(f"{limit}; got up to {largest:.3g} by {cause}. Lower federation.fraction_bits, or the noise")


def _check_products(facts: Facts) -> None:
    rows = facts.n_rows if facts.batch_size is None else facts.batch_size
    if facts.key_bits is None or rows is None:
        return
    n_others = sum(party.role in DATA_ROLES for party in facts.parties) - 1
    needed = product_bits(rows, n_others)
    if needed > facts.key_bits - MARGIN_BITS:
        raise ScenarioError(
            f"federation.key_bits must be at least {needed + MARGIN_BITS} for sums of {rows} products from "
            f"{n_others} partners; got {facts.key_bits}. Use a longer key, or a smaller federation.batch_size"
        )
