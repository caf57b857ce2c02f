"""XGBoost's messages, written by us: what the decoder is tried on where the framework is not installed."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from fedleak.frameworks.xgboost.xgboost_wire import Exchange

NOTHING = bytes(8)


def varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def reply(data: bytes) -> bytes:
    return b"\x0a" + varint(len(data)) + data


def ubjson(value: object) -> bytes:
    if isinstance(value, dict):
        return b"{" + b"".join(_text(name) + ubjson(held) for name, held in value.items()) + b"}"
    if isinstance(value, bool):
        return b"T" if value else b"F"
    if isinstance(value, str):
        return b"S" + _text(value)
    if isinstance(value, int):
        return b"L" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"d" + struct.pack(">f", value)
    numbers = np.asarray(value, dtype=">f8")
    return b"[$D#L" + struct.pack(">q", len(numbers)) + numbers.tobytes()


def _text(value: str) -> bytes:
    return b"L" + struct.pack(">q", len(value)) + value.encode()


@dataclass
class Wire:
    """Messages of a small training, one after the other."""

    exchanges: list[Exchange] = field(default_factory=list)

    def broadcast(self, *parts: bytes) -> None:
        self.exchanges += [Exchange("Broadcast", b"", reply(part)) for part in parts]

    def learner(self, base_score: float, num_class: int = 0) -> None:
        self.broadcast(ubjson({"base_score": f"[{base_score!r}]", "num_class": str(num_class)}))

    def gradients(self, pairs: np.ndarray) -> None:
        """(rows, classes, 2)."""
        flat = np.asarray(pairs, dtype="<f4")
        self.broadcast(NOTHING, struct.pack("<Q", flat.size // 2), flat.tobytes())

    def metric(self, value: float) -> None:
        self.broadcast(NOTHING, struct.pack("<d", value))

    def offers(self, depth: int, by_rank: list[list[dict[str, object]]]) -> None:
        texts = [
            [ubjson({"depth": depth, "nid": one.pop("nid"), "split": one}) for one in own]
            for own in ([dict(one) for one in own] for own in by_rank)
        ]
        heads = b"".join(struct.pack("<Q", 8 * len(own)) for own in texts)
        lengths = b"".join(struct.pack("<Q", len(text)) for own in texts for text in own)
        totals = b"".join(struct.pack("<Q", sum(map(len, own))) for own in texts)
        methods = ("Allgather", "AllgatherV", "Allgather", "AllgatherV")
        data = (heads, lengths, totals, b"".join(text for own in texts for text in own))
        self.exchanges += [Exchange(method, b"", reply(part)) for method, part in zip(methods, data, strict=True)]

    def routing(self, left: np.ndarray, missing: np.ndarray) -> None:
        for bits, operation in ((left, 4), (missing, 3)):
            data = np.packbits(bits, bitorder="little").tobytes()
            request = b"\x1a" + varint(len(data)) + data + b"\x20\x08\x28" + bytes([operation])
            self.exchanges.append(Exchange("Allreduce", request, reply(data)))


def offer(
    nid: int, sindex: int, threshold: float, gain: float, g: np.ndarray, h: np.ndarray, left: np.ndarray
) -> dict[str, object]:
    return {
        "nid": nid,
        "sindex": sindex,
        "split_value": threshold,
        "loss_chg": gain,
        "left_sum": [float(g[left].sum()), float(h[left].sum())],
    }
