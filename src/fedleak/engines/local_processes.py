"""joblib's processes on this machine."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, as_completed
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import BrokenProcessPool

from fedleak.core.errors import RunError
from fedleak.engines.engine import MAX_DEATHS, Engine, Results, Work
from fedleak.trial.isolation import ONE_THREAD, end_isolation

SECONDS_BETWEEN_LOOKS = 0.5


class LocalProcesses(Engine):
    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    @property
    def words(self) -> str:
        return f"{self._jobs} processes of this machine"

    def done(self, works: Sequence[Work], shared: Mapping[str, Any]) -> Results:
        left = {work.key: work for work in works}
        deaths = 0
        while left:
            try:
                for work, done in self._round(list(left.values()), shared):
                    del left[work.key]
                    deaths = 0
                    yield work, done
            except BrokenProcessPool:
                deaths += 1
                if deaths == MAX_DEATHS:
                    raise RunError(
                        f"a process died {deaths} times in a row, as for want of memory; {len(left)} pieces are left. "
                        "Give it more, or use fewer --jobs: the same command goes on"
                    ) from None

    def _round(self, works: Sequence[Work], shared: Mapping[str, Any]) -> Results:
        """Until all are done or a process dies: then the pool is of no use any more."""
        pool = ProcessPoolExecutor(
            min(self._jobs, len(works)), initializer=_live_with, initargs=(os.getpid(),), env=ONE_THREAD
        )
        try:
            running: dict[Future[Any], Work] = {pool.submit(work.do, shared[work.shared]): work for work in works}
            for future in as_completed(running):
                yield running[future], future.result()
        finally:
            pool.shutdown(wait=True, kill_workers=True)


def _live_with(parent: int) -> None:
    """A worker leaves interrupts to the process that asks, which ends it; and is gone soon after that is."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    end_isolation()
    os._exit(1)
