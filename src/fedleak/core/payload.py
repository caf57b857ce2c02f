"""What a message can carry: a closed union, so that every reader can handle every case.

The same union carries what a party keeps for itself (``Record``) and what an adversary knows
beforehand (``Knowledge``): one vocabulary, one file format.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import prod

import numpy as np

from fedleak.core.arrays import AnyArray, ByteArray, freeze, read_only, settled

ARRAY_KINDS = "biuf"  # bool, integers, floats: dtypes that hold no Python objects
N_DIMENSIONS = 32  # at most; what every supported numpy handles
ScalarValue = bool | int | float | str | None


def plain_scalar(value: object) -> ScalarValue:
    """The builtin value of a numpy scalar or an enum member: one value, one digest, one encoding."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool):
        return value
    for builtin in (int, float, str):
        if isinstance(value, builtin):
            return builtin(value)
    raise TypeError(f"scalar must be a boolean, a number, a text or None; got {type(value).__name__}")


@dataclass(frozen=True, eq=False)
class Array:
    """Plaintext numbers of any shape."""

    values: AnyArray

    def __post_init__(self) -> None:
        if not isinstance(self.values, np.ndarray):  # x.sum() is no array; np.asarray(x.sum()) is
            raise TypeError(f"Array values must be a numpy array; got {type(self.values).__name__}")
        if self.values.dtype.kind not in ARRAY_KINDS:
            raise TypeError(f"Array values must be numbers or booleans; got dtype {self.values.dtype}")
        object.__setattr__(self, "values", freeze(self.values))


@dataclass(frozen=True, eq=False)
class CipherArray:
    """Ciphertexts, kept as bytes: that two of them are equal is something an attack may use."""

    key_id: str
    scheme: str
    data: ByteArray  # (number of ciphertexts, bytes of one ciphertext), big-endian
    shape: tuple[int, ...]
    fraction_bits: int

    def __post_init__(self) -> None:
        _check_rows("CipherArray", self.data, self.shape)
        object.__setattr__(self, "data", freeze(self.data))


@dataclass(frozen=True, eq=False)
class IntegerArray:
    """Plaintext integers wider than a machine word (values modulo a Paillier modulus, keys)."""

    data: ByteArray  # (number of integers, bytes of one integer), big-endian, non-negative
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        _check_rows("IntegerArray", self.data, self.shape)
        object.__setattr__(self, "data", freeze(self.data))

    @classmethod
    def from_ints(cls, values: Sequence[int], n_bytes: int) -> IntegerArray:
        packed = b"".join(int(value).to_bytes(n_bytes, "big") for value in values)
        return cls(np.frombuffer(packed, dtype=np.uint8).reshape(len(values), n_bytes), (len(values),))

    def to_ints(self) -> list[int]:
        return [int.from_bytes(row.tobytes(), "big") for row in self.data]


@dataclass(frozen=True)
class Scalar:
    value: ScalarValue

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", plain_scalar(self.value))


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of named numeric columns; ``ids`` name the rows."""

    columns: tuple[str, ...]
    ids: AnyArray
    values: AnyArray

    def __post_init__(self) -> None:
        if self.ids.ndim != 1:
            raise ValueError(f"Table ids must have one dimension; got {self.ids.ndim}")
        if self.values.shape != (len(self.ids), len(self.columns)):
            raise ValueError(
                f"Table values must have shape {(len(self.ids), len(self.columns))}; got {self.values.shape}"
            )
        object.__setattr__(self, "ids", freeze(self.ids))
        object.__setattr__(self, "values", freeze(self.values))


@dataclass(frozen=True, eq=False)
class ModelSpec:
    """A model as data: what kind, its configuration, its arrays. ``fedleak.models`` interprets it."""

    kind: str
    config: Mapping[str, ScalarValue]
    arrays: Mapping[str, AnyArray]

    def __post_init__(self) -> None:
        config = {name: plain_scalar(value) for name, value in self.config.items()}
        object.__setattr__(self, "config", read_only(config))
        frozen = {name: freeze(array) for name, array in self.arrays.items()}
        object.__setattr__(self, "arrays", read_only(frozen))


@dataclass(frozen=True, eq=False)
class Tree:
    """Named payloads, nested as deep as needed (gradients by layer, a node's histograms)."""

    items: Mapping[str, Payload]

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", read_only(self.items))


Payload = Array | CipherArray | IntegerArray | Scalar | Table | ModelSpec | Tree


def settled_payload(payload: Payload) -> Payload:
    """The same, with arrays that nobody can change any more: a record of what was sent stays what it was."""
    match payload:
        case Array(values):
            return Array(settled(values))
        case CipherArray():
            return replace(payload, data=settled(payload.data))
        case IntegerArray(data, shape):
            return IntegerArray(settled(data), shape)
        case Table(columns, ids, values):
            return Table(columns, settled(ids), settled(values))
        case ModelSpec(kind, config, arrays):
            return ModelSpec(kind, config, {name: settled(array) for name, array in arrays.items()})
        case Tree(items):
            return Tree({name: settled_payload(item) for name, item in items.items()})
        case Scalar():
            return payload


def digest(payload: Payload) -> str:
    """A content hash: equal payloads, and only those, have equal digests."""
    hasher = hashlib.sha256()
    _feed(hasher, payload)
    return hasher.hexdigest()


def _feed(hasher: hashlib._Hash, payload: Payload) -> None:
    _feed_text(hasher, type(payload).__name__)
    match payload:
        case Array(values):
            _feed_array(hasher, values)
        case CipherArray(key_id, scheme, data, shape, fraction_bits):
            _feed_text(hasher, repr((str(key_id), str(scheme), _plain_shape(shape), int(fraction_bits))))
            _feed_array(hasher, data)
        case IntegerArray(data, shape):
            _feed_text(hasher, repr(_plain_shape(shape)))
            _feed_array(hasher, data)
        case Scalar(value):
            _feed_text(hasher, repr(value))
        case Table(columns, ids, values):
            _feed_text(hasher, repr(columns))
            _feed_array(hasher, ids)
            _feed_array(hasher, values)
        case ModelSpec(kind, config, arrays):
            _feed_text(hasher, repr((kind, sorted(config.items()), sorted(arrays))))
            for name in sorted(arrays):
                _feed_array(hasher, arrays[name])
        case Tree(items):
            _feed_text(hasher, repr(sorted(items)))  # all names first: where a subtree ends is then unambiguous
            for name in sorted(items):
                _feed(hasher, items[name])


def _feed_text(hasher: hashlib._Hash, text: str) -> None:
    """With its length before it: two texts in a row are never taken for another pair."""
    encoded = text.encode("utf-8", "surrogatepass")
    hasher.update(len(encoded).to_bytes(8, "big") + encoded)


def _feed_array(hasher: hashlib._Hash, array: AnyArray) -> None:
    _feed_text(hasher, repr((array.dtype.str, array.shape)))
    hasher.update(np.ascontiguousarray(array).tobytes())


def _plain_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(length) for length in shape)


def _check_rows(what: str, data: ByteArray, shape: tuple[int, ...]) -> None:
    if len(shape) > N_DIMENSIONS or any(length < 0 for length in shape):
        raise ValueError(f"{what} shape must be at most {N_DIMENSIONS} lengths of 0 or more; got {shape[:4]} ...")
    if data.dtype != np.uint8 or data.ndim != 2 or data.shape[0] != prod(shape):
        raise ValueError(f"{what} data must be bytes of shape ({prod(shape)}, width); got {data.dtype} {data.shape}")
