"""What attacks on a passive party are after besides its features: scores, inner products, weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.federation import Party
from fedleak.core.secret import Secret, SecretKind
from fedleak.core.truth import SecretValues
from fedleak.protocols.vertical.outcome import secret_values

MAX_GRAM_ROWS = 1000  # the truth about more rows' inner products would outweigh the run itself


class ScoreLog:
    """Every passive party's score of every row of every batch, as it was when the round began."""

    def __init__(self) -> None:
        self._ids: list[IntArray] = []
        self._scores: dict[str, list[FloatArray]] = {}

    def add(self, round_number: int, row_ids: IntArray, scores: Mapping[str, FloatArray]) -> None:
        self._ids.append(np.column_stack([np.full(len(row_ids), round_number), row_ids]))
        for party, values in scores.items():
            self._scores.setdefault(party, []).append(values)

    def of(self, party: str) -> SecretValues:
        return secret_values(np.concatenate(self._ids), ("score",), np.concatenate(self._scores[party])[:, None])


def score_secrets(
    passive: Sequence[Party], weights: Sequence[FloatArray], scores: ScoreLog
) -> dict[Secret, SecretValues]:
    found = {}
    for party, own in zip(passive, weights, strict=True):
        found[Secret(SecretKind.PARTIAL_SCORES, party.name)] = scores.of(party.name)
        found[Secret(SecretKind.WEIGHTS, party.name)] = weight_values(own)
        if len(party.train.ids) <= MAX_GRAM_ROWS:
            found[Secret(SecretKind.GRAM, party.name)] = gram_values(party)
    return found


def weight_values(weights: FloatArray) -> SecretValues:
    """One row a column of the party; the range is that of all its weights."""
    ids = np.arange(len(weights), dtype=np.int64)
    return SecretValues(ids, ("weight",), weights[:, None], np.array([[weights.min(), weights.max()]]))


def gram_values(party: Party) -> SecretValues:
    gram = party.train.features @ party.train.features.T
    return secret_values(party.train.ids, tuple(f"row {row}" for row in party.train.ids), gram)
