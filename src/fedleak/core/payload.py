"""What a message can carry: a closed union, so that every reader can handle every case.

The same union carries what a party keeps for itself (``Record``) and what an adversary knows
beforehand (``Knowledge``): one vocabulary, one file format.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

import numpy as np

from fedleak.core.arrays import AnyArray, ByteArray, freeze

ARRAY_KINDS = "biuf"  # bool, integers, floats: dtypes that hold no Python objects
ScalarValue = bool | int | float | str | None


@dataclass(frozen=True, eq=False)
class Array:
    """Plaintext numbers of any shape."""

    values: AnyArray

    def __post_init__(self) -> None:
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


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of named numeric columns; ``ids`` name the rows."""

    columns: tuple[str, ...]
    ids: AnyArray
    values: AnyArray

    def __post_init__(self) -> None:
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
        object.__setattr__(self, "config", MappingProxyType(dict(self.config)))
        frozen = {name: freeze(array) for name, array in self.arrays.items()}
        object.__setattr__(self, "arrays", MappingProxyType(frozen))


@dataclass(frozen=True, eq=False)
class Tree:
    """Named payloads, nested as deep as needed (gradients by layer, a node's histograms)."""

    items: Mapping[str, Payload]

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", MappingProxyType(dict(self.items)))


Payload = Array | CipherArray | IntegerArray | Scalar | Table | ModelSpec | Tree


def digest(payload: Payload) -> str:
    """A content hash: equal payloads, and only those, have equal digests."""
    hasher = hashlib.sha256()
    _feed(hasher, payload)
    return hasher.hexdigest()


def _feed(hasher: hashlib._Hash, payload: Payload) -> None:
    hasher.update(type(payload).__name__.encode() + b"\0")
    match payload:
        case Array(values):
            _feed_array(hasher, values)
        case CipherArray(key_id, scheme, data, shape, fraction_bits):
            hasher.update(repr((key_id, scheme, shape, fraction_bits)).encode())
            _feed_array(hasher, data)
        case IntegerArray(data, shape):
            hasher.update(repr(shape).encode())
            _feed_array(hasher, data)
        case Scalar(value):
            hasher.update(repr(value).encode())
        case Table(columns, ids, values):
            hasher.update(repr(columns).encode())
            _feed_array(hasher, ids)
            _feed_array(hasher, values)
        case ModelSpec(kind, config, arrays):
            hasher.update(repr((kind, sorted(config.items()))).encode())
            for name in sorted(arrays):
                hasher.update(name.encode() + b"\0")
                _feed_array(hasher, arrays[name])
        case Tree(items):
            for name in sorted(items):
                hasher.update(name.encode() + b"\0")
                _feed(hasher, items[name])


def _feed_array(hasher: hashlib._Hash, array: AnyArray) -> None:
    hasher.update(repr((array.dtype.str, array.shape)).encode())
    hasher.update(np.ascontiguousarray(array).tobytes())


def _check_rows(what: str, data: ByteArray, shape: tuple[int, ...]) -> None:
    if data.dtype != np.uint8 or data.ndim != 2 or data.shape[0] != prod(shape):
        raise ValueError(f"{what} data must be bytes of shape ({prod(shape)}, width); got {data.dtype} {data.shape}")
