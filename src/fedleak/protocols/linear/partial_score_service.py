"""After training with an arbiter, what a passive party serves: its part of a score, in plaintext, as FATE predicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import OracleError
from fedleak.core.oracle import Answer, OracleSpec, Service
from fedleak.core.payload import Array, Payload
from fedleak.core.transcript import Message
from fedleak.protocols.linear import vocabulary as linear
from fedleak.protocols.linear.member import Member


def service_name(owner: str) -> str:
    return f"partial-score:{owner}"


def partial_score_services(members: Sequence[Member]) -> dict[str, Service]:
    """One service a passive party, open to the active one (the first member)."""
    client = members[0].actor.name
    return {
        service_name(member.actor.name): _partial_scores(member.actor.name, client, member.weights)
        for member in members[1:]
    }


def _partial_scores(owner: str, client: str, weights: FloatArray) -> Service:
    spec = OracleSpec(
        service_name(owner),
        input=f"rows in the {len(weights)} columns of {owner}, as an array",
        answer=f"the partial score of {owner} for each row, in plaintext",
    )

    def serve(query: Payload) -> Answer:
        if not isinstance(query, Array) or query.values.ndim != 2 or query.values.shape[1] != len(weights):
            raise OracleError(f"a query to {spec.name} must be rows of {len(weights)} numbers")
        scores = np.asarray(query.values, dtype=np.float64) @ weights
        return Answer((Message(linear.PARTIAL_SCORE.name, 0, owner, client, Array(scores)),))

    return Service(owner, (client,), spec, serve)
