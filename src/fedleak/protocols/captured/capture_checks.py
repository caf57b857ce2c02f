"""Whether a capture from elsewhere means what its names say, told in one line before anything runs on it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from fedleak.core.errors import FileFormatError
from fedleak.core.fact_checks import MAX_NAME_CHARS, NAME_RULE, is_party_name, wrong_fact
from fedleak.core.payload import Array, Table
from fedleak.core.steps import FEATURES, RecordName
from fedleak.core.transcript import Record
from fedleak.core.whole.run import Captured
from fedleak.protocols import vocabularies
from fedleak.protocols.captured.network_checks import check_networks
from fedleak.protocols.captured.sound_values import released_steps, unsound, unsound_message
from fedleak.protocols.linear.vocabulary import BATCH, OWN_GRADIENT, WEIGHTS

MAX_PARTIES = 200  # one adversary each
A_VALUE_A_COLUMN = (WEIGHTS, OWN_GRADIENT)


def check_capture(captured: Captured, path: Path) -> None:
    _check_parties(captured, path)
    _check_messages(captured, path)
    check_networks(captured, path)
    tables = {}
    known = tuple(name for words in vocabularies() for name in words.records)
    for party, records in captured.locals.items():
        for record in records:
            _check_form(party, record, known, path)
            _told(unsound(f"the record {record.name!r} of {party}", record.round, record.value), path)
            if record.name == FEATURES.name and isinstance(record.value, Table):
                tables[party] = record.value
    for party, table in tables.items():
        _check_widths(party, table, captured, path)
    _check_rows(tables, captured, path)


def _check_parties(captured: Captured, path: Path) -> None:
    parties = captured.transcript.facts.parties
    counts = Counter(party.name for party in parties)
    if not 0 < len(parties) <= MAX_PARTIES:
        raise FileFormatError(f"{path} must name 1 to {MAX_PARTIES} parties; got {len(parties)}")
    for name, count in counts.items():
        if count > 1 or not is_party_name(name):
            raise FileFormatError(f"{path}: a party's name must be its own, {NAME_RULE}; got {name[:MAX_NAME_CHARS]!r}")
    wrong = wrong_fact(captured.transcript.facts)
    if wrong:
        raise FileFormatError(f"{path}: {wrong}")


def _check_messages(captured: Captured, path: Path) -> None:
    released = released_steps()
    for message in captured.transcript.messages:
        _told(unsound_message(message.step, message.round, message.payload, released), path)


def _told(wrong: str, path: Path) -> None:
    if wrong:
        raise FileFormatError(f"{path}: {wrong}")


def _check_form(party: str, record: Record, names: tuple[RecordName, ...], path: Path) -> None:
    """A record under a known name has the form that everybody expects under it."""
    known = [name for name in names if name.covers(record.name)]
    if known and not any(isinstance(record.value, name.payload) for name in known):
        raise FileFormatError(
            f"{path}: the record {record.name!r} of {party} must be of the form {known[0].payload.__name__}; "
            f"got {type(record.value).__name__}. Record it under a name of your own if it is something else"
        )


def _check_widths(party: str, table: Table, captured: Captured, path: Path) -> None:
    if len(set(table.ids.tolist())) != len(table.ids):
        raise FileFormatError(f"{path}: the rows of {party}'s features must each have an id of their own")
    for record in captured.locals[party]:
        expected = any(record.name == name.name for name in A_VALUE_A_COLUMN)
        if expected and isinstance(record.value, Array) and record.value.values.shape != (len(table.columns),):
            raise FileFormatError(
                f"{path}: the record {record.name!r} of {party} must have a value for each of its "
                f"{len(table.columns)} columns; got shape {record.value.values.shape} in round {record.round}"
            )


def _check_rows(tables: dict[str, Table], captured: Captured, path: Path) -> None:
    """Batches are of rows that the parties with features hold."""
    for message in captured.transcript.messages:
        if message.step != BATCH.name:
            continue
        if not isinstance(message.payload, Array) or message.payload.values.dtype.kind not in "iu":
            raise FileFormatError(f"{path}: a message {BATCH} must hold row ids, whole numbers; one does not")
        for party, table in tables.items():
            missing = np.setdiff1d(message.payload.values, table.ids)
            if len(missing):
                raise FileFormatError(
                    f"{path}: the rows of {BATCH} must be rows of {party}'s features; got {missing[0]} in round "
                    f"{message.round}"
                )
