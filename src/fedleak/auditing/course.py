"""How far an audit is as a whole. Its pieces, trainings and attacks of each planned run, are known before it begins;
how long one takes is learnt from those that are done."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from fedleak.trial.progress import Progress, Standing


class Kind(Enum):
    """Of work that takes about as long for each unit; with seconds that one is thought to take before any was done."""

    CIPHERTEXTS = 0.001
    IDEAL_RUNS = 0.5
    ATTACKS = 1.0


@dataclass(frozen=True)
class Piece:
    place: int  # of the run in the plan
    kind: Kind
    units: float


@dataclass
class _Done:
    units: float = 0.0
    seconds: float = 0.0


class Course(Progress):
    """Passes everything on; each ``begin`` is the next piece, and after ``reach`` the first one of that run."""

    def __init__(self, inner: Progress, pieces: Sequence[Piece], clock: Callable[[], float] = time.monotonic) -> None:
        self._inner = inner
        self._pieces = pieces
        self._clock = clock
        self._next = 0
        self._current: Piece | None = None
        self._begun = clock()
        self._step = self._share = 0.0
        self._furthest = 0.0
        self._done = {kind: _Done() for kind in Kind}

    def reach(self, place: int) -> None:
        """A run that failed leaves its attacks behind."""
        self._end_piece()
        self._next = next((at for at, piece in enumerate(self._pieces) if piece.place == place), len(self._pieces))

    def begin(self, what: str, total: int | None) -> None:
        self._end_piece()
        if self._next < len(self._pieces):
            self._current = self._pieces[self._next]
            self._next += 1
        self._step = 1 / total if total else 0.0
        self._tell()
        self._inner.begin(what, total)

    def advance(self) -> None:
        self._share = min(1.0, self._share + self._step)
        self._tell()
        self._inner.advance()

    def note(self, text: str) -> None:
        self._inner.note(text)

    def _end_piece(self) -> None:
        if self._current is not None:
            done = self._done[self._current.kind]
            done.units += self._current.units
            done.seconds += self._clock() - self._begun
        self._current, self._begun, self._share = None, self._clock(), 0.0

    def _tell(self) -> None:
        spent = sum(done.seconds for done in self._done.values()) + self._clock() - self._begun
        left = sum(self._seconds_left(kind) for kind in Kind)
        # what is learnt on the way may make the rest longer; a bar never goes back
        self._furthest = max(self._furthest, spent / (spent + left) if left else 1.0)
        self._inner.stand(Standing(self._furthest, left, guessed=self._is_guessed()))

    def _seconds_left(self, kind: Kind) -> float:
        units = self._units_left(kind)
        done, seconds = self._so_far(kind)
        return units * (seconds / done if done else kind.value)

    def _is_guessed(self) -> bool:
        """Whether something is left of a kind of which nothing was done."""
        return any(self._units_left(kind) and not self._so_far(kind)[0] for kind in Kind)

    def _units_left(self, kind: Kind) -> float:
        ahead = sum(piece.units for piece in self._pieces[self._next :] if piece.kind is kind)
        return ahead + self._units_here(kind) * (1 - self._share)

    def _so_far(self, kind: Kind) -> tuple[float, float]:
        done, here = self._done[kind], self._units_here(kind)
        seconds = done.seconds + (self._clock() - self._begun if here else 0.0)
        return done.units + here * self._share, seconds

    def _units_here(self, kind: Kind) -> float:
        return self._current.units if self._current is not None and self._current.kind is kind else 0.0
