"""What a run of predictions leaves behind: the truth, and how useful the released predictions are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.federation import Party
from fedleak.core.secret import Secret, SecretKind
from fedleak.core.truth import SecretValues, Served, Truth
from fedleak.models.model import Model


def truth_of(parties: Sequence[Party], ids: IntArray, wanted: IntArray, served: Served, *, unit_box: bool) -> Truth:
    """The predicted rows of every party; a column's range is the unit interval, or that of all its rows.

    A party's values are its own, also where it kept a column out of the computation.
    """
    secrets = {}
    for party in parties:
        if not party.columns:
            continue
        own = party.train.features
        low, high = (np.zeros(own.shape[1]), np.ones(own.shape[1])) if unit_box else (own.min(axis=0), own.max(axis=0))
        values = SecretValues(ids, party.columns, own[wanted], np.column_stack([low, high]))
        secrets[Secret(SecretKind.FEATURES, party.name)] = values
        secrets[Secret(SecretKind.RANGES, party.name)] = values
    return Truth(secrets, served)


def utility(released: FloatArray, labels: IntArray, model: Model, parties: Sequence[Party]) -> dict[str, float]:
    """Accuracy of what the active party received, the share that it received, and the model's on held-out rows."""
    given = np.isfinite(released).all(axis=1)
    found = {"released_share": float(given.mean())}
    if given.any():
        found["prediction_accuracy"] = float(np.mean(np.argmax(released[given], axis=1) == labels[given]))
    held_out = [party.test for party in parties if party.test is not None and len(party.test.ids)]
    if len(held_out) == len(parties) and held_out[0].labels is not None:
        names = [name for party in parties for name in party.columns]
        rows = model.arrange(np.hstack([part.features for part in held_out]), names)
        found["test_accuracy"] = float(np.mean(np.argmax(model.confidences(rows), axis=1) == held_out[0].labels))
    return found
