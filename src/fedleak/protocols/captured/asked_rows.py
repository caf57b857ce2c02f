"""Questions that were asked while a run was captured: rows of a party's own making, and its partner's scores of them.

Whoever asked may ask them again; other questions have no answer, since the run is over.
"""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import OracleError
from fedleak.core.oracle import Answer, OracleSpec, Service
from fedleak.core.payload import Array, Payload
from fedleak.core.transcript import Message
from fedleak.core.whole.run import Captured
from fedleak.protocols.linear import vocabulary as linear
from fedleak.protocols.linear.partial_score_service import service_name


def asked_services(captured: Captured) -> dict[str, Service]:
    """By the name that a live service of the kind has."""
    found = {}
    owners = [party.name for party in captured.transcript.facts.parties]
    for owner, client in ((owner, client) for owner in owners for client in captured.locals):
        rows, scores = _asked(captured, owner, client), _answered(captured, owner, client)
        if rows and scores:
            found[service_name(owner)] = _replayed(owner, client, np.vstack(rows), np.concatenate(scores))
    return found


def _asked(captured: Captured, owner: str, client: str) -> list[FloatArray]:
    name = linear.ASKED_OF.of(owner).name
    return [r.value.values for r in captured.locals[client] if r.name == name and isinstance(r.value, Array)]


def _answered(captured: Captured, owner: str, client: str) -> list[FloatArray]:
    way = (linear.PARTIAL_SCORE.name, owner, client)
    sent = [m.payload for m in captured.transcript.messages if (m.step, m.sender, m.receiver) == way]
    return [payload.values for payload in sent if isinstance(payload, Array)]


def _replayed(owner: str, client: str, rows: FloatArray, scores: FloatArray) -> Service:
    spec = OracleSpec(
        service_name(owner),
        input=f"one of the {len(rows)} rows in the columns of {owner} that were asked about, as an array",
        answer=f"the partial score of {owner} for it, in plaintext, as it was captured",
    )
    known = {_key(row): score for row, score in zip(rows, scores.ravel().tolist(), strict=False)}

    def serve(query: Payload) -> Answer:
        asked = query.values if isinstance(query, Array) else np.zeros((0, 0))
        if asked.ndim != 2 or any(_key(row) not in known for row in asked):
            raise OracleError(f"{spec.name} must be asked about rows that were asked about in the captured run")
        answered = np.array([known[_key(row)] for row in asked])
        return Answer((Message(linear.PARTIAL_SCORE.name, 0, owner, client, Array(answered)),))

    return Service(owner, (client,), spec, serve)


def _key(row: FloatArray) -> bytes:
    return np.ascontiguousarray(row, dtype=np.float64).tobytes()
