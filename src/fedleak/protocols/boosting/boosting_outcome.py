"""What a training of boosted trees leaves behind: the truth, the parts of the model that parties hold, its accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.payload import Array, Scalar, Texts, Tree
from fedleak.core.whole.federation import Party
from fedleak.core.whole.truth import SecretValues, Truth
from fedleak.models.boosted_model import BoostedModel
from fedleak.models.boosting.booster import FinishedTree
from fedleak.models.boosting.losses import Objective
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings
from fedleak.protocols.boosting.partner import ColumnOwner
from fedleak.protocols.usefulness import Usefulness, of_classes, of_numbers


def truth_of(owners: Sequence[ColumnOwner], settings: SecureBoostSettings) -> Truth:
    """Features and, for intervals, the same as ranges; bins; the split points of every party."""
    secrets: dict[Secret, SecretValues] = {}
    for owner in owners:
        party, name = owner.party, owner.party.name
        if party.train.labels is not None:
            labels = party.train.labels.astype(np.float64)[:, None]
            secrets[Secret(SecretKind.LABELS, name)] = SecretValues.spanning(party.train.ids, ("label",), labels)
        if not party.columns:
            continue
        ranges = _ranges(party, settings)
        values = SecretValues(party.train.ids, party.columns, party.train.features, ranges)
        secrets[Secret(SecretKind.FEATURES, name)] = secrets[Secret(SecretKind.RANGES, name)] = values
        bins = owner.columns.bins.astype(np.float64)
        secrets[Secret(SecretKind.BINS, name)] = SecretValues.spanning(party.train.ids, party.columns, bins)
        secrets[Secret(SecretKind.THRESHOLDS, name)] = _thresholds(owner, ranges)
    return Truth(secrets)


def _ranges(party: Party, settings: SecureBoostSettings) -> FloatArray:
    width = len(party.columns)
    if settings.unit_box:
        return np.tile([0.0, 1.0], (width, 1))
    present = np.where(np.isnan(party.train.features).all(axis=0), 0.0, party.train.features)
    return np.column_stack([np.nanmin(present, axis=0), np.nanmax(present, axis=0)])


def _thresholds(owner: ColumnOwner, ranges: FloatArray) -> SecretValues:
    """A row a node of the party; the range is that of all its columns."""
    ids = np.array([(tree, node) for tree, node, *_ in owner.splits], dtype=np.int64).reshape(-1, 2)
    values = np.array([threshold for *_, threshold, _ in owner.splits], dtype=np.float64)[:, None]
    return SecretValues(ids, ("threshold",), values, np.array([[ranges[:, 0].min(), ranges[:, 1].max()]]))


def held_by_labels(
    trees: Sequence[FinishedTree], model: BoostedModel, owners: Sequence[ColumnOwner], *, reveal_feature: bool
) -> Tree:
    """The structure of all trees, whose each node is, and the leaves' weights; of others' splits at most the column."""
    choices = [choice for tree in trees for choice in tree.grown.choices]
    owner = np.array([boosting.LEAF if choice is None else choice.owner for choice in choices], dtype=np.int64)
    offsets = np.array([one.offset for one in owners], dtype=np.int64)
    column = np.where(owner >= 0, model.feature - offsets[owner], boosting.LEAF)
    own = owner == 0
    told = own | ((owner > 0) & reveal_feature)
    return Tree(
        {
            "left": Array(model.left),
            "right": Array(model.right),
            "owner": Array(owner),
            "column": Array(np.where(told, column, boosting.HIDDEN)),
            "threshold": Array(np.where(own, model.threshold, np.nan)),
            "missing_left": Array(model.missing_left & own),
            "weight": Array(model.weight),
            "sizes": Array(model.sizes),
            "score_of_tree": Array(model.score_of_tree),
            "owners": Texts(tuple(one.actor.name for one in owners)),
            "first_score": Scalar(model.first_score),
        }
    )


def usefulness(parties: Sequence[Party], model: BoostedModel) -> Usefulness:
    """Accuracy, or the share of the labels' variance that is explained, on training and held-out rows."""
    found = Usefulness()
    trained_on = next((party.train.labels for party in parties if party.train.labels is not None), None)
    for name, slices in (("train", [p.train for p in parties]), ("test", [p.test for p in parties])):
        held = [part for part in slices if part is not None and len(part.ids)]
        if len(held) < len(slices) or held[0].labels is None or trained_on is None:
            continue
        predicted, labels = model.confidences(np.hstack([part.features for part in held])), held[0].labels
        if model.objective is Objective.SQUARED:
            found |= of_numbers(name, predicted[:, 0], labels, trained_on)
        else:
            found |= of_classes(name, np.argmax(predicted, axis=1), labels, trained_on)
    return found
