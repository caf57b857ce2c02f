"""A partner's scores of training rows, read off: what a framework sends in plaintext to validate on them.

FATE scores training rows after an epoch like rows to be predicted, and then the partner's part of each score is a
plain number (its issue 1779). No equation is solved, so no batch is too large; every party is seen apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray, IntArray, positions_of
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array
from fedleak.core.steps import FEATURES
from fedleak.core.view import View
from fedleak.protocols.linear import vocabulary as linear


@dataclass(frozen=True, eq=False)
class ValidatedRound:
    """A round that begins with weights whose scores are known."""

    number: int
    ids: IntArray
    scores: FloatArray


class ValidationScores(Attack):
    name = "validation-scores"
    summary = "reads the partner's scores of training rows off the plaintext that validation sends"
    reference = Reference("fedleak", "FATE's issue 1779")
    requires = frozenset({Capability.VALIDATION_SCORES, Capability.BATCH_IDS, Capability.OWN_FEATURES})
    produces = SecretKind.PARTIAL_SCORES
    apart = True

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        found = list(validated_rounds(view, (view.target.owner,)))
        n_rounds = sum(1 for _ in view.at(linear.BATCH))
        if not found:
            raise MissingFromViewError(f"the view holds no validation after which {view.target.owner} trained on")
        return Guess(
            view.target,
            Status.RECOVERED if len(found) == n_rounds else Status.PARTIAL,
            np.concatenate([np.column_stack([np.full(len(one.ids), one.number), one.ids]) for one in found]),
            np.concatenate([one.scores for one in found])[:, None],
            evidence={"rounds with known scores": len(found), "rounds": n_rounds},
            why=f"{len(found)} of {n_rounds} rounds begin with weights whose scores were sent in plaintext",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if facts.capabilities is not None and Capability.VALIDATION_SCORES not in facts.capabilities:
            return Prediction(Verdict.IMPOSSIBLE, ("training rows are not validated in plaintext",))
        return Prediction(Verdict.PARTIAL, ("scores of all training rows are sent after an epoch, exactly",))


def validated_rounds(view: View, owners: tuple[str, ...]) -> Iterator[ValidatedRound]:
    """Rounds right after a validation, or from zero weights, with the sum of the owners' scores of the batch."""
    ids = next(view.table(FEATURES, name).ids for name in view.coalition if FEATURES.name in view.names(name))
    position = positions_of(ids)
    sent: dict[int, dict[str, FloatArray]] = {}
    for message in view.at(linear.VALIDATION_SCORE):
        if message.sender in owners and isinstance(message.payload, Array):
            sent.setdefault(message.round + 1, {})[message.sender] = message.payload.values
    if view.facts.initialisation == "zero":
        sent[0] = {name: np.zeros(len(ids)) for name in owners}
    for message in view.at(linear.BATCH):
        scores = sent.get(message.round, {})
        if len(scores) == len(owners) and isinstance(message.payload, Array):
            batch = np.asarray(message.payload.values, dtype=np.int64)
            rows = [position[int(row)] for row in batch]
            yield ValidatedRound(message.round, batch, np.sum([scores[name][rows] for name in owners], axis=0))
