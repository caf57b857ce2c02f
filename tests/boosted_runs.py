"""Small federations of boosted trees for tests, made in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from federations import vertical
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings

QUICK = {"cipher": "sealed", "key_bits": 1024, "n_trees": 3, "depth": 3, "bins": 8}


def boosted(
    widths: dict[str, int], *, n_rows: int = 60, n_test: int = 0, seed: int = 0, **changes: object
) -> Federation:
    """Gaussian rows, labels from a hidden linear rule at the party "bank"; the last ``n_test`` rows are held out."""
    settings = SecureBoostSettings(**{**QUICK, **changes})
    whole = vertical(widths, settings, n_rows=n_rows + n_test, seed=seed, protocol="secureboost")
    if not n_test:
        return whole
    return replace(whole, parties=tuple(_held_out(party, n_rows) for party in whole.parties))


def with_labels(federation: Federation, labels: np.ndarray) -> Federation:
    first, *others = federation.parties
    held = Slice(first.train.ids, first.train.features, labels)
    return replace(federation, parties=(replace(first, train=held), *others))


def with_features(federation: Federation, name: str, features: np.ndarray) -> Federation:
    parties = [
        replace(party, train=replace(party.train, features=features)) if party.name == name else party
        for party in federation.parties
    ]
    return replace(federation, parties=tuple(parties))


def _held_out(party: Party, n_rows: int) -> Party:
    parts = [
        Slice(
            party.train.ids[rows],
            party.train.features[rows],
            None if party.train.labels is None else party.train.labels[rows],
        )
        for rows in (slice(n_rows), slice(n_rows, None))
    ]
    return replace(party, train=parts[0], test=parts[1])
