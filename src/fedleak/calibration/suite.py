"""Which seeds of which cells are measured, and their measuring, side by side."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fedleak.attacks import ATTACKS
from fedleak.auditing.means import REPEATS
from fedleak.calibration.blocks import Block, ControlBlock, Decision, StageBlock, planned_runs
from fedleak.calibration.control_runs import controls_of
from fedleak.calibration.journal import Journal
from fedleak.calibration.stage import SIZES, Stage
from fedleak.calibration.stages import LEAKING, STAGES, UNCALIBRATED
from fedleak.calibration.stopping import still_needed, waves
from fedleak.calibration.tally import Calibration, Tally, added
from fedleak.core.errors import InputError, UnknownNameError, nearest_or_list
from fedleak.trial.decide import decide
from fedleak.trial.progress import Progress
from fedleak.trial.provenance import code_state

BLOCK = 20  # seeds
UNCOLLECTED = 50_000  # values that a process makes before it looks for rings of them
SEEDS, SLOW_SEEDS, POWER_SEEDS = 400, 60, 60
QUICK_SEEDS, QUICK_SLOW_SEEDS, QUICK_POWER_SEEDS = 20, 3, 3
QUICK_CELLS = frozenset({("normal", 5), ("correlated", 20), ("imbalanced-5", 20)})


@dataclass(frozen=True)
class Wanted:
    """Everything, unless attacks or tables are named. ``quick`` measures a few cells with few seeds."""

    attacks: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    seeds: int | None = None
    quick: bool = False
    repeats: int = REPEATS

    def __post_init__(self) -> None:
        for table in self.tables:
            if table not in SIZES:
                raise UnknownNameError(f"unknown table {table!r}{nearest_or_list(table, SIZES)}")
        object.__setattr__(self, "attacks", tuple(ATTACKS.get(name).name for name in self.attacks))

    @property
    def null_seeds(self) -> int:
        return self.seeds or (QUICK_SEEDS if self.quick else SEEDS)

    @property
    def slow_seeds(self) -> int:
        return min(self.null_seeds, QUICK_SLOW_SEEDS if self.quick else SLOW_SEEDS)

    @property
    def power_seeds(self) -> int:
        return min(self.null_seeds, QUICK_POWER_SEEDS if self.quick else POWER_SEEDS)

    @property
    def stops_early(self) -> bool:
        """A number of seeds that is asked for is measured everywhere."""
        return self.seeds is None and not self.quick

    def has_attack(self, name: str) -> bool:
        return not self.attacks or name in self.attacks

    def cells(self, stage: Stage) -> list[tuple[str, int]]:
        found = [(table, n) for table, n in stage.cells() if not self.tables or table in self.tables]
        return [cell for cell in found if cell in QUICK_CELLS] if self.quick and not stage.leaks else found

    def blocks(self) -> list[Block]:
        """The first seeds of everything before the next ones: an interruption leaves fewer seeds, not fewer cells."""
        found = [*self._false_leaks(), *self._power()]
        if not found:
            raise InputError("attacks and tables must go together; got none that an attack is measured on")
        return sorted(found, key=lambda block: block.first)

    def _false_leaks(self) -> Iterator[Block]:
        for stage, attacks in homes(self.attacks or calibrated()):
            for table, n in self.cells(stage):
                slow = tuple(name for name in attacks if name in stage.slow)
                quick = tuple(name for name in attacks if name not in stage.slow)
                yield from self._stage_blocks(stage, table, n, quick, self.null_seeds)
                yield from self._stage_blocks(stage, table, n, slow, self.slow_seeds)

    def _power(self) -> Iterator[Block]:
        for stage in LEAKING:
            attacks = tuple(name for name in stage.attacks if self.has_attack(name))
            for table, n in self.cells(stage):
                yield from self._stage_blocks(stage, table, n, attacks, self.power_seeds)
        for attack in () if self.tables else ATTACKS:
            for control in controls_of(attack) if self.has_attack(attack.name) else ():
                for first, count in _pieces(self.power_seeds):
                    yield ControlBlock(
                        first=first, count=count, repeats=self.repeats, attack=attack.name, control=control
                    )

    def _stage_blocks(
        self, stage: Stage, table: str, n: int, attacks: tuple[str, ...], seeds: int
    ) -> Iterator[StageBlock]:
        for first, count in _pieces(seeds) if attacks else ():
            yield StageBlock(
                first=first, count=count, repeats=self.repeats, stage=stage.name, table=table, n=n, attacks=attacks
            )


def _pieces(seeds: int) -> list[tuple[int, int]]:
    return [(first, min(BLOCK, seeds - first)) for first in range(0, seeds, BLOCK)]


def calibrated() -> tuple[str, ...]:
    """Everybody's attacks but those of ours that no stage has."""
    return tuple(name for name in ATTACKS.names if name not in UNCALIBRATED)


