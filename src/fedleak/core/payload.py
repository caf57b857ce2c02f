"""What a message can carry: a closed union, so that every reader can handle every case.

The same union carries what a party keeps for itself (``Record``) and what an adversary knows
beforehand (``Knowledge``): one vocabulary, one file format.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import isfinite, prod

import numpy as np

from fedleak.core.arrays import AnyArray, ByteArray, IntArray, SignArray, Value, freeze, read_only, settled

ARRAY_KINDS = "biuf"  # bool, integers, floats: dtypes that hold no Python objects
N_DIMENSIONS = 32  # at most; what every supported numpy handles
ScalarValue = bool | int | float | str | None
UNLESS_GIVEN = read_only({"stored": "unless default"})  # of a later field: what lacks it is stored as it always was


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
class Array(Value):
    """Plaintext numbers of any shape."""

    values: AnyArray

    def __post_init__(self) -> None:
        if not isinstance(self.values, np.ndarray):  # x.sum() is no array; np.asarray(x.sum()) is
            raise TypeError(f"Array values must be a numpy array; got {type(self.values).__name__}")
        if self.values.dtype.kind not in ARRAY_KINDS:
            raise TypeError(f"Array values must be numbers or booleans; got dtype {self.values.dtype}")
        object.__setattr__(self, "values", freeze(self.values))


@dataclass(frozen=True, eq=False)
class CipherArray(Value):
    """Ciphertexts, kept as bytes: that two of them are equal is something an attack may use.

    Some libraries send a scale and a sign beside each ciphertext, in plaintext; ours have one scale for all.
    """

    key_id: str
    scheme: str
    data: ByteArray  # (number of ciphertexts, bytes of one ciphertext), big-endian
    shape: tuple[int, ...]
    fraction_bits: int
    exponents: IntArray | None = field(default=None, metadata=UNLESS_GIVEN)  # one for each ciphertext, in their order
    signs: SignArray | None = field(default=None, metadata=UNLESS_GIVEN)  # of each: -1, 0 or 1

    def __post_init__(self) -> None:
        _check_rows("CipherArray", self.data, self.shape)
        object.__setattr__(self, "data", freeze(self.data))
        for name, dtype in (("exponents", np.int64), ("signs", np.int8)):
            beside = getattr(self, name)
            if beside is None:
                continue
            if beside.shape != (len(self.data),) or beside.dtype != dtype:
                wanted = f"{np.dtype(dtype)} of shape ({len(self.data)},), one for each ciphertext"
                raise ValueError(f"CipherArray {name} must be {wanted}; got {beside.dtype} {beside.shape}")
            object.__setattr__(self, name, freeze(beside))
        if self.signs is not None and np.abs(self.signs, dtype=np.int16).max(initial=0) > 1:
            raise ValueError("CipherArray signs must be -1, 0 or 1; got others")


@dataclass(frozen=True, eq=False)
class IntegerArray(Value):
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


@dataclass(frozen=True)
class Texts:
    """Texts in a row: names of columns, ids of people, categories."""

    values: tuple[str, ...]

    def __post_init__(self) -> None:
        for value in self.values:
            if not isinstance(value, str):
                raise TypeError(f"Texts values must be texts; got {type(value).__name__}")
        object.__setattr__(self, "values", tuple(str(value) for value in self.values))  # numpy's and enums' too


@dataclass(frozen=True, eq=False)
class Table(Value):
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
class ModelSpec(Value):
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
class Tree(Value):
    """Named payloads, nested as deep as needed (gradients by layer, a node's histograms)."""

    items: Mapping[str, Payload]

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", read_only(self.items))


Payload = Array | CipherArray | IntegerArray | Scalar | Texts | Table | ModelSpec | Tree


def not_finite(payload: Payload) -> str:
    """The first number in it that is not finite, as a text; empty where all are."""
    if isinstance(payload, Tree):
        return next((found for member in payload.items.values() if (found := not_finite(member))), "")
    if isinstance(payload, Scalar):
        return str(payload.value) if isinstance(payload.value, float) and not isfinite(payload.value) else ""
    if not isinstance(payload, Array | Table) or payload.values.dtype.kind != "f":
        return ""
    wrong = payload.values[~np.isfinite(payload.values)]
    return str(wrong[0]) if wrong.size else ""


def settled_payload(payload: Payload) -> Payload:
    """The same, with arrays that nobody can change any more: a record of what was sent stays what it was."""
    match payload:
        case Array(values):
            return Array(settled(values))
        case CipherArray():
            exponents, signs = payload.exponents, payload.signs
            return replace(
                payload,
                data=settled(payload.data),
                exponents=None if exponents is None else settled(exponents),
                signs=None if signs is None else settled(signs),
            )
        case IntegerArray(data, shape):
            return IntegerArray(settled(data), shape)
        case Table(columns, ids, values):
            return Table(columns, settled(ids), settled(values))
        case ModelSpec(kind, config, arrays):
            return ModelSpec(kind, config, {name: settled(array) for name, array in arrays.items()})
        case Tree(items):
            return Tree({name: settled_payload(item) for name, item in items.items()})
        case Scalar() | Texts():
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
        case CipherArray():
            _feed_ciphertexts(hasher, payload)
        case IntegerArray(data, shape):
            _feed_text(hasher, repr(_plain_shape(shape)))
            _feed_array(hasher, data)
        case Scalar(value) | Texts(value):
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


def _feed_ciphertexts(hasher: hashlib._Hash, c: CipherArray) -> None:
    _feed_text(hasher, repr((str(c.key_id), str(c.scheme), _plain_shape(c.shape), int(c.fraction_bits))))
    _feed_array(hasher, c.data)
    for name, beside in (("exponents", c.exponents), ("signs", c.signs)):
        if beside is not None:
            _feed_text(hasher, name)  # no payload is called so: nothing else can follow the data here
            _feed_array(hasher, beside)


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
