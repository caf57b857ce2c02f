"""The truth about a captured run, from a folder as a ``Recorder`` writes it, from a CSV file, or from an .npz archive
of one party's rows.

A CSV file has a column ``id`` with the row ids of the transcript, perhaps a column ``label`` of the one party with
labels, and columns of the parties: ``bank:income``, or ``income`` where the transcript says whose it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.errors import DataError, listed
from fedleak.core.facts import SIGMOIDS, Facts
from fedleak.core.payload import Scalar, Table
from fedleak.core.steps import DATA_ROLES, FEATURES, Role
from fedleak.core.whole.run import Captured
from fedleak.core.whole.truth import SecretValues, Truth
from fedleak.data.sources.binary_files import PEAK_BYTE, read_arrays, samples
from fedleak.data.sources.text_files import existing_file, read_delimited
from fedleak.protocols.captured.holdings import rows_sent
from fedleak.protocols.captured.network_checks import WHOLE, networks_in
from fedleak.protocols.linear.vocabulary import BATCH
from fedleak.protocols.prediction.vocabulary import COLUMNS, REQUEST
from fedleak.storage.capture_and_truth import load_truth

if TYPE_CHECKING:
    import pandas as pd

ID, LABEL, OF = "id", "label", ":"
NONE = np.zeros(0, dtype=np.int64)
EXACT = 2.0**53  # beyond, numbers of a file are no longer told apart


def read_truth(path: Path, captured: Captured) -> Truth:
    found = load_truth(path) if path.is_dir() else _from_file(path, captured)
    names = {party.name for party in captured.transcript.facts.parties}
    for secret in found.secrets:
        if secret.kind in (SecretKind.FEATURES, SecretKind.LABELS) and secret.owner not in names:
            raise DataError(f"{path}: the truth must be about parties of the transcript; got {secret.owner!r}")
    _check_rows(path, found, captured)
    _check_shapes(path, found, captured)
    _check_classes(path, found, captured.transcript.facts)
    return found


def _check_classes(path: Path, truth: Truth, facts: Facts) -> None:
    """Of a model of two classes; attacks answer 0 or 1, and labels -1 and 1 would pass for wrong answers."""
    if facts.approximation not in SIGMOIDS:
        return
    for secret in truth.secrets:
        values = truth.of(secret).values if secret.kind is SecretKind.LABELS else NONE
        other = values[~np.isin(values, (0, 1))]
        if other.size:
            raise DataError(
                f"{path}: the {secret} must be 0 and 1, as of a model of two classes; got {other[0]:g}. Write 1 for "
                "the class that the model scores high"
            )


ROWS_OF = {SecretKind.FEATURES: (BATCH, REQUEST), SecretKind.LABELS: (BATCH,)}


def _check_rows(path: Path, truth: Truth, captured: Captured) -> None:
    """Held against other rows, whatever leaked would look like no leak."""
    rows = {step: [ids for _, ids in rows_sent(captured, step)] for step in (BATCH, REQUEST)}
    for secret in truth.secrets:
        for step in ROWS_OF.get(secret.kind, ()):
            missing = np.setdiff1d(np.concatenate(rows[step] or [NONE]), truth.of(secret).ids)
            if len(missing):
                raise DataError(
                    f"{path}: the truth must have the {secret} for every row of {step}, under the transcript's row "
                    f"ids; row {missing[0]} is not there"
                )


def _check_shapes(path: Path, truth: Truth, captured: Captured) -> None:
    """Rows are what their party's network takes, channels last where they are pictures."""
    taken = networks_in(captured)
    for secret in truth.secrets:
        network = taken.get(secret.owner, taken.get(WHOLE))
        if network is None or secret.kind not in (SecretKind.FEATURES, SecretKind.IMAGES):
            continue
        shape = truth.of(secret).cell_shape
        if shape != network.cell_shape:
            raise DataError(
                f"{path}: rows of {secret.owner} must be of shape {network.cell_shape}, as its network takes them; "
                f"got {shape}"
            )


def _from_file(path: Path, captured: Captured) -> Truth:
    return _from_archive(path, captured) if path.suffix == ".npz" else _from_csv(path, captured)


def _from_archive(path: Path, captured: Captured) -> Truth:
    """Rows of the one active party, numbered from 0: ``x``, pictures (channels last, bytes or 0 to 1) or a table, and
    perhaps ``y``, their labels."""
    rows, labels, _ = samples(path, read_arrays(path))
    holder = _label_holder(path, captured.transcript.facts)
    ids = np.arange(len(rows), dtype=np.int64)
    cells = rows / PEAK_BYTE if rows.dtype == np.uint8 else rows.astype(np.float64)
    if not np.isfinite(cells).all():
        raise DataError(f"{path}: x must have a number in every cell; some are missing")
    secrets: dict[Secret, SecretValues] = {}
    if cells.ndim > 2:
        pictures = cells if cells.ndim == 4 else cells[..., None]
        secrets[Secret(SecretKind.IMAGES, holder)] = SecretValues(ids, (), pictures, np.array([0.0, 1.0]))
    else:
        names = tuple(f"x{i}" for i in range(cells.shape[1]))
        secrets[Secret(SecretKind.FEATURES, holder)] = SecretValues.spanning(ids, names, cells)
    if labels is not None:
        column = np.asarray(labels, dtype=np.float64).reshape(len(ids), 1)
        secrets[Secret(SecretKind.LABELS, holder)] = SecretValues.spanning(ids, (LABEL,), column)
    return Truth(secrets)


