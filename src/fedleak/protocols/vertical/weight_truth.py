"""The parties' final weights, which a prediction service gives away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.federation import Party
from fedleak.core.secret import Secret, SecretKind
from fedleak.core.truth import SecretValues


def weight_secrets(parties: Sequence[Party], weights: Sequence[FloatArray]) -> dict[Secret, SecretValues]:
    """One row a column of the party; the range is that of all its weights."""
    found = {}
    for party, own in zip(parties, weights, strict=True):
        real = own[: len(party.columns)]  # a deviation may have widened the party's features
        if len(real):
            ids = np.arange(len(real), dtype=np.int64)
            ranges = np.array([[real.min(), real.max()]])
            found[Secret(SecretKind.WEIGHTS, party.name)] = SecretValues(ids, ("weight",), real[:, None], ranges)
    return found
