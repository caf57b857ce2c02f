"""What an attack itself takes, measured where it runs and around its ``run`` alone."""

from __future__ import annotations

import json
import math
import os
import time
from dataclasses import dataclass

import numpy as np

from fedleak.core.attack import Attack, Guess
from fedleak.core.errors import FileFormatError
from fedleak.core.view import View


@dataclass(frozen=True)
class Spent:
    """Without what it costs to start a process, to load a view and to score a guess."""

    seconds: float
    cpu_seconds: float

    def to_bytes(self) -> bytes:
        return json.dumps([self.seconds, self.cpu_seconds]).encode()

    @classmethod
    def from_bytes(cls, body: bytes) -> Spent:
        """From the process of an attack, so anything may stand there."""
        try:
            seconds, cpu_seconds = (float(figure) for figure in json.loads(body))
        except (ValueError, TypeError, OverflowError, RecursionError):
            seconds = cpu_seconds = math.nan
        if not (0 <= seconds < math.inf and 0 <= cpu_seconds < math.inf):
            raise FileFormatError("the times of an attempt must be two finite numbers from 0 up; got others")
        return cls(seconds, cpu_seconds)


_APART: list[float] = []  # of attacks in processes of their own, which vanish without anybody waiting for them


def note_apart(spent: Spent | None) -> None:
    if spent is not None:
        _APART.append(spent.cpu_seconds)


def cpu_seconds() -> float:
    """Of this process until now: its own, its children's and its attacks'. Other work on the machine does not count.

    An attack that was ended before it answered has told nothing of its time, and is missing here.
    """
    return sum(os.times()[:4]) + sum(_APART)  # user and system, of the process and of children that have ended


def timed_run(attack: Attack, view: View, rng: np.random.Generator) -> tuple[Guess, Spent]:
    began, cpu_began = time.perf_counter(), time.process_time()
    guess = attack.run(view, rng=rng)
    return guess, Spent(time.perf_counter() - began, time.process_time() - cpu_began)