def _from_csv(path: Path, captured: Captured) -> Truth:
    frame = read_delimited(existing_file(path))
    if ID not in frame.columns:
        raise DataError(f"{path} must have a column {ID!r} with the transcript's row ids; got {_names(frame)}")
    ids = _numbers(path, frame, ID)
    if not np.array_equal(ids, np.rint(ids)) or len(np.unique(ids)) != len(ids) or np.abs(ids).max(initial=0) > EXACT:
        raise DataError(f"{path}: the column {ID!r} must hold whole numbers, each once")
    rows: IntArray = ids.astype(np.int64)
    facts = captured.transcript.facts
    secrets = {}
    if LABEL in frame.columns:
        secrets[Secret(SecretKind.LABELS, _label_holder(path, facts))] = _cells(path, frame, rows, {LABEL: LABEL})
    for party, columns in _columns_by_party(path, frame, captured).items():
        secrets[Secret(SecretKind.FEATURES, party)] = _cells(path, frame, rows, columns)
    if not secrets:
        raise DataError(f"{path} must have a column {LABEL!r}, or columns such as bank{OF}income; got {_names(frame)}")
    return Truth(secrets)


def _cells(path: Path, frame: pd.DataFrame, ids: IntArray, columns: Mapping[str, str]) -> SecretValues:
    """``columns``: the file's name of each of the secret's columns."""
    values = np.column_stack([_numbers(path, frame, name) for name in columns.values()])
    return SecretValues.spanning(ids, tuple(columns), values)


def _numbers(path: Path, frame: pd.DataFrame, name: str) -> AnyArray:
    try:
        values = frame[name].to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}: the column {name!r} must hold numbers, as they went into the training") from error
    if not np.isfinite(values).all():
        raise DataError(f"{path}: the column {name!r} must have a number in every row; some are missing")
    return values


def _label_holder(path: Path, facts: Facts) -> str:
    holders = [party.name for party in facts.with_role(Role.ACTIVE)]
    if len(holders) != 1:
        raise DataError(
            f"{path}: a column {LABEL!r} must belong to the one active party; the transcript has {len(holders)}. "
            "Write a truth folder with Recorder.truth instead"
        )
    return holders[0]


def _columns_by_party(path: Path, frame: pd.DataFrame, captured: Captured) -> dict[str, dict[str, str]]:
    """By party: its columns, each with its name in the file; in the transcript's order where that has one."""
    parties = [party.name for party in captured.transcript.facts.parties if party.role in DATA_ROLES]
    known = _recorded_columns(captured)
    owners = {column: party for party, columns in known.items() for column in columns}
    found: dict[str, dict[str, str]] = {}
    for name in map(str, frame.columns):
        if name in (ID, LABEL):
            continue
        party, _, column = name.rpartition(OF)
        owner = party if party in parties else owners.get(name)
        if owner is None:
            raise DataError(
                f"{path}: the column {name!r} must belong to a party; write it as one of "
                f"{listed(tuple(f'{p}{OF}{name}' for p in parties))}"
            )
        found.setdefault(owner, {})[column if party in parties else name] = name
    return {party: _in_order(path, party, columns, known.get(party)) for party, columns in found.items()}


def _in_order(path: Path, party: str, columns: dict[str, str], known: tuple[str, ...] | None) -> dict[str, str]:
    """A guess has the victim's columns in the order in which it trained: the truth must have the same."""
    if known is None:
        return columns
    if set(known) != set(columns):
        raise DataError(
            f"{path}: the columns of {party} must be those of the transcript, {listed(known)}; got "
            f"{listed(tuple(columns))}"
        )
    return {name: columns[name] for name in known}


def _recorded_columns(captured: Captured) -> dict[str, tuple[str, ...]]:
    """From what parties published, or from their own tables where the transcript has them."""
    found: dict[str, tuple[str, ...]] = {}
    for message in captured.transcript.messages:
        if message.step == COLUMNS.name and isinstance(message.payload, Scalar):
            found[message.sender] = _published(message.payload)
    for party, records in captured.locals.items():
        for record in records:
            if record.name == FEATURES.name and isinstance(record.value, Table):
                found[party] = record.value.columns
    return found


def _published(payload: Scalar) -> tuple[str, ...]:
    try:
        names = json.loads(str(payload.value))
    except ValueError:
        names = None
    if not isinstance(names, list):
        raise DataError(f"a message {COLUMNS} must hold a JSON list of names; got {str(payload.value)[:80]!r}")
    return tuple(map(str, names))


def _names(frame: pd.DataFrame) -> str:
    return listed(tuple(map(str, frame.columns)))
