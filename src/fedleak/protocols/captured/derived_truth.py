"""What follows from a truth and the weights that a transcript records, as our own protocols keep it.

Residuals, partial scores and inner products of a vertical model; records and inner products of columns where parties
hold rows of their own; what was served of a model that predicts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray, IntArray, positions_of
from fedleak.core.errors import DataError
from fedleak.core.facts import SIGMOIDS, Facts, PartyFacts
from fedleak.core.payload import Array, ModelSpec, Table
from fedleak.core.steps import DATA_ROLES
from fedleak.core.whole.federation import Party, Slice
from fedleak.core.whole.run import Captured
from fedleak.core.whole.truth import KeptSecret, SecretValues, Served, Truth
from fedleak.models.interpret import interpret
from fedleak.models.sigmoid import Approximation, residual
from fedleak.protocols.averaging.record_truth import truth_of as truth_of_rows
from fedleak.protocols.captured.holdings import rows_sent
from fedleak.protocols.captured.tree_truth import of_trees
from fedleak.protocols.linear.linear_outcome import RoundLog, gram_secrets, weight_secrets
from fedleak.protocols.linear.vocabulary import BATCH, RESIDUALS, WEIGHTS, LinearFacts
from fedleak.protocols.prediction.vocabulary import CONFIDENCES, MODEL, REQUEST


def derived_truth(given: Truth | None, captured: Captured) -> Truth:
    """Never complete: what it lacks cannot be checked."""
    if given is None:
        return Truth({}, complete=False)
    parties = _parties(given, captured.transcript.facts)
    holders = [party for party in parties if party.train.labels is not None]
    derived: dict[Secret, KeptSecret] = {}
    if len(holders) > 1:
        derived |= _of_rows(holders)
    else:
        derived |= _of_columns(parties, captured)
    derived |= of_trees(given, captured)
    served = given.served or _served(parties, captured)
    # What the truth says itself comes first, but for features of which only some rows were predicted.
    return Truth({**derived, **given.secrets, **_of_predicted(given, captured)}, served, complete=False)


def without_weights(captured: Captured) -> tuple[str, ...]:
    """Parties of a training in batches whose part of the scores nobody can compute: their weights are not recorded."""
    if next(rows_sent(captured, BATCH), None) is None:
        return ()
    parties = [party.name for party in captured.transcript.facts.parties if _may_hold_columns(party)]
    return tuple(name for name in parties if not any(r.name == WEIGHTS.name for r in captured.locals.get(name, ())))


def _may_hold_columns(party: PartyFacts) -> bool:
    return party.role in DATA_ROLES and party.n_features != 0


def _parties(given: Truth, facts: Facts) -> list[Party]:
    """Those of which the truth has rows, or labels."""
    found = []
    for party in facts.parties:
        features = _values(given, SecretKind.FEATURES, party.name)
        labels = _values(given, SecretKind.LABELS, party.name)
        if party.role not in DATA_ROLES or (features is None and labels is None):
            continue
        ids = (features or labels or _nothing()).ids
        rows = features.values if features else np.zeros((len(ids), 0))
        own = None if labels is None else _of_these(labels, ids, party.name)
        found.append(Party(party.name, party.role, features.columns if features else (), Slice(ids, rows, own)))
    return found


def _values(given: Truth, kind: SecretKind, owner: str) -> SecretValues | None:
    secret = Secret(kind, owner)
    return given.of(secret) if secret in given.secrets else None


def _nothing() -> SecretValues:
    return SecretValues(np.zeros(0, dtype=np.int64), (), np.zeros((0, 0)), np.zeros((0, 2)))


def _of_these(labels: SecretValues, ids: IntArray, owner: str) -> FloatArray:
    found = _Places(labels.ids, f"the truth must have a label for every row of {owner}").of(ids)
    return labels.values[found, 0]


def _of_rows(holders: Sequence[Party]) -> dict[Secret, KeptSecret]:
    """Parties with rows of their own: records, and inner products of columns, of groups of them."""
    alike = len({party.columns for party in holders}) == 1 and bool(holders[0].columns)
    return dict(truth_of_rows(holders).secrets) if alike else {}


def _of_columns(parties: Sequence[Party], captured: Captured) -> dict[Secret, KeptSecret]:
    wide = [party for party in parties if party.columns]
    found = _inner_products(wide)
    weights = {party.name: _weights_before(captured, party) for party in wide}
    known = [party for party in wide if weights[party.name]]
    found |= _logged(known, parties, captured, weights)
    final = [weights[party.name][max(weights[party.name])] for party in known]
    return found | dict(weight_secrets(known, final))


def _inner_products(wide: Sequence[Party]) -> dict[Secret, KeptSecret]:
    """Of groups where all have the same rows, of single parties otherwise."""
    if all(np.array_equal(party.train.ids, wide[0].train.ids) for party in wide):
        return gram_secrets(wide)
    return {secret: kept for party in wide for secret, kept in gram_secrets([party]).items()}


def _weights_before(captured: Captured, party: Party) -> dict[int, FloatArray]:
    """A record of round t holds the weights after it, so round t + 1 starts from them; setup is round -1."""
    found = {}
    for record in captured.locals.get(party.name, ()):
        if record.name == WEIGHTS.name and isinstance(record.value, Array):
            if record.value.values.shape != (len(party.columns),):
                raise DataError(
                    f"the truth of {party.name} must have the {len(record.value.values)} columns that it trained on; "
                    f"got {len(party.columns)}"
                )
            found[record.round + 1] = np.asarray(record.value.values, dtype=np.float64)
    return found


def _logged(
    known: Sequence[Party], parties: Sequence[Party], captured: Captured, weights: dict[str, dict[int, FloatArray]]
) -> dict[Secret, KeptSecret]:
    """Scores of the parties whose weights are recorded; residuals where those are all that hold columns."""
    facts = captured.transcript.facts
    with_columns = [party.name for party in facts.parties if _may_hold_columns(party)]
    whole = {party.name for party in known} >= set(with_columns)
    labels = next((party for party in parties if party.train.labels is not None), None)
    places = {party.name: _Places.in_truth_of(party) for party in parties}
    log = RoundLog([party.name for party in known])
    for number, ids in rows_sent(captured, BATCH):
        if not all(number in weights[party.name] for party in known):
            continue
        scores = [party.train.features[places[party.name].of(ids)] @ weights[party.name][number] for party in known]
        residuals = None
        if whole and labels is not None and labels.train.labels is not None:
            own = np.asarray(labels.train.labels, dtype=np.float64)[places[labels.name].of(ids)]
            residuals = _residuals(np.sum(scores, axis=0), own, facts)
        log.add(number, ids, residuals, scores)
    return log.secrets([party.name for party in known])


class _Places:
    """Where rows stand, looked up for many batches; ``rule`` is what a row breaks that is not there."""

    def __init__(self, ids: IntArray, rule: str) -> None:
        self._position = positions_of(ids)
        self._rule = rule

    @classmethod
    def in_truth_of(cls, party: Party) -> _Places:
        return cls(party.train.ids, f"the truth of {party.name} must have every row of a batch")

    def of(self, ids: IntArray) -> list[int]:
        missing = [int(row) for row in ids if int(row) not in self._position]
        if missing:
            raise DataError(f"{self._rule}; row {missing[0]} is not there")
        return [self._position[int(row)] for row in ids]


def _residuals(scores: FloatArray, labels: FloatArray, facts: Facts) -> FloatArray | None:
    """By the rule that the public facts name; None where they name none."""
    rule = facts.of(LinearFacts).residual or RESIDUALS.get(facts.approximation or "")
    if rule is not None:
        return rule.slope * (scores - rule.target(labels))
    if facts.approximation in SIGMOIDS:
        return residual(scores, 2.0 * labels - 1.0, Approximation(facts.approximation))
    return None


def _of_predicted(given: Truth, captured: Captured) -> dict[Secret, KeptSecret]:
    """Of a model that predicts, the secret is the rows that were predicted, and so are ranges of their values."""
    wanted = _requested(captured)
    found: dict[Secret, KeptSecret] = {}
    for secret in given.secrets:
        if secret.kind is SecretKind.FEATURES and len(wanted):
            values = given.of(secret)
            chosen = np.isin(values.ids, wanted)
            part = SecretValues(values.ids[chosen], values.columns, values.values[chosen], values.ranges)
            found |= {secret: part, Secret(SecretKind.RANGES, secret.owner): part}
    return found


def _requested(captured: Captured) -> IntArray:
    asked = [ids for _, ids in rows_sent(captured, REQUEST)]
    return np.concatenate(asked) if asked else np.zeros(0, dtype=np.int64)


def _served(parties: Sequence[Party], captured: Captured) -> Served | None:
    """The model with what went in, where the truth has every party's columns."""
    messages = captured.transcript.messages
    models = [m.payload for m in messages if m.step == MODEL.name and isinstance(m.payload, ModelSpec)]
    answers = [m.payload.values for m in messages if m.step == CONFIDENCES.name and isinstance(m.payload, Array)]
    ids = _requested(captured)
    columns = tuple(name for party in parties for name in party.columns)
    if not models or not answers or models[0].kind == "opaque":
        return None
    model = interpret(models[0])
    confidences = np.concatenate(answers)
    if set(columns) != set(model.columns) or len(confidences) != len(ids):
        return None
    wide = [party for party in parties if party.columns]
    rows = np.hstack([party.train.features[_Places.in_truth_of(party).of(ids)] for party in wide])
    return Served(models[0], Table(model.columns, ids, model.arrange(rows, columns)), confidences)
