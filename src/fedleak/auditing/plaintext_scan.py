"""``plaintext-scan``: how well each message alone predicts the labels or a column of somebody else, whatever it means.

For the owner of a secret, who knows it: this is no attack, since it is told the truth. What a message is chosen by and
what it is scored on are different rows (``halved_rows``). It *tells* where it says more than the receiver's own columns
do, beyond luck, with as many chances as there are lines (Holm 1979).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fedleak.auditing.halved_rows import About, Measured, Visit
from fedleak.auditing.message_readings import Part, is_encrypted, looks_like_ids, parts_of
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.payload import Array
from fedleak.core.transcript import EVERYONE, Message
from fedleak.core.whole.run import Captured
from fedleak.core.whole.truth import Truth
from fedleak.metrics.blind import own_rows
from fedleak.metrics.metric import LUCK
from fedleak.trial.luck import holm

SCANNED = (SecretKind.LABELS, SecretKind.FEATURES)
MOST_VISITS = 64  # messages about one row, of one step, that are looked at


@dataclass(frozen=True)
class Line:
    """One step to one receiver, and what its messages tell about one column; nothing where they are not by row."""

    step: str
    sender: str
    receiver: str
    messages: int
    encrypted: bool  # nothing but ciphertexts was sent; what was read is what needs no key
    secret: str = ""
    column: str = ""
    measured: Measured | None = None
    p_corrected: float = 1.0

    @property
    def tells(self) -> bool:
        found = self.measured
        return found is not None and found.value > found.baseline and self.p_corrected <= LUCK


def plaintext_scan(captured: Captured, truth: Truth) -> list[Line]:
    """Those that tell first; a line for each step, receiver and secret, of whose columns the one that is told best."""
    lines = [line for channel in _channels(captured, truth) for line in channel.lines(truth) or [channel.line()]]
    tested = [line for line in lines if line.measured is not None]
    corrected = holm([line.measured.p_value for line in tested if line.measured is not None])
    decided = [replace(line, p_corrected=chance) for line, chance in zip(tested, corrected, strict=True)]
    best: dict[tuple[str, ...], Line] = {}
    for line in decided:
        key = (line.step, line.sender, line.receiver, line.secret)
        best[key] = min(best.get(key, line), line, key=_order)
    return [*sorted(best.values(), key=_order), *(line for line in lines if line.measured is None)]


def _order(line: Line) -> tuple[bool, float, float]:
    return not line.tells, line.p_corrected, -line.measured.value if line.measured else 0.0


@dataclass(eq=False)
class _Channel:
    """All messages of one step from one party to one other."""

    step: str
    sender: str
    receiver: str
    messages: int = 0
    encrypted: bool = True
    # By the number of the visit: names of readings, and by row what they are
    visits: dict[int, dict[int, tuple[tuple[str, ...], FloatArray]]] = field(default_factory=lambda: defaultdict(dict))
    seen: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))

    def add(self, part: Part, ids: IntArray) -> None:
        first = part.names[0] if part.names else ""
        for row, values in zip(ids.tolist(), part.readings, strict=True):
            visit = self.seen[first, row]
            self.seen[first, row] += 1
            if visit < MOST_VISITS:
                names, before = self.visits[visit].get(row, ((), np.empty(0)))
                self.visits[visit][row] = (*names, *part.names), np.concatenate([before, values])

    def line(self) -> Line:
        return Line(self.step, self.sender, self.receiver, self.messages, self.encrypted)

    def lines(self, truth: Truth) -> list[Line]:
        visits = list(self._tables())
        own = self.line()
        found = []
        for secret in truth.secrets:
            if secret.kind not in SCANNED or secret.owner == self.receiver or not truth.of(secret).is_table:
                continue
            values = truth.of(secret)
            beside = own_rows(truth, (self.receiver,), secret, values).beside
            for place, column in enumerate(values.columns):
                measured = About(values.ids, values.values[:, place], beside).best(visits)
                if measured is not None:
                    found.append(replace(own, secret=str(secret), column=column, measured=measured))
        return found

    def _tables(self) -> Iterator[Visit]:
        for visit, rows in self.visits.items():
            names = max((found[0] for found in rows.values()), key=len)
            whole = {row: values for row, (told, values) in rows.items() if told == names}
            ids = np.array(sorted(whole), dtype=np.int64)
            yield Visit(visit, names, ids, np.stack([whole[row] for row in ids.tolist()]))


def _channels(captured: Captured, truth: Truth) -> list[_Channel]:
    known = {row for secret in truth.secrets for row in _rows_of(truth, secret).tolist()}
    tables = [ids for secret in truth.secrets if len(ids := _rows_of(truth, secret))]
    batches = _batches(captured.transcript.messages, known)
    parties = [party.name for party in captured.transcript.facts.parties]
    found: dict[tuple[str, str, str], _Channel] = {}
    for message in captured.transcript.messages:
        to = parties if message.receiver == EVERYONE else [message.receiver]
        parts = list(parts_of(message.payload))
        for receiver in (name for name in to if name != message.sender):
            key = (message.step, message.sender, receiver)
            channel = found.setdefault(key, _Channel(*key))
            channel.messages += 1
            channel.encrypted &= is_encrypted(message.payload)
            for part in parts:
                rows = _ids(part, batches.get(message.round, ()), tables, known)
                if rows is not None:
                    channel.add(part, rows)
    return list(found.values())


def _rows_of(truth: Truth, secret: Secret) -> IntArray:
    held = secret.kind in SCANNED
    return truth.of(secret).ids if held else np.zeros(0, dtype=np.int64)


def _batches(messages: Sequence[Message], known: set[int]) -> dict[int, list[IntArray]]:
    """By round the lists of row ids that somebody sent, whatever the step is called."""
    found: dict[int, list[IntArray]] = defaultdict(list)
    for message in messages:
        payload = message.payload
        if isinstance(payload, Array) and looks_like_ids(payload.values) and known.issuperset(payload.values.tolist()):
            found[message.round].append(payload.values.astype(np.int64))
    return found


def _ids(part: Part, batches: Sequence[IntArray], tables: Sequence[IntArray], known: set[int]) -> IntArray | None:
    """Of a part's rows: those that came with it, else those of the round's batch, else all of a table's, in its order.
    A list of ids is no reading of its own rows."""
    size = len(part.readings)
    if part.ids is not None and known.issuperset(part.ids.tolist()):
        return np.asarray(part.ids, dtype=np.int64)
    for ids in (*batches, *tables):
        if len(ids) == size:
            return None if np.array_equal(part.readings[:, 0], ids) else ids
    return None
