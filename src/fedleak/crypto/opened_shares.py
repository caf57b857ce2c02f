"""Values of a partner that a dishonest party opened, as it keeps them for later: signed integers modulo 2^512.

With three or more parties the values carry blinds that cancel only in the sum over partners, so they stay integers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.payload import IntegerArray

PREFIX = "opened-shares-from-"  # of the record's name; the partner's name follows
BITS = 512


def to_payload(values: Sequence[int]) -> IntegerArray:
    return IntegerArray.from_ints([value % (1 << BITS) for value in values], BITS // 8)


def decoded_sum(parts: Sequence[IntegerArray], fraction_bits: int) -> FloatArray:
    """The sum over partners, value by value, as real numbers."""
    modulus, half, unit = 1 << BITS, 1 << (BITS - 1), 1 << fraction_bits
    totals = [sum(values) % modulus for values in zip(*(part.to_ints() for part in parts), strict=True)]
    return np.array([(total - modulus if total >= half else total) / unit for total in totals])
