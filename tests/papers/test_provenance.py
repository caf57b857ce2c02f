"""A result says what it came from: code, machine, arithmetic, versions, data; and its time is that of its own work."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from fedleak.core.attack import Reference
from fedleak.data.sources import load
from fedleak.papers import EXPERIMENTS
from fedleak.papers.experiment import Experiment, Row, reproduce, result_json
from fedleak.trial.progress import Progress, Silent
from fedleak.trial.provenance import one_thread, provenance
from fedleak.trial.spent import Spent, cpu_seconds, note_apart

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def committed() -> Iterator[object]:
    for path in sorted(RESULTS.rglob("*.json")):
        yield pytest.param(path, id=path.relative_to(RESULTS).with_suffix("").as_posix())


def check(made: dict[str, object]) -> None:
    assert re.fullmatch("[0-9a-f]{40}", str(made["commit"]))
    assert made["uncommitted_changes"] in (True, False)
    assert made["cpu"]
    assert {library["threads"] for library in made["blas"]} == {1}
    assert {"numpy", "scipy", "python", "fedleak"} <= made["versions"].keys()
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in made["data_sha256"].values())
    assert not any("/" in name for name in made["data_sha256"]), "names of files, and no folders of a machine"


@pytest.mark.parametrize("path", list(committed()))
def test_every_committed_result_says_where_it_came_from(path):
    result = json.loads(path.read_text(encoding="utf-8"))
    check(result["provenance"])
    assert result["provenance"]["uncommitted_changes"] is False
    assert result["cpu_seconds"] > 0
    for row in result.get("rows", ()):
        assert "seconds" not in row.get("measured", row), "times are CPU times, and are called so"


class Tiny(Experiment):
    """Reads a file and keeps a child busy."""

    name = "none/tiny"
    summary = "nothing"
    reference = Reference("fedleak", "a test")
    from_true_rows = ("the number of rows",)
    source = ""

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        table = load(self.source)
        assert {library["num_threads"] for library in threadpool_info()} == {1}
        told = subprocess.run(
            [sys.executable, "-c", "import os; sum(range(10**7)); print(os.environ['OMP_NUM_THREADS'])"],
            capture_output=True,
            check=True,
        )
        yield Row({"rows": table.n_rows}, {"threads": float(told.stdout)})


@pytest.fixture
def result(tmp_path, monkeypatch):
    monkeypatch.setattr("fedleak.data.sources._READ", {})  # other tests read files that are gone since
    (tmp_path / "people.csv").write_text("a,b\n1,2\n3,4\n")
    monkeypatch.setattr(Tiny, "source", str(tmp_path / "people.csv"))
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    return reproduce(Tiny(), quick=True, progress=Silent())


def test_a_result_has_its_code_machine_versions_and_data(result, tmp_path):
    made = result_json(result)
    check(made["provenance"])
    digest = hashlib.sha256((tmp_path / "people.csv").read_bytes()).hexdigest()
    assert made["provenance"]["data_sha256"]["people.csv"] == digest
    assert made["settings_from_true_rows"] == ["the number of rows"]
    assert json.loads(json.dumps(made)) == made


def test_an_experiment_computes_on_one_thread_and_leaves_the_others_as_they_were(result):
    assert result.rows[0].measured == {"threads": 1.0}
    assert os.environ["OMP_NUM_THREADS"] == "2"
    assert "MKL_NUM_THREADS" not in os.environ
    with pytest.raises(RuntimeError), one_thread():
        raise RuntimeError
    assert os.environ["OMP_NUM_THREADS"] == "2"


def test_time_is_that_of_the_process_its_children_and_its_attacks(result):
    assert result.cpu_seconds > 0.05, "what the child did"
    before = cpu_seconds()
    note_apart(Spent(seconds=9.0, cpu_seconds=5.0))
    note_apart(None)
    assert cpu_seconds() - before == pytest.approx(5.0, abs=1.0)


def test_settings_that_no_attacker_could_choose_are_told():
    """The rates of li2021 follow from the rows of all parties, and so do known cells of wide tables."""
    told = {entry.name: " ".join(EXPERIMENTS.get(entry.name).from_true_rows) for entry in EXPERIMENTS.entries}
    for name in ("table2", "table3", "table4", "fig9", "fig10", "gram-precision", "no-known-cells"):
        assert "learning rate" in told[f"li2021/{name}"]
    assert "known rows" in told["li2021/table2"]
    assert "steps" in told["luo2021/fig5"]


def test_code_that_is_no_checkout_has_no_commit(monkeypatch, tmp_path):
    monkeypatch.setattr("fedleak.trial.provenance.__file__", str(tmp_path / "a" / "b" / "c" / "provenance.py"))
    made = provenance()
    assert (made["commit"], made["uncommitted_changes"]) == (None, None)
    assert np.all([library["threads"] >= 1 for library in made["blas"]])


def test_a_data_file_that_is_gone_has_no_digest_and_loses_no_result(tmp_path):
    gone = tmp_path / "moved-away.csv"
    gone.write_text("a,b\n1,2\n3,4\n")
    load(str(gone))
    gone.unlink()
    assert provenance()["data_sha256"]["moved-away.csv"] is None
