"""Random factors of ciphertexts, made ahead on another core: they depend on no message, only on the public key.

Every factor is drawn from the operating system by whoever makes it, used once, and never kept beyond this process: a
fork begins with nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from fedleak.crypto.cores import Helper, cores, hire
from fedleak.crypto.unit_group import Factor

AHEAD = 128  # factors that another core makes at once: 60 ms at 2048 bits
BEFORE_HELP = 256  # made here before a helper is worth its start, which takes half a second


class BlindingStock:
    """Of one public key. ``make`` gives so many factors; it is a method that a helper finds by its name."""

    def __init__(self, make: Callable[[int], list[Factor]]) -> None:
        self._make = make
        self._ready: list[Factor] = []
        self._helper: Helper | None = None
        self._asked = False
        self._made_here = 0
        self._process = os.getpid()
        self._turn = threading.Lock()

    def take(self, count: int) -> list[Factor]:
        """What is ready, and the rest made here: nobody waits for a helper."""
        found = self._taken(count) if cores() > 1 and os.name == "posix" else []  # elsewhere no pipe says if it has any
        self._made_here += count - len(found)
        return found + self._make(count - len(found))

    def _taken(self, count: int) -> list[Factor]:
        if self._made_here < BEFORE_HELP or not self._turn.acquire(blocking=False):
            return []
        try:
            if self._process != os.getpid():  # a fork: what is ready belongs to the parent, who will use it
                self._ready, self._helper, self._process = [], None, os.getpid()
            self._restock()
            place = max(len(self._ready) - count, 0)
            self._ready, found = self._ready[:place], self._ready[place:]
            return found
        finally:
            self._turn.release()

    def _restock(self) -> None:
        try:
            if self._helper is None or not self._helper.alive:
                self._helper, self._asked = hire(), False
            if self._asked and self._helper.answered:
                self._ready += self._helper.answer()
                self._asked = False
            if not self._asked and len(self._ready) < AHEAD:
                self._helper.ask(self._make, AHEAD)
                self._asked = True
        except (OSError, EOFError):  # it has gone: the next call starts another
            self._helper = None
