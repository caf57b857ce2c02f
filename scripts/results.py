"""Run committed experiments again and compare every figure with the committed one: ``make results [ONLY=hu2022/fig4]``.

``ONLY=mutation`` tries the tests on mutants alone (scripts/mutation.py), which is the last part of a whole run.
Writes docs/results/OUTCOME.md. The committed figures themselves stay as they are: who wants others commits what
``fedleak reproduce NAME --json`` gives. Notebooks among the examples are executed too. It takes hours; it is no part of
``make test``. Ends with 1 where a figure differs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from math import isclose
from pathlib import Path
from typing import Any

from fedleak.cli.bar import Bar
from fedleak.papers import EXPERIMENTS
from fedleak.papers.experiment import reproduce, result_json
from fedleak.trial.provenance import code_state, environment

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
RELATIVE, ABSOLUTE = 0.02, 1e-6  # other processors and libraries round otherwise, and training carries that on
SHOWN_DIFFERENCES = 10
MUTATION = "mutation"


@dataclass(frozen=True)
class Difference:
    where: str
    committed: object
    now: object

    def __str__(self) -> str:
        change = ""
        if isinstance(self.committed, float) and isinstance(self.now, float) and self.committed:
            change = f" ({(self.now - self.committed) / abs(self.committed):+.1%})"
        return f"{self.where}: {_shown(self.committed)} became {_shown(self.now)}{change}"


@dataclass(frozen=True)
class Outcome:
    name: str
    n_figures: int
    differences: Sequence[Difference]
    cpu_seconds: float = 0.0
    error: str = ""

    @property
    def agrees(self) -> bool:
        return not self.differences and not self.error

    @property
    def words(self) -> str:
        return self.error or (f"{len(self.differences)} differ" if self.differences else "agree")


def compare(committed: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """Every figure of every row; timings aside. A row or figure that only one side has is a difference."""
    old, new = committed["rows"], now["rows"]
    found = [] if len(old) == len(new) else [Difference("number of rows", len(old), len(new))]
    for number, (before, after) in enumerate(zip(old, new, strict=False)):
        where = f"row {number} {_setting(before['setting'])}"
        if _setting(before["setting"]) != _setting(after["setting"]):
            found.append(Difference(f"row {number}, setting", _setting(before["setting"]), _setting(after["setting"])))
            continue
        names = [name for name in {**before["measured"], **after["measured"]} if not is_timing(name)]
        pairs = [(name, before["measured"].get(name), after["measured"].get(name)) for name in names]
        found += [Difference(f"{where}, {name}", a, b) for name, a, b in pairs if not _agree(a, b)]
    return found


def n_compared(result: Mapping[str, Any]) -> int:
    return sum(not is_timing(name) for row in result["rows"] for name in row["measured"])


def is_timing(name: str) -> bool:
    return "seconds" in name or name.startswith("cbc_over_ours")


def _agree(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def _setting(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(values.items()))


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def again(path: Path) -> Outcome:
    """One committed experiment; what goes wrong is an outcome too, and the others still run."""
    committed = json.loads(path.read_text(encoding="utf-8"))
    name = committed["experiment"]
    try:
        with Bar() as bar:
            result = reproduce(EXPERIMENTS.get(name)(), quick=committed["quick"], progress=bar)
    except Exception as error:
        return Outcome(name, n_compared(committed), (), error=f"failed: {type(error).__name__}: {error}")
    if not result.complete:
        raise KeyboardInterrupt
    now = json.loads(json.dumps(result_json(result)))
    return Outcome(name, n_compared(committed), compare(committed, now), result.cpu_seconds)


def notebook(path: Path) -> Outcome:
    """Its code cells in order, where it lies."""
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    names: dict[str, object] = {}
    try:
        with chdir(path.parent), redirect_stdout(StringIO()):
            for cell in cells:
                exec(compile("".join(cell["source"]), path.name, "exec"), names)
    except Exception as error:
        return Outcome(path.name, 0, (), error=f"failed: {type(error).__name__}: {error}")
    return Outcome(path.name, 0, ())


def page(outcomes: Sequence[Outcome], commit: str, facts: Mapping[str, object], asked: Sequence[str]) -> str:
    lines = [
        "# Results, run again",
        "",
        f"Written by `make results` on {datetime.now(UTC):%Y-%m-%d}, commit {commit}; "
        f"{', '.join(asked) if asked else 'all committed experiments'}. Figures agree within {RELATIVE:.0%} of their "
        f"value or {ABSOLUTE:g}; timings are not compared.",
        "",
        ", ".join(f"{name} {value}" for name, value in facts.items() if name != "time" and value is not None),
        "",
        "| experiment | figures | outcome | CPU seconds |",
        "|---|---|---|---|",
        *(f"| {one.name} | {one.n_figures or ''} | {one.words} | {one.cpu_seconds:.0f} |" for one in outcomes),
    ]
    for one in outcomes:
        if one.differences:
            lines += ["", f"## {one.name}", *(f"- {found}" for found in one.differences[:SHOWN_DIFFERENCES])]
            left = len(one.differences) - SHOWN_DIFFERENCES
            lines += [f"- and {left} more"] if left > 0 else []
    return "\n".join(lines) + "\n"


def main(names: Sequence[str]) -> int:
    known = {f"{path.parent.name}/{path.stem}": path for path in sorted(RESULTS.glob("*/*.json"))}
    unknown = [name for name in names if name not in known and name != MUTATION]
    if unknown:
        print(f"ONLY must name committed results ({', '.join([*known, MUTATION])}); got {unknown[0]}", file=sys.stderr)
        return 2
    outcomes: list[Outcome] = []
    for outcome in _outcomes([known[name] for name in names or known if name != MUTATION], names):
        outcomes.append(outcome)
        print(f"{outcome.name:24} {outcome.n_figures:6} figures  {outcome.words}", flush=True)
        text = page(outcomes, _commit(), environment(), names)  # after each, so that an interruption loses nothing
        (RESULTS / "OUTCOME.md").write_text(text, encoding="utf-8")
    return 0 if all(outcome.agrees for outcome in outcomes) else 1


def _outcomes(paths: Sequence[Path], asked: Sequence[str]) -> Iterator[Outcome]:
    """Of what was asked for; of everything where nothing was."""
    yield from map(again, paths)
    if not asked:
        yield from map(notebook, sorted((ROOT / "examples").glob("*.ipynb")))
    if not asked or MUTATION in asked:
        yield mutation()


def mutation() -> Outcome:
    """In a process of its own, because it must load no code of ours but the mutants'. It writes its result itself."""
    done = subprocess.run([sys.executable, ROOT / "scripts" / "mutation.py"], check=False)
    if done.returncode not in (0, 1):
        return Outcome(MUTATION, 0, (), error=f"failed: exit code {done.returncode}")
    found = json.loads((RESULTS / "mutation.json").read_text(encoding="utf-8"))
    told = found["summary"]["all"]
    error = "" if done.returncode == 0 else f"{told['share']:.1%} of mutants noticed, under {found['least_share']:.0%}"
    return Outcome(MUTATION, int(told["mutants"]), (), found["cpu_seconds"], error)


def _commit() -> str:
    """With a mark where the code that ran is not what was committed."""
    made = code_state()
    return str(made["commit"])[:7] + (" with uncommitted changes" if made["uncommitted_changes"] else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
