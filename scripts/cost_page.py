"""The page on scale: the cost model's table, and what theory says of a hundred parties with 1e8 rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedleak.auditing.declared_data import sketch_facts, sketch_federation
from fedleak.auditing.planner import Task, plan
from fedleak.auditing.scenario_file import read_scenario
from fedleak.core.attack import Verdict

HEAD = """# What large federations cost

Made by `python scripts/cost_table.py`; the figures are in [a result](results/cost_model.json) with where they came
from.

## Predicted and measured
A run's ciphertexts are counted before it begins, from public sizes alone (`protocols/cost_model.py`), and priced by
what this machine takes for each operation, measured in a moment. That is the estimate before an audit and what
`--budget` decides by. Real Paillier keys of {key_bits} bits, one core, CPU time; two parties, one pass over the
rows (or one tree).

| protocol | rows | columns | ciphertexts sent | predicted, s | measured, s | ratio | predicted, MB | measured, MB |
|---|---|---|---|---|---|---|---|---|
"""
SENT = """
A key is a search for primes, whose time is luck: in runs so small that keys are half of the time, the ratio scatters.
What is sent is also what a transcript takes on disk. A run whose transcript goes there holds its table and one batch
of messages in memory, and an attack one coalition's view
([architecture](architecture.md#the-way-data-flows)).
"""
TABLES = """
## A million rows
`python scripts/million_rows.py`: a table of numbers in {columns} columns, whole audits by the command line, the attack
in its own process, scores included. The cipher is the ideal one (the real one's price is above), the file an archive
of 4 bytes a cell. Memory is that of all processes together at its highest, with what they share counted once; the
table alone takes 8 bytes a cell. More than 100,000 rows are scored on 100,000 of them, drawn at random, and the report
says so. Runs that a finding is decided on beyond the first stand on the disk. Figures with where they came from:
[a result](results/million_rows.json).

| attack | rows | runs | outcome | value | memory, MB | CPU, s | wall, s | load |
|---|---|---|---|---|---|---|---|---|
"""
LARGE = """
## {parties} parties, 1e8 rows, {columns} columns each
The same counts at a size that nobody runs here, priced by the same core. One pass over the rows in batches of 32;
one tree of depth 3.

| protocol | encryptions | decryptions | cells multiplied | ciphertexts sent | sent, TB | core-years |
|---|---|---|---|---|---|---|
"""
NEEDS = """
- **Vertical logistic regression without an arbiter** grows with the square of the parties: every pair exchanges
  every row. It needs about {pairwise:,.0f} cores for a
  pass in a week, and {pairwise_tb:,.0f} TB between the parties. With an arbiter every row is encrypted once a
  party: {arbiter:,.0f} cores, {factor:,.0f} times fewer.
- **SecureBoost** encrypts every row once a tree, sends each ciphertext to all {others} partners, and adds:
  {boosted:,.0f} cores for a tree in a week. Sums of 1e8 rows fit a
  word only with 34 fraction bits or fewer (32 here; the default of 40 is refused before the run).
- **On which engine:** ours runs all parties in one process, which is what an attack on every coalition needs. Of
  the cores of one machine an audit uses as many as `--jobs` says; a
  [sweep](sweeps.md) spreads scenarios, not one run, over a cluster. At these sizes run the federation in its own
  framework and audit the [capture](captures.md).
- **What an audit needs of it:** not all of it. What leaks is decided batch by batch: theory's conditions name the
  batch, the columns and the rounds, not the rows.
  `--budget` takes so many rows as the time allows, and says so.

## Which attacks still work there, by theory
`fedleak check` without data, for the party with the labels and for one partner, at 1e8 rows. Exact and partial are
promises of theorems; unknown means that no theorem decides, and an audit has to.

| protocol | adversary | exact | in part | not decided | ruled out |
|---|---|---|---|---|---|
"""


def page(result: Mapping[str, Any], tables: Mapping[str, Any]) -> str:
    """``tables``: what scripts/million_rows.py measured."""
    lines = [HEAD.format(key_bits=result["key_bits"])]
    lines += [
        f"| {row['protocol']} | {row['rows']:,} | {row['columns']} | {row['ciphertexts']:,} "
        f"| {row['predicted_seconds']:.2f} | {row['measured_seconds']:.2f} | {row['ratio']:.2f} "
        f"| {row['predicted_megabytes']:.2f} | {row['measured_megabytes']:.2f} |\n"
        for row in result["compared"]
    ]
    lines.append(SENT)
    if tables["rows"]:
        lines.append(TABLES.format(columns=tables["rows"][0]["columns"]))
        lines += [_audited_line(row) for row in tables["rows"]]
    lines.append(LARGE.format(parties=result["parties"], columns=result["columns"]))
    for row in result["large"]:
        counted = row["counted"]
        shown = (counted[name] for name in ("encryptions", "decryptions", "cells", "sent"))
        figures = " | ".join(f"{figure:.2g}" for figure in shown)
        lines.append(f"| {row['protocol']} | {figures} | {row['terabytes']:,.0f} | {row['core_years']:.2g} |\n")
    lines.append(NEEDS.format(**_needs(result)))
    lines += [_theory_line(result, row["protocol"], name) for row in result["large"] for name in ("bank", "partner 1")]
    return "".join(lines)


def _audited_line(row: Mapping[str, Any]) -> str:
    figures = " | ".join(f"{row[name]:,.0f}" for name in ("peak_megabytes", "cpu_seconds", "wall_seconds", "load"))
    found = f"{row['outcome']} | {row['metric']} {row['value']:.3g}"
    return f"| {row['attack']} | {row['rows']:,} | {row['runs']} | {found} | {figures} |\n"


def _needs(result: Mapping[str, Any]) -> dict[str, float]:
    years = {row["protocol"]: row["core_years"] for row in result["large"]}
    weeks = {name: max(1.0, value * 365.25 / 7) for name, value in years.items()}
    sent = {row["protocol"]: row["terabytes"] for row in result["large"]}
    return {
        "pairwise": weeks["vertical-logistic"],
        "pairwise_tb": sent["vertical-logistic"],
        "arbiter": weeks["vertical-logistic-arbiter"],
        "factor": years["vertical-logistic"] / years["vertical-logistic-arbiter"],
        "boosted": weeks["secureboost"],
        "others": result["parties"] - 1,
    }


def _theory_line(result: Mapping[str, Any], protocol: str, adversary: str) -> str:
    tasks = _tasks(protocol, adversary, result["parties"], result["n_rows"], result["columns"])
    told = " | ".join(_named(tasks, verdict) for verdict in SHOWN)
    return f"| {protocol} | {adversary} | {told} |\n"


SHOWN = (Verdict.EXACT, Verdict.PARTIAL, Verdict.UNKNOWN, Verdict.IMPOSSIBLE)


def _named(tasks: Sequence[Task], verdict: Verdict) -> str:
    """Each attack once, under the best that theory says of it."""
    best = {task.attack.name: SHOWN.index(task.prediction.verdict) for task in sorted(tasks, key=_rank, reverse=True)}
    return ", ".join(sorted(name for name, place in best.items() if SHOWN[place] is verdict)) or "none"


def _rank(task: Task) -> int:
    return SHOWN.index(task.prediction.verdict)


def _tasks(protocol: str, adversary: str, n_parties: int, n_rows: int, n_columns: int) -> list[Task]:
    """What is tried, of a federation that is declared and never made."""
    parties: list[dict[str, object]] = [{"name": "bank", "role": "active", "n_columns": n_columns}]
    parties += [{"name": f"partner {i}", "role": "passive", "n_columns": n_columns} for i in range(1, n_parties)]
    if protocol.endswith("-arbiter"):
        parties.append({"name": "referee", "role": "arbiter"})
    one_pass: dict[str, object] = {"fraction_bits": 32, "n_trees": 1, "depth": 3}
    if protocol != "secureboost":
        one_pass = {"batch_size": 32, "epochs": 1}
    federation = {"protocol": protocol, "partition": {"by": "ratio"}, "parties": parties, **one_pass}
    scenario = read_scenario(
        {
            "data": {"source": "table.csv", "scaling": "standard+max-row-norm"},
            "federation": federation,
            "adversary": [{"parties": [adversary]}],
        }
    )
    made, facts = sketch_federation(scenario), sketch_facts(scenario)
    runs = plan(made, scenario.adversaries, (), parties=facts, n_rows=n_rows)
    return [task for run in runs for task in run.tasks if task.skip is None]
