"""Every attack on predictions as the predictions grow in number: CPU time, memory and what came of it.

``python scripts/prediction_growth.py`` takes 100,000 predictions through each of them, audit and scores included, and
writes docs/results/prediction_growth.json; exit code 1 where one takes ten minutes of CPU time or fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from fedleak.core.finding import Outcome
from fedleak.trial.provenance import code_state, one_thread, provenance

RESULT = Path(__file__).parents[1] / "docs" / "results" / "prediction_growth.json"
N_PREDICTIONS, N_TRAINED = (10_000, 100_000), 1_000
LONGEST_SECONDS = 600.0
N_OWN, N_HIDDEN, N_CLASSES, DATA_SEED = 6, 2, 3, 5
RUN_KEY = 32 * "7"
CASES = (  # attack, what is served, further settings
    ("equality-solving", "logistic", ""),
    ("equality-projection", "logistic", ""),
    ("equality-bayes", "logistic", ""),
    ("equality-grid", "logistic", ""),
    ("grid-match", "logistic", ""),
    ("posterior-inference", "logistic", ""),
    ("generative-regression", "logistic", ""),
    ("contribution-scaling", "logistic", 'reveal = "contributions"'),
    ("path-restriction", "tree", ""),
    ("posterior-inference", "tree", ""),
    ("grid-match", "tree", ""),
    ("forest-path-restriction", "forest", ""),
    ("posterior-inference", "forest", ""),
    ("grid-match", "forest", ""),
)
SCENARIO = """
[data]
source = "{table}"
target = "label"
task = "multiclass"
scaling = "minmax"
[federation]
protocol = "vertical-prediction"
model = "{model}"
prediction_share = {share}
{more}
[federation.partition]
by = "ratio"
test_share = 0.001
[[federation.parties]]
name = "bank"
role = "active"
n_columns = {n_own}
[[federation.parties]]
name = "fintech"
role = "passive"
n_columns = {n_hidden}
[[adversary]]
parties = ["bank"]
attacks = ["{attack}"]
[adversary.knowledge]
kinds = true
"""


@dataclass(frozen=True)
class Row:
    attack: str
    model: str
    n_predictions: int
    cpu_seconds: float
    peak_megabytes: float  # of the largest process
    outcome: str
    metric: str | None
    value: float | None
    baseline: float | None
    why: str

    @property
    def is_good(self) -> bool:
        return self.cpu_seconds < LONGEST_SECONDS and self.outcome != Outcome.ERRORED

    def to_json(self) -> dict[str, object]:
        found = asdict(self)
        measured = ("cpu_seconds", "peak_megabytes", "value", "baseline")
        setting = {name: found[name] for name in found if name not in measured}
        return {"setting": setting, "measured": {name: found[name] for name in measured}}


def write_table(path: Path, n_rows: int) -> None:
    """Columns of one digit after the point; classes are bands of a linear score with noise on it."""
    rng = np.random.default_rng(DATA_SEED)
    rows = rng.integers(0, 11, (n_rows, N_OWN + N_HIDDEN)) / 10
    score = rows @ rng.normal(size=rows.shape[1]) + 0.2 * rng.normal(size=n_rows)
    labels = np.searchsorted(np.quantile(score, np.arange(1, N_CLASSES) / N_CLASSES), score)
    names = ",".join([*(f"c{number}" for number in range(rows.shape[1])), "label"])
    form = ["%.1f"] * rows.shape[1] + ["%d"]
    np.savetxt(path, np.column_stack([rows, labels]), delimiter=",", header=names, comments="", fmt=form)


def measured(folder: Path, attack: str, model: str, more: str, n_predictions: int) -> Row:
    """One audit of one run, as a process of its own."""
    n_rows = n_predictions + N_TRAINED
    sizes = {"share": n_predictions / n_rows, "n_own": N_OWN, "n_hidden": N_HIDDEN}
    text = SCENARIO.format(table=f"{n_rows}.csv", model=model, more=more, attack=attack, **sizes)
    (folder / "scenario.toml").write_text(text, encoding="utf-8")
    chosen = {"--out": folder / "audit", "--json": folder / "report.json", "--repeats": 1, "--run-key": RUN_KEY}
    words = [str(word) for pair in chosen.items() for word in pair]
    command = [sys.executable, "-m", "fedleak", "audit", str(folder / "scenario.toml"), *words]
    with (folder / "said.txt").open("w+", encoding="utf-8") as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        if process.returncode not in (0, 3):
            raise RuntimeError(f"an audit must end with 0, or 3 where an attack failed; got {said.read()}")
    found = json.loads((folder / "report.json").read_text(encoding="utf-8"))["findings"]
    (told,) = [one for one in found if one["attack"] == attack]
    answer = [told[name] for name in ("outcome", "metric", "value", "baseline", "why")]
    return Row(attack, model, n_predictions, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, *answer)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, nargs="*", default=N_PREDICTIONS, help="predictions")
    parser.add_argument("--attack", help="this one alone; no result is written")
    options = parser.parse_args()
    code, rows = code_state(), list[Row]()
    with tempfile.TemporaryDirectory() as name, one_thread():
        for n_predictions in options.count:
            write_table(Path(name) / f"{n_predictions + N_TRAINED}.csv", n_predictions + N_TRAINED)
            for attack, model, more in CASES:
                if options.attack in (None, attack):
                    rows.append(measured(Path(name), attack, model, more, n_predictions))
                    print(*asdict(rows[-1]).values(), flush=True)
        made = provenance(code)
    if options.attack is None:
        total = sum(row.cpu_seconds for row in rows)
        told = [row.to_json() for row in rows]
        result = {"rows": told, "trained_rows": N_TRAINED, "cpu_seconds": total, "provenance": made}
        RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row.is_good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
