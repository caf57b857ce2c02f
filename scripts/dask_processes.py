"""A Dask cluster of processes on this machine, whose workers can be killed one by one and do not come back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

from fedleak.trial.isolation import ONE_THREAD

HERE = "127.0.0.1"
SECONDS_TO_BEGIN = 60


class DaskProcesses:
    """A scheduler and workers of one thread each, without a nanny that would start a killed one again."""

    def __init__(self, folder: Path, n_workers: int) -> None:
        self._folder, self._log = folder, (folder / "dask.log").open("w", encoding="utf-8")
        self._known = folder / "scheduler.json"
        self._scheduler = self._begun("scheduler", "--host", HERE, "--port", "0", "--scheduler-file", str(self._known))
        self.workers: list[subprocess.Popen[bytes]] = []
        self.engine = f"dask://{self._address().removeprefix('tcp://')}"
        for _ in range(n_workers):
            self.add_worker()

    def add_worker(self) -> None:
        places = ("--scheduler-file", str(self._known), "--host", HERE, "--local-directory", str(self._folder))
        self.workers.append(self._begun("worker", *places, "--no-nanny", "--nthreads", "1"))

    def kill_worker(self) -> None:
        """As ``kill -9`` does, whatever it was computing."""
        worker = self.workers.pop()
        worker.kill()
        worker.wait()

    def __enter__(self) -> DaskProcesses:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        for process in (*self.workers, self._scheduler):
            process.kill()  # asked to end, a worker waits for a scheduler that has gone
        for process in (*self.workers, self._scheduler):
            process.wait()
        self._log.close()

    def _begun(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", kind, *options, "--no-dashboard"]
        return subprocess.Popen(command, stdout=self._log, stderr=self._log, env={**os.environ, **ONE_THREAD})

    def _address(self) -> str:
        end = time.monotonic() + SECONDS_TO_BEGIN
        while time.monotonic() < end and self._scheduler.poll() is None:
            try:
                return str(json.loads(self._known.read_text(encoding="utf-8"))["address"])
            except (OSError, ValueError):  # not there yet, or half written
                time.sleep(0.05)
        self._scheduler.kill()
        raise RuntimeError(f"the scheduler did not begin: {(self._folder / 'dask.log').read_text(encoding='utf-8')}")
