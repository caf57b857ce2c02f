"""What is done with ciphertexts, counted, and what each of it takes on this machine, measured in a moment."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TypeVar

from fedleak.core.arrays import FloatArray
from fedleak.crypto import CIPHERS
from fedleak.crypto.cipher import PublicKey
from fedleak.crypto.fixed_point import encode

Clock = Callable[[], float]
ResultT = TypeVar("ResultT")
SMALL = 12  # ciphertexts that an operation is tried on: 10 ms each at 2048 bits
MOST_ROWS, MOST_COLUMNS = 64, 48  # of the product that is tried: 60 ms


@dataclass(frozen=True)
class Operations:
    """How often each is done in a run, one ciphertext at a time; ``sent``: ciphertexts in messages."""

    keys: int = 0
    encryptions: int = 0
    cells: int = 0  # of matrices that ciphertexts are multiplied with
    additions: int = 0
    multiplications: int = 0  # by a plaintext, one by one
    rerandomisations: int = 0
    decryptions: int = 0
    sent: int = 0

    def __add__(self, other: Operations) -> Operations:
        return Operations(*(getattr(self, name) + getattr(other, name) for name in KINDS))

    def times(self, n_runs: int) -> Operations:
        return Operations(*(n_runs * getattr(self, name) for name in KINDS))

    @property
    def is_long(self) -> bool:
        """Worth to be estimated: a second or more at 2048 bits."""
        return self.encryptions + self.rerandomisations + self.decryptions > 1_000 or self.additions > 50_000


KINDS = tuple(field.name for field in fields(Operations))


@dataclass(frozen=True)
class CipherSpeed:
    """Seconds that one of each takes."""

    keys: float
    encryptions: float
    cells: float
    additions: float
    multiplications: float
    rerandomisations: float
    decryptions: float

    def seconds(self, done: Operations) -> float:
        return float(sum(getattr(self, field.name) * getattr(done, field.name) for field in fields(self)))


def measured_speed(
    cipher: str, key_bits: int, fraction_bits: int, rows: FloatArray, clock: Clock = time.perf_counter
) -> CipherSpeed:
    """``rows``, a batch of some party, are what ciphertexts are multiplied with: flags take less time."""
    key, for_key = _timed(lambda: CIPHERS.get(cipher)().generate(key_bits), clock)
    public = key.public
    _, for_table = _timed(lambda: public.encrypt([0], fraction_bits), clock)  # the first one makes a table of powers
    ciphertexts, encryption = _timed(lambda: public.encrypt([1 << fraction_bits] * SMALL, fraction_bits), clock)
    _, addition = _timed(lambda: public.add(ciphertexts, ciphertexts), clock)
    _, multiplication = _timed(lambda: public.multiply(ciphertexts, [(1 << 2 * fraction_bits) + 1] * SMALL), clock)
    _, rerandomisation = _timed(lambda: public.rerandomise(ciphertexts), clock)
    _, decryption = _timed(lambda: key.decrypt(ciphertexts), clock)
    return CipherSpeed(
        keys=for_key + for_table,
        encryptions=encryption / SMALL,
        cells=_seconds_a_cell(public, fraction_bits, rows, clock),
        additions=addition / SMALL,
        multiplications=multiplication / SMALL,
        rerandomisations=rerandomisation / SMALL,
        decryptions=decryption / SMALL,
    )


def _seconds_a_cell(public: PublicKey, fraction_bits: int, rows: FloatArray, clock: Clock) -> float:
    matrix = encode(rows[:MOST_ROWS, :MOST_COLUMNS], fraction_bits).T
    if not matrix.size:
        return 0.0
    ciphertexts = public.encrypt([1] * matrix.shape[1], fraction_bits)
    _, taken = _timed(lambda: public.matvec(matrix, ciphertexts, scalar_fraction_bits=fraction_bits), clock)
    return taken / matrix.size


def _timed(work: Callable[[], ResultT], clock: Clock) -> tuple[ResultT, float]:
    began = clock()
    result = work()
    return result, clock() - began
