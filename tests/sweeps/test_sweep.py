"""A sweep that is disturbed, and one that is not: the same store."""

from __future__ import annotations

import json
import signal
import socket
import sys

import pytest
from grids import GRID, begun, wait_for, written

from dask_processes import DaskProcesses
from engine_here import Here
from fedleak.cli.sweep import sweep_command
from fedleak.core.errors import ExitCode, InputError, MissingExtraError
from fedleak.engines.engine import Engine, engine_named
from fedleak.sweeps.grid import load_grid
from fedleak.sweeps.store import Store
from fedleak.sweeps.swept import Planned, sweep
from fedleak.trial.progress import Silent
from sweep_faults import kept


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    return written(tmp_path_factory.mktemp("grid"))


@pytest.fixture(scope="module")
def planned(grid):
    return Planned(load_grid(grid).cells()[0])


@pytest.fixture(scope="module")
def undisturbed(planned, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    swept = sweep(planned, Store(out, new=True), Here(), Silent())
    assert (swept.n_cells, swept.n_computed, swept.n_from_store, swept.n_failed) == (6, 6, 0, 0)
    return out


def test_an_interrupted_sweep_goes_on_with_the_same_result_and_a_second_computes_nothing(
    planned, undisturbed, tmp_path
):
    store = Store(tmp_path, new=True)
    first = sweep(planned, store, Here(ends_after=2), Silent())
    assert (first.n_computed, first.interrupted is not None) == (2, True)
    second = sweep(planned, store, Here(), Silent())
    assert (second.n_computed, second.n_from_store) == (4, 2)
    assert sweep(planned, store, Here(), Silent()).n_computed == 0
    assert kept(tmp_path) == kept(undisturbed)


def test_processes_of_this_machine_killed_with_their_sweep_leave_what_they_had_and_give_the_same(
    grid, undisturbed, tmp_path
):
    killed = begun(grid, tmp_path, "--jobs", "1")
    wait_for(tmp_path, 2, killed)
    killed.kill()
    killed.communicate(timeout=60)
    process = begun(grid, tmp_path, "--jobs", "1", "--json", "-")
    said, _ = process.communicate(timeout=120)
    told = json.loads(said)
    assert process.returncode == ExitCode.DONE
    assert told["complete"]
    assert told["from_store"] >= 2
    assert told["computed"] == 6 - told["from_store"]
    assert kept(tmp_path) == kept(undisturbed)


def test_ctrl_c_keeps_what_there_is_and_says_how_to_go_on(grid, undisturbed, tmp_path):
    process = begun(grid, tmp_path, "--jobs", "1")
    wait_for(tmp_path, 1, process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert said.splitlines()[-1].endswith(f"go on with: fedleak sweep {grid} --out {tmp_path}")
    assert kept(tmp_path).items() <= kept(undisturbed).items()


def test_a_worker_that_dies_is_replaced_and_a_cell_that_always_kills_is_given_up(planned, monkeypatch):
    from fedleak.engines import local_processes
    from fedleak.engines.local_processes import BrokenProcessPool, LocalProcesses

    works = list(planned.works.values())
    rounds = []

    def dying(_, left, __):
        rounds.append(len(left))
        if len(rounds) < 4:
            yield left[0], "done"
        raise BrokenProcessPool

    monkeypatch.setattr(local_processes.LocalProcesses, "_round", dying)
    with pytest.raises(Exception, match=r"a process died 3 times in a row.*3 pieces are left"):
        list(LocalProcesses(1).done(works, planned.tables))
    assert rounds == [6, 5, 4, 3, 3]


def test_engines_that_are_not_there_are_told_in_one_line(monkeypatch):
    with pytest.raises(InputError, match=r"--engine must be dask://HOST:PORT"):
        engine_named("spark://here", 1)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fedleak\[dask\]'"):
        engine_named("dask://127.0.0.1:1", 1)


def test_a_scheduler_that_does_not_answer_is_told_in_one_line(planned, monkeypatch):
    pytest.importorskip("distributed", reason="the extra fedleak[dask] is not installed")
    monkeypatch.setattr("fedleak.engines.dask_cluster.SECONDS_TO_ANSWER", 0.2)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        engine = engine_named(f"dask://127.0.0.1:{taken.getsockname()[1]}", 1)
        with pytest.raises(InputError, match=r"must name a Dask scheduler that answers.*which does not answer"):
            next(engine.done(list(planned.works.values()), planned.tables))


def test_a_dask_cluster_gives_the_same_to_the_byte(planned, undisturbed, tmp_path):
    distributed = pytest.importorskip("distributed", reason="the extra fedleak[dask] is not installed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, host="127.0.0.1", protocol="tcp://", dashboard_address=None
    ) as cluster:
        engine = engine_named(f"dask://{cluster.scheduler_address.removeprefix('tcp://')}", 1)
        assert sweep(planned, Store(tmp_path, new=True), engine, Silent()).n_computed == 6
    assert kept(tmp_path) == kept(undisturbed)


class Disturbed(Engine):
    """A cluster of two workers, of which one is killed after so many cells and does not come back."""

    words = "a cluster that loses a worker"

    def __init__(self, cluster, after: int) -> None:
        self._cluster, self._after = cluster, after

    def done(self, works, tables):
        engine = engine_named(self._cluster.engine, 1)
        for n_done, found in enumerate(engine.done(works, tables), start=1):
            if n_done == self._after:
                self._cluster.kill_worker()
            yield found


def test_a_worker_of_a_cluster_that_is_killed_loses_nothing(planned, undisturbed, tmp_path):
    pytest.importorskip("distributed", reason="the extra fedleak[dask] is not installed")
    with DaskProcesses(tmp_path, 2) as cluster:
        swept = sweep(planned, Store(tmp_path / "out", new=True), Disturbed(cluster, 3), Silent())
        assert len(cluster.workers) == 1
    assert (swept.n_computed, swept.failed) == (6, None)
    assert kept(tmp_path / "out") == kept(undisturbed)


def test_a_dry_run_lists_the_cells_and_makes_nothing(grid, tmp_path, capsys):
    out = tmp_path / "out"
    assert sweep_command(grid, out, None, 1, True, None) is ExitCode.DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "adversary = fintech, attack = residual-sign, defense = none, seed = 0"
    assert (len(lines), lines[-1]) == (7, "6 cells")
    assert not out.exists()


def test_what_a_store_has_is_kept_apart_by_the_grids_seed(planned, tmp_path):
    other = Planned(load_grid(written(tmp_path, GRID.replace("seed = 7", "seed = 8"))).cells()[0])
    assert not set(other.works) & set(planned.works)
