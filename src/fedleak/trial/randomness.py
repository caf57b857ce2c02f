"""One seed, many independent streams by purpose: adding a consumer does not shift the others."""

from __future__ import annotations

from hashlib import sha256
from zlib import crc32

import numpy as np


def stream(seed: int, *purpose: str) -> np.random.Generator:
    key = tuple(crc32(part.encode()) for part in purpose)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def attack_stream(seed: int, *purpose: str) -> np.random.Generator:
    """For attacks: a generator shows the seed that it was made from, and the run's seed gives away masks and noise."""
    digest = sha256(repr((seed, purpose)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))
