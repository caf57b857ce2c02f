"""A cell of a grid: one scenario, run and attacked wherever there is a free process.

A sweep is an experiment that everybody can repeat, not somebody's audit: the run keys of its cells are published, made
from the grid's own seed and the scenario's. Cells that differ by a defense or an attack alone have the same luck.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

from fedleak.auditing.means import Means
from fedleak.auditing.planner import plan_audit
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import scenario_json
from fedleak.auditing.trainings import in_memory
from fedleak.core.errors import InputError
from fedleak.core.finding import Outcome
from fedleak.core.report import Report
from fedleak.core.whole.randomness import RunKey
from fedleak.data import EncodedTable
from fedleak.engines.code_version import code_version
from fedleak.engines.engine import on_one_core
from fedleak.report import json_format
from fedleak.trial.progress import Silent
from fedleak.trial.spent import cpu_seconds


@dataclass(frozen=True)
class Cell:
    scenario: Scenario
    setting: Mapping[str, str]  # what the grid calls its values, by axis
    seed: int  # the grid's
    repeats: int

    @cached_property
    def run_key(self) -> RunKey:
        return RunKey.published(self.seed, "sweep", str(self.scenario.seed))

    def inputs(self, data: str) -> str:
        """All that the outcome follows from but the code, as one text. ``data``: the digest of the table."""
        scenario = {name: value for name, value in scenario_json(self.scenario).items() if name != "title"}
        told = {"scenario": scenario, "data": data, "run_key": str(self.run_key), "repeats": self.repeats}
        return json.dumps(told, sort_keys=True, ensure_ascii=True)


@dataclass(frozen=True)
class Done:
    """``report`` is JSON, without times and without true values: the same text whoever computes it."""

    report: str
    has_failed: bool  # something in it did, and may do better the next time
    code: str
    seconds: float
    cpu_seconds: float


def run_cell(cell: Cell, table: EncodedTable) -> Done:
    """In this process, on one core, whatever else it does meanwhile."""
    with on_one_core():
        began, spent = time.perf_counter(), cpu_seconds()
        try:
            report = _report(cell, table)
        except InputError as error:  # told of this cell alone: the data may not carry what it asks for
            raise InputError(f"{_words(cell)}: {error}") from None
        failed = any(finding.outcome is Outcome.ERRORED for finding in report.findings)
        return Done(_timeless(report), failed, code_version(), time.perf_counter() - began, cpu_seconds() - spent)


def _words(cell: Cell) -> str:
    return ", ".join(f"{axis} = {label}" for axis, label in cell.setting.items())


def _report(cell: Cell, table: EncodedTable) -> Report:
    runs = plan_audit(cell.scenario, table)
    if cell.scenario.defenses:  # what comes of it without them is a cell of its own
        runs = tuple(run for run in runs if run.defense is not None)
    means = Means(repeats=cell.repeats, jobs=1)
    audit = Audit(cell.scenario, runs, in_memory, Silent(), means, run_key=cell.run_key)
    audit.run()
    return audit.report()


def _timeless(report: Report) -> str:
    runs = tuple(replace(run, seconds=0.0) for run in report.runs)
    findings = tuple(replace(finding, seconds=0.0) for finding in report.findings)
    bare = replace(json_format.redact(report), runs=runs, findings=findings, environment={})
    return json.dumps(json_format.to_json(bare), sort_keys=True, allow_nan=False)


def table_digest(table: EncodedTable) -> str:
    """Of the rows as protocols get them."""
    found = sha256(repr((table.encoding, table.label_encoding, table.scaling, table.pixels)).encode())
    for values in (table.ids, table.values, table.labels):
        if values is not None:
            found.update(repr((values.dtype.str, values.shape)).encode() + values.tobytes())
    return found.hexdigest()
