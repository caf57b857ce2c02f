"""What a training of networks leaves behind: the truth about everybody's rows, and how good the network is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import IntArray
from fedleak.core.whole.federation import Party, Slice
from fedleak.core.whole.truth import KeptSecret, SecretValues, Truth
from fedleak.protocols.linear.linear_outcome import gram_secrets
from fedleak.protocols.usefulness import Usefulness, of_classes

UNIT = np.array([0.0, 1.0])  # what pixels lie in


def truth_of(parties: Sequence[Party], *, cut_by_columns: bool = True) -> Truth:
    """Pictures, or the columns of a table, of each party; labels of who has them; inner products of rows in tables of
    the same people."""
    tables = [party for party in parties if party.columns and party.train.features.ndim == 2]
    secrets: dict[Secret, KeptSecret] = {**gram_secrets(tables)} if cut_by_columns else {}
    for party in parties:
        ids, cells, labels = party.train.ids, party.train.features, party.train.labels
        if party.columns and cells.ndim > 2:
            secrets[Secret(SecretKind.IMAGES, party.name)] = SecretValues(ids, (), cells, UNIT)
        elif party.columns:
            secrets[Secret(SecretKind.FEATURES, party.name)] = SecretValues.spanning(ids, party.columns, cells)
        if labels is not None:
            column = labels.astype(np.float64)[:, None]
            secrets[Secret(SecretKind.LABELS, party.name)] = SecretValues.spanning(ids, ("label",), column)
    return Truth(secrets)


Predicts = Callable[[Sequence[Slice]], IntArray]  # the classes of rows, from what each party holds of them


def utility(holder: Party, parties: Sequence[Party], predicts: Predicts) -> Usefulness:
    """Accuracy on training and on held-out rows, each beside that of the majority class."""
    found = Usefulness()
    trained_on = holder.train.labels
    tested = [part for part in (party.test for party in parties) if part is not None and len(part.ids)]
    if trained_on is None:
        return found
    found |= of_classes("train", predicts([party.train for party in parties]), trained_on, trained_on)
    if len(tested) == len(parties) and holder.test is not None and holder.test.labels is not None:
        found |= of_classes("test", predicts(tested), holder.test.labels, trained_on)
    return found