def homes(names: Sequence[str]) -> list[tuple[Stage, tuple[str, ...]]]:
    """The stages with the attacks that are tried there; one that no stage names goes to the first that plans it."""
    found = {stage.name: [name for name in stage.attacks if name in names] for stage in STAGES}
    for name in names:
        if not any(name in stage.attacks for stage in STAGES):
            found[_home_of(name).name].append(name)
    return [(stage, tuple(found[stage.name])) for stage in STAGES if found[stage.name]]


def _home_of(attack: str) -> Stage:
    for stage in STAGES:
        runs = planned_runs(stage.name, *stage.cells()[0])
        if any(task.attack.name == attack and task.skip is None for run in runs for task in run.tasks):
            return stage
    raise InputError(f"attacks must be such as a calibrated protocol gives what they need; got {attack}; leave it out")


@dataclass(frozen=True)
class Measured:
    calibration: Calibration
    complete: bool  # False where it was interrupted
    seconds: float
    cpu_seconds: float
    code: Mapping[str, object]  # as it was at the beginning


def calibrate(
    wanted: Wanted, journal: Journal, progress: Progress, *, jobs: int = 1, decision: Decision = decide
) -> Measured:
    """Measure what the journal does not have. Ctrl-C ends it with what there is."""
    blocks, code = wanted.blocks(), code_state()
    began, own = time.perf_counter(), _cpu_seconds()
    progress.begin("calibration", len(blocks))
    chosen: list[Block] = []
    complete = True
    try:
        for wave in waves(blocks) if wanted.stops_early else [blocks]:
            needed = _still_needed(wave, _tallies(chosen, journal))
            chosen += needed
            _measure_wave(needed, len(wave), journal, progress, _Way(jobs, decision))
    except KeyboardInterrupt:
        complete = False
    false_leaks, power = (_tallies([one for one in chosen if one.leaks is leaks], journal) for leaks in (False, True))
    result = Calibration(tuple(added(false_leaks)), tuple(added(power)), exact=not wanted.quick)
    return Measured(result, complete, time.perf_counter() - began, _cpu_seconds() - own, code)


@dataclass(frozen=True)
class _Way:
    """How blocks are measured."""

    jobs: int
    decision: Decision


def _still_needed(wave: Sequence[Block], tallies: Sequence[Tally]) -> list[Block]:
    needed = (still_needed(block, tallies) for block in wave)
    return [block for block in needed if block is not None]


def _tallies(blocks: Sequence[Block], journal: Journal) -> list[Tally]:
    return [tally for block in blocks for tally in journal.of(block) or ()]


def _measure_wave(needed: Sequence[Block], n_blocks: int, journal: Journal, progress: Progress, way: _Way) -> None:
    """What the journal does not have; the others of so many blocks are done with."""
    open_blocks = [block for block in needed if journal.of(block) is None]
    for _ in range(n_blocks - len(open_blocks)):
        progress.advance()
    for block, tallies in _measured(open_blocks, way):
        journal.keep(block, tallies)
        progress.advance()


def _cpu_seconds() -> float:
    """Of this process and of those that it waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _measured(blocks: Sequence[Block], way: _Way) -> Iterator[tuple[Block, list[Tally]]]:
    if way.jobs == 1 or not blocks:
        yield from ((block, block.measured(way.decision)) for block in blocks)
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # for the processes: side by side, threads stand in each other's way
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    pool = multiprocessing.get_context("spawn").Pool(way.jobs, initializer=_begin_work)
    try:
        yield from pool.imap_unordered(_measure, [(block, way.decision) for block in blocks])
        pool.close()
    finally:
        pool.terminate()
        pool.join()


def _begin_work() -> None:
    """Interrupts are the parent's. Runs make millions of small values and no rings of them: looking for such after
    every 700 took a sixth of the time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(UNCOLLECTED, 20, 20)


def _measure(work: tuple[Block, Decision]) -> tuple[Block, list[Tally]]:
    block, decision = work
    return block, block.measured(decision)
