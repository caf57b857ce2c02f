"""The tests of one mutant, in a forked process that is ended when it takes too long."""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

import pytest

SLOW = 0.5  # CPU seconds: a test that takes longer is left out
CPU_LIMIT = 30  # seconds beyond three times what the tests take: an edit that makes a loop endless is noticed
MEMORY_LIMIT = 6 * 2**30
CLOCK_LIMIT = 1800.0
# Plugins that are loaded before the fork have no rewritten asserts, which pytest would take for a mistake.
OPTIONS = ("-p", "no:cacheprovider", "-q", "-W", "ignore::pytest.PytestAssertRewriteWarning")


@dataclass(frozen=True)
class Outcome:
    """``by``: the first test that failed. ``seconds``: of each test that passed."""

    word: str  # survived, failed, endless
    by: str = ""
    seconds: dict[str, float] = field(default_factory=dict)


def in_child(folder: Path, tests: Sequence[str], known: Mapping[str, float]) -> Outcome:
    """Runs the tests of a tree. With known times: the tests that have one, the fast ones first, to the first that
    fails; without: all of them, to learn the times of those that are not slow."""
    answer = folder / "outcome.json"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _run(folder, tests, known, answer)
    if not _waited(child):
        return Outcome("endless", "no end within the limit")
    if not answer.exists():
        return Outcome("failed", "the interpreter ended")
    told = json.loads(answer.read_text(encoding="utf-8"))
    return Outcome("survived" if told["code"] == 0 else "failed", told["by"], told["seconds"])


def _waited(child: int) -> bool:
    """Whether it ended by itself."""
    until = time.monotonic() + CLOCK_LIMIT
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return not (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL))
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


class Watcher:
    """Puts tests in order, leaves slow ones out, notes times and the first failure."""

    def __init__(self, known: Mapping[str, float]) -> None:
        self._known = known
        self.by = ""
        self.seconds: dict[str, float] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._known:
            items[:] = [item for item in items if item.nodeid in self._known]
            items.sort(key=lambda item: self._known[item.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        began = time.process_time()
        result = yield
        spent = time.process_time() - began
        if spent <= SLOW:
            self.seconds[item.nodeid] = round(spent, 3)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.by = self.by or (report.nodeid if report.failed else "")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.by = self.by or (f"import of {report.nodeid}" if report.failed else "")


def _run(folder: Path, tests: Sequence[str], known: Mapping[str, float], answer: Path) -> None:
    """Never returns: what the parent has open stays as it is."""
    os.setpgid(0, 0)
    if known:
        limit = CPU_LIMIT + ceil(3 * sum(known.values()))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
        sys.dont_write_bytecode = True  # of an edited module it would be taken for the true one's
    gc.freeze()
    os.chdir(folder)
    sys.path.insert(0, str(folder / "src"))
    os.environ["PYTHONPATH"] = str(folder / "src")
    watcher, code = Watcher(known), -1
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        stop = ("-x",) if known else ()
        try:
            code = int(pytest.main([*OPTIONS, *stop, *tests], plugins=[watcher]))
        except BaseException as error:
            watcher.by = f"{type(error).__name__} before any test"
    told = {"code": code, "by": watcher.by, "seconds": watcher.seconds}
    answer.write_text(json.dumps(told), encoding="utf-8")
    os._exit(0)
