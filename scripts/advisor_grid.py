"""A grid of settings, run independently of the advisor, beside what the advisor put on top.

``python scripts/advisor_grid.py [NAME ...]`` audits every cell of each scenario's grid below, all attacks that apply,
five runs a finding, under a key that neither the search nor its confirmation had, and says whether a cell closes every
leak with a model that is worth over two points more than the one that the advisor wrote. What comes of each is written
to docs/results/advisor_NAME.json, and ``--page`` puts all of them into docs/advise.md.

A cell whose model is no better than a blind guess is left out: nobody would train it, so it cannot be the better
advice, however its figure compares with another worthless one. Where that leaves no closing cell, and the advisor's own
model is worthless too, the grid shows nothing: ``holds`` is null then, which is no success.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from fedleak.advising.advice import base_of
from fedleak.advising.measured import Bench, Measured
from fedleak.auditing.means import REPEATS
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_edit import edit_text
from fedleak.auditing.scenario_file import load_scenario, read_defense
from fedleak.cli.main import app
from fedleak.core.errors import InputError
from fedleak.core.finding import Finding
from fedleak.core.whole.randomness import RunKey
from fedleak.data import load_table
from fedleak.storage.file_writing import write_text
from fedleak.trial.provenance import code_state, one_thread, provenance
from fedleak.trial.spent import cpu_seconds

EXAMPLES = Path(__file__).parents[1] / "examples"
RESULTS = Path(__file__).parents[1] / "docs" / "results"
POINTS = 0.02
N_MODELS = 10
Table = dict[str, list[object]]
Spec = dict[str, object] | None
VERTICAL: Table = {
    "batch_size": [16, 64],
    "epochs": [2, 8],
    "learning_rate": [0.09, 0.36],
    "gradients": ["revealed", "secret-shared"],
}


def each(name: str, parameter: str, values: tuple[float, ...]) -> Iterator[Spec]:
    return ({"name": name, parameter: value} for value in values)


SCORE_NOISE: list[Spec] = [
    None,
    *each("gaussian-noise", "sigma", (4.0, 12.0, 30.0, 100.0)),
    {"name": "dp-paillier", "epsilon": 0.5},
]
# Of each scenario: settings, and defenses (None: none) that each of their combinations is audited under.
GRIDS: dict[str, tuple[Table, list[Spec]]] = {
    "small_batch_labels": (VERTICAL, SCORE_NOISE),
    "defended": (VERTICAL, SCORE_NOISE),
    "predictions": (
        {"reveal": ["model", "contributions", "nothing"], "with_bias": [False, True], "l2": [1e-5, 1e-3, 1e-1]},
        [
            None,
            {"name": "top-label"},
            *each("rounding", "digits", (0, 1, 2)),
            *each("confidence-noise", "sigma", (0.05, 0.5, 5.0)),
        ],
    ),
    "arbiter_collusion": (
        {"epochs": [1, 3, 20], "batch_size": [8, 32], "learning_rate": [0.1, 0.3], "shuffle": [False, True]},
        [None, *each("gaussian-noise", "sigma", (4.0, 30.0, 300.0))],
    ),
    "averaged_models": (
        {"rounds": [4, 15, 120], "learning_rate": [0.01, 0.05, 0.2, 0.5], "batch_size": [4, 8, 32]},
        [None],
    ),
    "hospital_and_clinic": (
        {
            "rounds": [30, 90],
            "learning_rate": [0.1, 0.5],
            "batch_size": [4, 32],
            "initialisation": ["zero", "normal"],
        },
        [None, {"name": "fresh-batches"}, *each("selective-sharing", "fraction", (0.01, 0.1, 0.5))],
    ),
    "validated_scores": (
        {"validate_every": [0, 1, 5], "epochs": [2, 10, 40], "learning_rate": [0.1, 0.4], "batch_size": [16, 64]},
        [None, *each("gaussian-noise", "sigma", (4.0, 30.0))],
    ),
}


def cells(base: Scenario, name: str) -> Iterator[Scenario]:
    settings, defenses = GRIDS[name]
    for values in product(*settings.values()):
        for defense in defenses:
            made = () if defense is None else (read_defense(defense, "defense"),)
            chosen = dict(zip(settings, values, strict=True))
            yield replace(base, settings=replace(base.settings, **chosen), defenses=made)


def compare(name: str) -> dict[str, object]:
    path = EXAMPLES / f"{name}.toml"
    base = base_of(load_scenario(path))
    bench = Bench(
        base, load_table(base.data, folder=base.folder), RunKey.published(2026, "grid"), REPEATS, n_models=N_MODELS
    )
    before = bench.measure(base, bench.planned(base), ())
    leaks = tuple(finding for finding in before.report.findings if finding.is_shown)
    advised = written(path)
    top = None if advised is None else bench.measure(advised, bench.planned(advised), leaks)
    tried = [one for one in (_measured(bench, cell, leaks) for cell in cells(base, name)) if one is not None]
    closing = [one for one in tried if one.closes]
    useful = [one for one in closing if not _worthless(one)]
    best = max(useful, key=lambda one: one.usefulness, default=None)
    behind = None if best is None or top is None else best.usefulness - top.usefulness
    return {
        "scenario": name,
        "cells": len(tried),
        "closing_cells": len(closing),
        "useful_closing_cells": len(useful),
        "usefulness_before": before.usefulness,
        "worthless_before": _worthless(before),
        "top": None if top is None else edit_text(base, top.scenario),
        "top_closes_in_grid_audit": None if top is None else top.closes,
        "top_usefulness": None if top is None else top.usefulness,
        "top_worthless": None if top is None else _worthless(top),
        "best_cell": None if best is None else edit_text(base, best.scenario),
        "best_cell_usefulness": None if best is None else best.usefulness,
        "points_behind": None if behind is None else round(100 * behind, 2),
        "holds": _holds(top, best),
    }


def _holds(top: Measured | None, best: Measured | None) -> bool | None:
    """None where there is nothing to compare: no useful cell closes, and the advisor has no useful change either."""
    advised = top is not None and top.closes and not _worthless(top)
    if best is None:
        return True if advised else None
    return advised and top is not None and best.usefulness - top.usefulness <= POINTS


def written(path: Path) -> Scenario | None:
    """What ``fedleak advise --write`` makes of it, read again; None where nothing closes."""
    with TemporaryDirectory() as folder:
        fixed = Path(folder) / "fixed.toml"
        done = CliRunner().invoke(app, ["advise", str(path), "--write", str(fixed), "--budget", "9h"])
        if done.exit_code:
            raise SystemExit(done.output)
        print(done.output, file=sys.stderr)
        return load_scenario(fixed) if fixed.exists() else None


def _worthless(one: Measured) -> str:
    """What its model is no better than; empty where it is better."""
    return "unmeasured" if one.worth is None else one.worth.worthless


def _measured(bench: Bench, cell: Scenario, leaks: tuple[Finding, ...]) -> Measured | None:
    try:
        return bench.measure(cell, bench.planned(cell), leaks)
    except InputError:
        return None


def main(names: Sequence[str]) -> int:
    code, holds = code_state(), True
    for name in names or GRIDS:
        started = cpu_seconds()
        with one_thread():
            found = compare(name)
            told = {**found, "cpu_seconds": round(cpu_seconds() - started, 1), "provenance": provenance(code)}
        write_text(RESULTS / f"advisor_{name}.json", json.dumps(told, indent=1) + "\n")
        print(json.dumps(found), flush=True)
        holds &= found["holds"] is not False
    return int(not holds)


HEAD = ("| scenario | cells | close, with a useful model | the advisor's first change | model | best cell | model "
        "| points behind | holds |")  # fmt: skip
BEGIN, END = "<!-- grids: python scripts/advisor_grid.py --page -->\n", "<!-- end of grids -->\n"


def table() -> str:
    """Of what is kept, a row a scenario."""
    rows = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("advisor_*.json"))]
    return "\n".join((HEAD, "|---" * 9 + "|", *map(_row, rows))) + "\n"


def _row(one: dict[str, object]) -> str:
    def cell(name: str) -> str:
        found = one.get(name, "not told")  # by a result of earlier code
        if found is None:
            return "none"
        return f"{found:.3f}" if isinstance(found, float) else str(found)

    def edit(name: str) -> str:
        return ", ".join(f"`{line}`" for line in str(one[name] or "none").splitlines() if not line.startswith("["))

    useful = f"{cell('closing_cells')}, {cell('useful_closing_cells')}"
    holds = {True: "yes", False: "no", None: "nothing to compare"}[one["holds"]]  # type: ignore[index]
    told = (cell("scenario"), cell("cells"), useful, edit("top"), cell("top_usefulness"), edit("best_cell"),
            cell("best_cell_usefulness"), cell("points_behind"), holds)  # fmt: skip
    return f"| {' | '.join(told)} |"


def write_page() -> None:
    page = RESULTS.parent / "advise.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    write_text(page, f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    write_page() if sys.argv[1:] == ["--page"] else sys.exit(main(sys.argv[1:]))
