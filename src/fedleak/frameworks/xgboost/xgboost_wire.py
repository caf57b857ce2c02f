"""What passes on one party's connection to XGBoost's federated server, told apart by position.

A value of the label holder comes as three broadcasts: the length of an error message (0), the number of items, the
items. Splits are gathered in four calls: bytes of the lengths, the lengths, bytes in all, the texts. Routing is two
reductions of bytes, OR (goes left) and AND (the cell is missing). Nothing is told by how a message looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.errors import FileFormatError
from fedleak.storage.ubjson import documents

BROADCAST, ALLREDUCE, GATHER, GATHER_V = "Broadcast", "Allreduce", "Allgather", "AllgatherV"
BYTES, AND, OR = 8, 3, 4  # a kind of data, and two operations on it
DEFAULT_LEFT = 1 << 31  # in the number of a column: rows without a cell go left


@dataclass(frozen=True)
class Exchange:
    """One call and its answer, as protobuf bytes."""

    method: str
    request: bytes
    reply: bytes


@dataclass(frozen=True)
class FirstScore:
    value: float
    n_classes: int


@dataclass(frozen=True, eq=False)
class RowGradients:
    """(rows, classes) of single precision."""

    g: FloatArray
    h: FloatArray


@dataclass(frozen=True)
class Offer:
    rank: int
    node: int
    column: int  # among those of all parties, in the order of ranks
    missing_left: bool
    threshold: float
    gain: float
    left: tuple[float, float]  # sums of g and h


@dataclass(frozen=True)
class LevelOffers:
    depth: int
    offers: tuple[Offer, ...]


@dataclass(frozen=True, eq=False)
class LevelRouting:
    """Of every row: it goes left; its cell is missing. Rows of nodes that are not split have no bit."""

    left: BoolArray
    missing: BoolArray


Event = FirstScore | RowGradients | LevelOffers | LevelRouting


def events(exchanges: Sequence[Exchange], n_rows: int) -> Iterator[Event]:
    """In order; messages of any other kind (metrics, checks of the columns) are passed over."""
    place = 0
    while place < len(exchanges):
        found, used = _event(exchanges, place, n_rows)
        if found is not None:
            yield found
        place += used


def _event(exchanges: Sequence[Exchange], at: int, n_rows: int) -> tuple[Event | None, int]:
    one = exchanges[at]
    if one.method == BROADCAST:
        return _broadcast(exchanges, at, n_rows)
    if one.method == GATHER and _methods(exchanges, at, 4) == (GATHER, GATHER_V, GATHER, GATHER_V):
        return LevelOffers(*_offers(exchanges, at)), 4
    if one.method == ALLREDUCE and _operation(one) == OR and _methods(exchanges, at, 2) == (ALLREDUCE, ALLREDUCE):
        if _operation(exchanges[at + 1]) != AND:
            raise FileFormatError("the bits of missing cells must follow those of the way of each row; they do not")
        return LevelRouting(*(_bits(exchange, n_rows) for exchange in exchanges[at : at + 2])), 2
    return None, 1


def _methods(exchanges: Sequence[Exchange], at: int, count: int) -> tuple[str, ...]:
    return tuple(exchange.method for exchange in exchanges[at : at + count])


def _broadcast(exchanges: Sequence[Exchange], at: int, n_rows: int) -> tuple[Event | None, int]:
    data = buffer_of(exchanges[at].reply)
    if data[:1] == b"{" and len(data) > 8:  # the one text that is broadcast; values have 8 bytes, or are among three
        return _learner(data), 1
    three = _methods(exchanges, at, 3) == (BROADCAST,) * 3
    if not three or data != bytes(8):
        return None, 1
    size, items = (buffer_of(exchange.reply) for exchange in exchanges[at + 1 : at + 3])
    count = int.from_bytes(size, "little")
    if len(size) != 8 or not count or len(items) % count or len(items) // count not in (4, 8):
        return None, 2  # a single value: a metric
    if len(items) // count == 4 or count % n_rows:
        return None, 3
    pairs = np.frombuffer(items, dtype="<f4").reshape(n_rows, count // n_rows, 2)
    return RowGradients(pairs[..., 0], pairs[..., 1]), 3


def _learner(data: bytes) -> FirstScore | None:
    (held,) = documents(data)
    if not isinstance(held, dict) or "base_score" not in held:
        return None
    scores = [float(part) for part in str(held["base_score"]).strip("[]").split(",")]
    return FirstScore(float(np.float32(scores[0])), max(int(held.get("num_class", 0)), 1))


def _offers(exchanges: Sequence[Exchange], at: int) -> tuple[int, tuple[Offer, ...]]:
    heads, lengths, _, texts = (buffer_of(exchange.reply) for exchange in exchanges[at : at + 4])
    counts = np.frombuffer(heads, dtype="<u8") // 8  # texts of each rank
    ends = np.cumsum(np.frombuffer(lengths, dtype="<u8")).astype(np.int64)
    if counts.sum() != len(ends) or (len(ends) and ends[-1] != len(texts)):
        raise FileFormatError("gathered splits must be as long as was announced; they are not")
    ranks = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    depth, found = 0, []
    for rank, start, end in zip(ranks.tolist(), starts.tolist(), ends.tolist(), strict=True):
        (held,) = documents(texts[start:end])
        depth = int(held["depth"])
        found.append(_offer(rank, held))
    return depth, tuple(found)


def _offer(rank: int, held: dict[str, Any]) -> Offer:
    split = held["split"]
    number = int(split["sindex"])
    return Offer(
        rank,
        int(held["nid"]),
        number & (DEFAULT_LEFT - 1),
        bool(number & DEFAULT_LEFT),
        float(split["split_value"]),
        float(split["loss_chg"]),
        (float(split["left_sum"][0]), float(split["left_sum"][1])),
    )


def _operation(exchange: Exchange) -> int:
    """Of a reduction of bytes; -1 of any other."""
    held = fields_of(exchange.request)
    return int(held.get(5, 0)) if held.get(4, 0) == BYTES else -1


def _bits(exchange: Exchange, n_rows: int) -> BoolArray:
    data = np.frombuffer(buffer_of(exchange.reply), dtype=np.uint8)
    if len(data) < -(-n_rows // 8):
        raise FileFormatError(f"routing must have a bit for each of {n_rows} rows; got {8 * len(data)} bits")
    return np.unpackbits(data, bitorder="little")[:n_rows].astype(bool)


def buffer_of(reply: bytes) -> bytes:
    held = fields_of(reply).get(1, b"")
    return held if isinstance(held, bytes) else b""


def fields_of(message: bytes) -> dict[int, int | bytes]:
    """Protobuf's fields by number: whole numbers and bytes are all that there is."""
    found: dict[int, int | bytes] = {}
    at = 0
    while at < len(message):
        tag, at = _whole_number(message, at)
        value, at = _whole_number(message, at)
        if tag & 7 == 2:
            if at + value > len(message):
                raise FileFormatError("a recorded message breaks off")
            found[tag >> 3], at = message[at : at + value], at + value
        elif tag & 7 == 0:
            found[tag >> 3] = value
        else:
            raise FileFormatError(f"a recorded message has a field of an unknown kind, {tag & 7}")
    return found


def _whole_number(message: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while at < len(message) and shift < 64:
        byte = message[at]
        found |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return found, at
    raise FileFormatError("a recorded message breaks off")
