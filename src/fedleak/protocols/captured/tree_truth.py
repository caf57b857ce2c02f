"""What a truth says of boosted trees that were captured: ranges of cells are the cells, split points are those that
parties kept of the trained model."""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.payload import Table
from fedleak.core.whole.run import Captured
from fedleak.core.whole.truth import KeptSecret, SecretValues, Truth
from fedleak.protocols.boosting.vocabulary import ROUTING, SPLITS


def of_trees(given: Truth, captured: Captured) -> dict[Secret, KeptSecret]:
    """Nothing where no rows were routed."""
    if not any(message.step == ROUTING.name for message in captured.transcript.messages):
        return {}
    found: dict[Secret, KeptSecret] = {}
    for secret in given.secrets:
        if secret.kind is SecretKind.FEATURES:
            values = given.of(secret)
            found[Secret(SecretKind.RANGES, secret.owner)] = values
            splits = _splits(captured, secret.owner)
            if splits is not None and len(splits.values):
                found[Secret(SecretKind.THRESHOLDS, secret.owner)] = _thresholds(splits, values)
    return found


def _splits(captured: Captured, owner: str) -> Table | None:
    kept = [record.value for record in captured.locals.get(owner, ()) if record.name == SPLITS.name]
    return kept[-1] if kept and isinstance(kept[-1], Table) else None


def _thresholds(splits: Table, values: SecretValues) -> SecretValues:
    """A row a node; the range is that of all the party's columns."""
    cells = np.asarray(splits.values, dtype=np.float64)
    whole = np.array([[values.lowest.min(), values.highest.max()]])
    return SecretValues(cells[:, :2].astype(np.int64), ("threshold",), cells[:, 3:4], whole)
