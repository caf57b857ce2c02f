"""Plain values of somebody's training loop as payloads: arrays, numbers, texts, dictionaries, ciphertexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.errors import InputError
from fedleak.core.payload import ARRAY_KINDS, Array, CipherArray, Payload, Scalar, Table, Texts, Tree, plain_scalar

MAX_LEVELS = 32  # of dictionaries within dictionaries
PAYLOADS = get_args(Payload)


@dataclass(frozen=True)
class Ciphertexts:
    """Whole numbers, one a ciphertext, as a sequence or a numpy array of Python integers; ``key`` names the key that
    they are under. ``fraction_bits``: of the fixed-point encoding, 0 for whole plaintexts. ``exponents`` and ``signs``
    (-1, 0 or 1): one beside each ciphertext, where the framework sends them in plaintext."""

    values: Any
    key: str
    scheme: str = "paillier"
    fraction_bits: int = 0
    exponents: Any = None
    signs: Any = None

    def to_payload(self, what: str) -> CipherArray:
        numbers = np.asarray(self.values, dtype=object)
        flat = [_ciphertext(number, what) for number in numbers.ravel().tolist()]
        n_bytes = max(1, -(-max((number.bit_length() for number in flat), default=1) // 8))
        packed = b"".join(number.to_bytes(n_bytes, "big") for number in flat)
        data = np.frombuffer(packed, dtype=np.uint8).reshape(len(flat), n_bytes)
        return CipherArray(
            self.key,
            self.scheme,
            data,
            numbers.shape,
            self.fraction_bits,
            self._beside(self.exponents, len(flat), np.int64, f"the exponents of {what}"),
            self._beside(self.signs, len(flat), np.int8, f"the signs of {what}"),
        )

    def _beside(self, given: object, count: int, dtype: type[np.integer[Any]], what: str) -> AnyArray | None:
        if given is None:
            return None
        found = array_of(given, what).ravel()
        too_large = dtype is np.int8 and bool((found > 1).any() or (found < -1).any())
        if len(found) != count or found.dtype.kind not in "iu" or too_large:
            raise InputError(f"{what} must be {count} whole numbers, one for each ciphertext, signs -1, 0 or 1")
        return found.astype(dtype)


def _ciphertext(number: object, what: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
        raise InputError(f"ciphertexts in {what} must be whole numbers from 0 on; got {number!r:.80}")
    return int(number)


def as_payload(value: object, what: str, level: int = 0) -> Payload:
    """A payload passes as it is; arrays must hold numbers or booleans."""
    if isinstance(value, PAYLOADS):
        found: Payload = value
        return found
    if isinstance(value, Ciphertexts):
        return value.to_payload(what)
    if isinstance(value, Mapping):
        return _tree(value, what, level)
    if isinstance(value, np.ndarray | Sequence) and not isinstance(value, str | bytes):
        if len(value) and not isinstance(value, np.ndarray) and all(isinstance(item, str) for item in value):
            return Texts(tuple(value))
        return Array(array_of(value, what))
    try:
        return Scalar(plain_scalar(value))
    except TypeError as error:
        raise InputError(
            f"{what} must be a numpy array, a number, a text, a dictionary of these or Ciphertexts; "
            f"got {type(value).__name__}"
        ) from error


def _tree(value: Mapping[Any, object], what: str, level: int) -> Tree:
    if level >= MAX_LEVELS:
        raise InputError(f"{what} must be dictionaries at most {MAX_LEVELS} deep; got deeper ones")
    for name in value:
        if not isinstance(name, str):
            raise InputError(f"{what} must have texts as keys; got {name!r:.80}")
    return Tree({name: as_payload(item, f"{what}.{name}", level + 1) for name, item in value.items()})


def array_of(value: object, what: str) -> AnyArray:
    try:
        found: AnyArray = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{what} must be a numpy array, or lists of equal length; got lists that differ") from error
    if found.dtype.kind not in ARRAY_KINDS:
        raise InputError(f"{what} must hold numbers or booleans; got dtype {found.dtype}")
    return found


def as_table(value: object, what: str, ids: object, columns: Sequence[str] | None, *, default: str) -> Table:
    """Rows with ids; a list of values is one column. Columns are called after ``default`` unless they are named."""
    cells = array_of(value, what)
    cells = cells[:, None] if cells.ndim == 1 else cells
    if cells.ndim != 2:
        raise InputError(f"{what} must be rows and columns; got {cells.ndim} dimensions")
    if ids is None:
        raise InputError(f"{what} must come with the ids of its {len(cells)} rows: ids=...")
    rows = row_ids(ids, f"the ids of {what}")
    if len(rows) != len(cells):
        raise InputError(f"{what} must have a row an id; got {len(cells)} rows and {len(rows)} ids")
    names = _names(columns, cells.shape[1], what, default)
    return Table(names, rows, cells)


def _names(columns: Sequence[str] | None, width: int, what: str, default: str) -> tuple[str, ...]:
    if columns is None:
        return (default,) if default == "label" and width == 1 else tuple(f"{default}{i}" for i in range(width))
    if isinstance(columns, str) or len(columns) != width or len(set(columns)) != width:
        raise InputError(f"the columns of {what} must be {width} different names; got {columns!r:.80}")
    return tuple(map(str, columns))


def row_ids(ids: object, what: str) -> IntArray:
    found = array_of(ids, what)
    if found.ndim != 1 or found.dtype.kind not in "iu" or len(np.unique(found)) != len(found):
        raise InputError(f"{what} must be a list of whole numbers, each once; got {found.dtype} of shape {found.shape}")
    return found.astype(np.int64)


def numbers_of(value: object) -> object:
    """A numpy scalar as the builtin number that it is: facts are plain."""
    return value.item() if isinstance(value, np.generic) else value
