"""An engine for tests: in their own process, one piece after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedleak.engines.engine import Engine, Results, Work


class Here(Engine):
    """``ends_after`` so many, as Ctrl-C does."""

    words = "this process"

    def __init__(self, ends_after: int | None = None) -> None:
        self._left = ends_after
        self.done_keys: list[str] = []

    def done(self, works: Sequence[Work], shared: Mapping[str, Any]) -> Results:
        for work in works:
            if self._left == 0:
                raise KeyboardInterrupt
            self._left = None if self._left is None else self._left - 1
            self.done_keys.append(work.key)
            yield work, work.do(shared[work.shared])
