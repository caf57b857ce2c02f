"""``fedleak sweep``: a grid of scenarios, on all cores or on a cluster."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fedleak.cli.bar import Bar
from fedleak.cli.output import check_json_target, say, write_json
from fedleak.cli.signals import exit_code
from fedleak.core.errors import ExitCode
from fedleak.engines.code_version import code_version
from fedleak.engines.engine import engine_named
from fedleak.sweeps.cell import Cell
from fedleak.sweeps.grid import Refused, load_grid
from fedleak.sweeps.store import Store
from fedleak.sweeps.swept import Planned, Swept, sweep


def sweep_command(path: Path, out: Path, engine: str | None, jobs: int, dry_run: bool, json: str | None) -> ExitCode:
    check_json_target(json)
    cells, refused = load_grid(path).cells()
    if dry_run:
        _list(cells, refused, json)
        return ExitCode.DONE
    where = engine_named(engine, jobs)
    began = time.perf_counter()
    with Bar() as bar:
        bar.note(_count_words(cells, refused))
        planned = Planned(cells)
        store = Store(out, new=True)
        swept = sweep(planned, store, where, bar)
    seconds = time.perf_counter() - began
    if json is not None:
        write_json(_json(swept, store, planned, seconds, refused), json)
    if json != "-":
        say(
            f"{swept.n_cells} cells: {swept.n_computed} computed, {swept.n_from_store} from the store; "
            f"{seconds:.1f} s, {swept.cpu_seconds:.1f} s of CPU time. Look at them: fedleak results {out}"
        )
    return _ended(swept, path, out)


def _ended(swept: Swept, path: Path, out: Path) -> ExitCode:
    go_on = f"go on with: fedleak sweep {path} --out {out}"
    if swept.interrupted is not None:
        say(f"fedleak: interrupted; what was computed is kept; {go_on}", err=True)
        return exit_code(swept.interrupted)
    if swept.failed is not None:
        raise swept.failed
    if swept.n_failed:
        say(f"fedleak: something failed in {swept.n_failed} cells; the same command tries them again", err=True)
        return ExitCode.FAILED
    return ExitCode.DONE


def _count_words(cells: Sequence[Cell], refused: Sequence[Refused]) -> str:
    left_out = Counter(one.why for one in refused)
    reasons = "".join(f"; {count} left out: {why}" for why, count in left_out.items())
    return f"{len(cells)} cells{reasons}"


def _list(cells: Sequence[Cell], refused: Sequence[Refused], json: str | None) -> None:
    if json is not None:
        told = [{"setting": dict(one.setting), "why": one.why} for one in refused]
        write_json({"cells": [dict(cell.setting) for cell in cells], "left_out": told}, json)
    if json == "-":
        return
    for cell in cells:
        say(", ".join(f"{axis} = {label}" for axis, label in cell.setting.items()))
    say(_count_words(cells, refused))


def _json(
    swept: Swept, store: Store, planned: Planned, seconds: float, refused: Sequence[Refused]
) -> dict[str, object]:
    reports = store.reports(code_version())
    return {
        "store": str(store.path),
        "code": code_version(),
        "complete": swept.interrupted is None and swept.failed is None,
        "cells": swept.n_cells,
        "distinct": swept.n_distinct,
        "from_store": swept.n_from_store,
        "computed": swept.n_computed,
        "failed": swept.n_failed,
        "seconds": seconds,
        "cpu_seconds": swept.cpu_seconds,
        "left_out": [{"setting": dict(one.setting), "why": one.why} for one in refused],
        "results": [{"key": key, "setting": setting, "done": key in reports} for key, setting in planned.called],
    }
