"""Where random draws come from: a seed for what is public, a key of 128 bits for everybody's secrets.

A generator shows what it was made from, and whoever has the source of one stream must not be able to make another.
So every secret stream is derived from the run's key by a one-way function, separately for each party, each attack and
each purpose, and the key is never part of a view. What is public anyway (splits, the order of batches) follows from
the scenario's seed. Adding a purpose does not shift the others.
"""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass
from hashlib import sha256
from typing import Self
from zlib import crc32

import numpy as np

from fedleak.core.errors import InputError

KEY_BYTES = 16


@dataclass(frozen=True)
class RunKey:
    """All of a run's secret randomness. With it, the run can be repeated; cryptographic keys are not drawn from it."""

    bits: bytes

    def __post_init__(self) -> None:
        if len(self.bits) != KEY_BYTES:
            raise InputError(f"a run key must have {8 * KEY_BYTES} bits; got {8 * len(self.bits)}")

    @classmethod
    def fresh(cls) -> Self:
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def published(cls, seed: int, *purpose: str) -> Self:
        """A key that anybody can compute: for experiments and tests that everybody is to repeat, never for an audit."""
        return cls(sha256(repr((seed, purpose)).encode()).digest()[:KEY_BYTES])

    @classmethod
    def from_text(cls, text: str) -> Self:
        if not re.fullmatch(rf"[0-9a-fA-F]{{{2 * KEY_BYTES}}}", text):
            wanted = f"{2 * KEY_BYTES} hexadecimal digits, as a report has them under run_key"
            raise InputError(f"a run key must be {wanted}; got {text[:80]!r}")
        return cls(bytes.fromhex(text))

    def next(self) -> Self:
        """Another one that follows from it by a one-way function: for a second audit of something that is repeated."""
        return type(self)(hmac.new(self.bits, b"next", sha256).digest()[:KEY_BYTES])

    def __str__(self) -> str:
        return self.bits.hex()


@dataclass(frozen=True)
class Randomness:
    """Of one run and of the attempts on it."""

    key: RunKey
    seed: int = 0

    @classmethod
    def published(cls, seed: int, *purpose: str) -> Self:
        return cls(RunKey.published(seed, *purpose), seed)

    def public(self, *purpose: str) -> np.random.Generator:
        return public_stream(self.seed, *purpose)

    def secret(self, owner: str, *purpose: str) -> np.random.Generator:
        """A party's, or that of what several parties do together and nobody may foresee."""
        return self._derived("secret", owner, *purpose)

    def attack(self, name: str, coalition: tuple[str, ...], target: str, repeat: int) -> np.random.Generator:
        return self._derived("attack", name, repr(coalition), target, str(repeat))

    def again(self, number: int) -> Self:
        """Of the same run once more, with other secrets: what is public stays. Number 0 is the run itself."""
        if number == 0:
            return self
        digest = hmac.digest(self.key.bits, repr(("again", number)).encode(), "sha256")
        return type(self)(RunKey(digest[:KEY_BYTES]), self.seed)

    def _derived(self, *purpose: str) -> np.random.Generator:
        digest = hmac.digest(self.key.bits, repr(purpose).encode(), "sha256")
        return np.random.default_rng(int.from_bytes(digest, "big"))


def public_stream(seed: int, *purpose: str) -> np.random.Generator:
    """One seed, many independent streams by purpose."""
    key = tuple(crc32(part.encode()) for part in purpose)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
