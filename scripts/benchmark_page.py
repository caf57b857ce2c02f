"""Measures our own entries to the benchmark and writes the table of docs/benchmark.md."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from fedleak.core.version import __version__
from fedleak.testing.benchmark_tasks import TASKS, Entered, enter

PAGE = Path(__file__).parents[1] / "docs" / "benchmark.md"
TABLE = re.compile(r"(<!-- table -->\n).*?(<!-- end -->)", re.DOTALL)


def row(one: Entered) -> str:
    spent = "–" if one.cpu_seconds is None else f"{one.cpu_seconds:.3f}"
    if one.score is None:
        return f"| {one.task} | `{one.entry}`, fedleak {__version__} | no answer | | {spent} |"
    told = f"{one.score.metric} {one.score.value:.4g}"
    return f"| {one.task} | `{one.entry}`, fedleak {__version__} | {told} | {one.score.baseline:.4g} | {spent} |"


def main() -> None:
    rows = [row(enter(task, name)) for task in TASKS for name in task.entries]
    head = [f"{datetime.now(UTC):%Y-%m-%d}, one core:", "", "| task | entry | score | blind guess | CPU s |"]
    table = "\n".join([*head, "|---|---|---|---|---|", *rows])
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
