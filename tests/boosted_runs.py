"""Small federations of boosted trees for tests, made in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from federations import vertical
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.core.whole.run import Run
from fedleak.models.boosted_model import BoostedModel
from fedleak.models.boosting.losses import Objective
from fedleak.protocols.boosting import vocabulary as boosting
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


def model_of(result: Run) -> BoostedModel:
    """The whole model, from what all parties kept of it."""
    held = next(record.value.items for record in result.locals["bank"] if record.name == boosting.TREES.name)
    names = held["owners"].values
    columns = {name: next(r.value.columns for r in result.locals[name] if r.name == "features") for name in names}
    offsets = dict(zip(names, np.cumsum([0, *(len(columns[name]) for name in names)]), strict=False))
    starts = np.concatenate([[0], np.cumsum(held["sizes"].values)[:-1]])
    whole = {name: np.full(len(held["left"].values), empty) for name, empty in EMPTY.items()}
    for name in names:
        splits = next(record.value.values for record in result.locals[name] if record.name == boosting.SPLITS.name)
        for tree, node, column, threshold, missing_left in splits:
            place = int(starts[int(tree)] + node)
            whole["feature"][place] = offsets[name] + int(column)
            whole["threshold"][place], whole["missing_left"][place] = threshold, bool(missing_left)
    own = result.transcript.facts.of(boosting.BoostingFacts)
    alike = {name: held[name].values for name in ("left", "right", "weight", "sizes", "score_of_tree")}
    return BoostedModel(
        tuple(column for name in names for column in columns[name]),
        **alike,
        **whole,
        objective=Objective(own.objective),
        n_scores=own.n_classes if own.objective == "softmax" else 1,
        first_score=held["first_score"].value,
    )


EMPTY = {"feature": -1, "threshold": np.nan, "missing_left": False}
