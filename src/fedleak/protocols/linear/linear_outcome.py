"""What a run of a vertically federated linear model leaves behind: the truth and the model's accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from fedleak.core.adversary import JOINT, Secret, SecretKind, together
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.core.whole.truth import KeptSecret, SecretValues, Truth, groups_of
from fedleak.protocols.usefulness import Usefulness, of_classes, of_numbers

MAX_GRAM_CELLS = 1_000_000  # inner products of all pairs of more rows would outweigh the data: a sample of rows is kept
SAMPLE_SEED = 20  # of that sample; the runs' randomness does not enter


class RoundLog:
    """The true residual and the parties' scores of every row of every batch, as they were when the round began."""

    def __init__(self, parties: Sequence[str] = ()) -> None:
        self._visits: list[tuple[int, IntArray]] = []
        self._residuals: list[FloatArray] = []
        self._scores: dict[str, list[FloatArray]] = {name: [] for name in parties}

    def add(
        self, round_number: int, row_ids: IntArray, residual: FloatArray | None, scores: Sequence[FloatArray] = ()
    ) -> None:
        """``residual`` None where it is not known: a run that was captured may lack what it takes."""
        self._visits.append((round_number, row_ids))
        if residual is not None:
            self._residuals.append(residual)
        for column, score in zip(self._scores.values(), scores, strict=True):
            column.append(score)

    def secrets(self, order: Sequence[str]) -> dict[Secret, KeptSecret]:
        """Those that were known in every round; of groups of these parties the sum of their scores."""
        if not self._visits:
            return {}
        found: dict[Secret, KeptSecret] = {}
        if len(self._residuals) == len(self._visits):
            residuals = partial(_of_rounds, "residual", self._visits, [self._residuals])
            found[Secret(SecretKind.RESIDUALS, JOINT)] = residuals
        for group in groups_of([name for name in order if name in self._scores]):
            secret = Secret(SecretKind.PARTIAL_SCORES, together(group))
            found[secret] = partial(_of_rounds, "score", self._visits, [self._scores[name] for name in group])
        return found


def _of_rounds(
    name: str, visits: Sequence[tuple[int, IntArray]], terms: Sequence[Sequence[FloatArray]]
) -> SecretValues:
    """The sum of the terms, each an array a round."""
    values = np.sum([np.concatenate(parts) for parts in terms], axis=0)
    rows = np.concatenate([ids for _, ids in visits])
    rounds = np.repeat([number for number, _ in visits], [len(ids) for _, ids in visits])
    return SecretValues.spanning(np.column_stack([rounds, rows]), (name,), values[:, None])


def truth_of(federation: Federation, log: RoundLog) -> Truth:
    (active,) = federation.with_role(Role.ACTIVE)
    assert active.train.labels is not None
    wide = [party for party in federation.parties if party.columns]
    secrets: dict[Secret, KeptSecret] = {
        Secret(SecretKind.LABELS, active.name): SecretValues.spanning(
            active.train.ids, ("label",), active.train.labels.astype(float)[:, None]
        ),
        **log.secrets([party.name for party in wide]),
        **gram_secrets(wide),
    }
    for party in wide:
        secrets[Secret(SecretKind.FEATURES, party.name)] = SecretValues.spanning(
            party.train.ids, party.columns, party.train.features
        )
    return Truth(secrets)


def gram_secrets(wide: Sequence[Party]) -> dict[Secret, KeptSecret]:
    """Of every group of parties, whose columns stand side by side."""
    return {
        Secret(SecretKind.GRAM, together(party.name for party in group)): partial(_gram_values, group)
        for group in groups_of(wide)
    }


def _gram_values(group: Sequence[Party]) -> SecretValues:
    """Inner products of the training rows: a row and a column for each. Of many rows a random sample has its products
    with all of them; the columns' ranges are always those over all rows."""
    features, ids = np.hstack([party.train.features for party in group]), group[0].train.ids
    columns = tuple(f"row {row}" for row in ids)
    n_scored = MAX_GRAM_CELLS // max(len(ids), 1)
    if n_scored >= len(ids):
        return SecretValues.spanning(ids, columns, features @ features.T)
    n_scored = max(n_scored, 1)
    scored = np.sort(np.random.default_rng(SAMPLE_SEED).permutation(len(ids))[:n_scored])
    sampled = f"{n_scored} of {len(ids)} rows, drawn at random, with all rows"
    return SecretValues(ids[scored], columns, features[scored] @ features.T, _gram_ranges(features, n_scored), sampled)


def _gram_ranges(features: FloatArray, block: int) -> FloatArray:
    """The lowest and highest inner product of every row with any, a block of rows at a time."""
    found = np.empty((len(features), 2))
    for start in range(0, len(features), block):
        products = features[start : start + block] @ features.T
        found[start : start + block] = np.column_stack([products.min(axis=1), products.max(axis=1)])
    return found


def utility(parties: Sequence[Party], weights: Sequence[FloatArray]) -> Usefulness:
    """Share of rows on the right side of the decision boundary."""
    trained_on = _labels_of([party.train for party in parties]) > 0
    return _both(
        parties, weights, lambda rows, scores, labels: of_classes(rows, scores > 0, labels > 0, trained_on=trained_on)
    )


def regression_utility(parties: Sequence[Party], weights: Sequence[FloatArray]) -> Usefulness:
    """Share of the labels' variance that the model explains, where rows are there to tell."""
    trained_on = _labels_of([party.train for party in parties])
    return _both(parties, weights, lambda rows, scores, labels: of_numbers(rows, scores, labels, trained_on))


def _both(
    parties: Sequence[Party],
    weights: Sequence[FloatArray],
    measured: Callable[[str, FloatArray, FloatArray], Usefulness],
) -> Usefulness:
    """On the training rows, and on those that were held out if there are any."""
    found = Usefulness()
    for name, parts in (("train", [p.train for p in parties]), ("test", [p.test for p in parties])):
        held = [part for part in parts if part is not None and len(part.ids)]
        if len(held) == len(parts):
            scores = sum((_score(part, own) for part, own in zip(held, weights, strict=True)), np.zeros(1))
            found |= measured(name, scores, _labels_of(held))
    return found


def _labels_of(parts: Sequence[Slice]) -> FloatArray:
    return next(np.asarray(part.labels, dtype=np.float64) for part in parts if part.labels is not None)


def _score(part: Slice, weights: FloatArray) -> FloatArray:
    # A deviation may have widened a party's features; the model's own columns come first.
    n_columns = part.features.shape[1]
    return part.features @ weights[:n_columns]


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
