"""What can be read off a message without knowing what it means: numbers by row, from plaintext and beside ciphertexts.

A ciphertext gives itself away by what needs no key: equal ones, a sign or a scale that is sent with it, and plaintexts
that were never blinded. All of these are readings, columns of numbers with a row for each row of the message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.unblinded import common_modulus, decoded, integers_of, opened
from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.core.payload import Array, CipherArray, IntegerArray, ModelSpec, Payload, Scalar, Table, Texts, Tree

MOST_GROUPS = 8  # of equal ciphertexts that are told apart, the largest first
NAMES_OF_IDS = ("rows", "ids")
MOST_READINGS = 256  # columns of one part of a message that are looked at


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a message that has rows: their ids where they came along, and its readings by name."""

    ids: AnyArray | None
    names: tuple[str, ...]
    readings: FloatArray  # (rows, readings)


def is_encrypted(payload: Payload) -> bool:
    """Whether nothing but ciphertexts is in it."""
    if isinstance(payload, Tree):
        return bool(payload.items) and all(map(is_encrypted, payload.items.values()))
    return isinstance(payload, CipherArray)


def parts_of(payload: Payload, where: str = "") -> Iterator[Part]:
    match payload:
        case Tree(items):
            ids = next((items[name] for name in NAMES_OF_IDS if _may_be_ids(items.get(name))), None)
            rows = ids.values if isinstance(ids, Array) else None
            for name, item in items.items():
                for part in parts_of(item, f"{where}{name}"):
                    beside = part.ids if part.ids is not None else rows
                    fits = beside is not None and len(beside) == len(part.readings) and item is not ids
                    yield Part(beside if fits else None, part.names, part.readings)
        case Table(columns, ids, values):
            yield Part(ids, columns[:MOST_READINGS], _numbers(values))
        case Array(values) if values.ndim and values.size:
            yield _part(where, _numbers(values))
        case IntegerArray(data, shape) if shape and len(data):
            _, order = np.unique(data, axis=0, return_inverse=True)
            yield _part(where, _numbers(np.asarray(order).reshape(shape)))
        case CipherArray(_, _, _, shape) if shape and len(payload.data):
            for name, values in _beside_ciphertexts(payload):
                yield _part(f"{where} {name}".strip(), _numbers(values.reshape(shape)))
        case _:
            return


def _part(where: str, readings: FloatArray) -> Part:
    width = readings.shape[1]
    names = (where or "value",) if width == 1 else tuple(f"{where}[{place}]" for place in range(width))
    return Part(None, names, readings)


def _numbers(values: AnyArray) -> FloatArray:
    return np.asarray(values, dtype=np.float64).reshape(len(values), -1)[:, :MOST_READINGS]


def _may_be_ids(payload: Payload | None) -> bool:
    return isinstance(payload, Array) and looks_like_ids(payload.values)


def looks_like_ids(values: AnyArray) -> bool:
    """Whole numbers in a row, each once."""
    return values.dtype.kind in "iu" and values.ndim == 1 and len(values) > 1 and len(np.unique(values)) == len(values)


def _beside_ciphertexts(c: CipherArray) -> Iterator[tuple[str, AnyArray]]:
    for name, found in (("sign", c.signs), ("exponent", c.exponents)):
        if found is not None and len(np.unique(found)) > 1:
            yield name, found
    plain = opened_plaintexts(c)
    if plain is not None:
        yield "opened", plain
    groups = equal_groups(c)
    for number in range(min(MOST_GROUPS, int(groups.max(initial=-1)) + 1)):
        yield f"equal ciphertexts {number}", groups == number


def opened_plaintexts(c: CipherArray) -> FloatArray | None:
    """Of ciphertexts that were never blinded; None where they were."""
    if c.scheme != "paillier":
        return None
    numbers = integers_of(c)
    modulus = common_modulus([numbers])
    plain = None if modulus is None else opened(numbers, modulus)
    return None if plain is None else decoded(plain, c)


def equal_groups(c: CipherArray) -> IntArray:
    """By ciphertext the number of its group of equals, the largest group first; -1 where it has no equal."""
    data = [row.tobytes() for row in c.data]
    repeated = [value for value, count in Counter(data).most_common() if count > 1]
    place = {value: number for number, value in enumerate(repeated)}
    return np.array([place.get(value, -1) for value in data], dtype=np.int64)


def peculiarities(payload: Payload) -> list[str]:
    """What is worth a look in a message, in words; nothing of it needs the message's meaning or anybody's truth."""
    match payload:
        case Tree(items):
            return [f"{name}: {told}" for name, item in items.items() for told in peculiarities(item)]
        case CipherArray() if len(payload.data):
            return list(_of_ciphertexts(payload))
        case Array(values) if values.size > 2 * MOST_GROUPS:
            n_values = len(np.unique(values))
            return [f"{n_values} different values in {values.size}"] if 1 < n_values <= MOST_GROUPS else []
        case Array() | CipherArray() | IntegerArray() | Table() | Texts() | Scalar() | ModelSpec():
            return []


def _of_ciphertexts(c: CipherArray) -> Iterator[str]:
    n_different = len({row.tobytes() for row in c.data})
    if n_different < len(c.data):
        yield f"{n_different} different ciphertexts in {len(c.data)}"
    if opened_plaintexts(c) is not None:
        yield "ciphertexts are not blinded: their common divisor opens them"
    if c.signs is not None and len(np.unique(c.signs)) > 1:
        yield "signs of the plaintexts are sent beside them"
    if c.exponents is not None and len(np.unique(c.exponents)) > 1:
        yield "sizes of the plaintexts are sent beside them"
