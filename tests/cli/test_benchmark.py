"""The benchmark: views without the truth, entries as bytes, scores beside a blind guess."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from fedleak.cli import main
from fedleak.core.errors import FileFormatError, MissingExtraError
from fedleak.storage.view_and_guess import load_view
from fedleak.testing import benchmark_tasks
from fedleak.testing.benchmark_tasks import (
    TASKS,
    check_submission,
    enter,
    read_entry,
    situation,
    write_entry,
    write_views,
)

LABELS, COLUMNS = TASKS[0], TASKS[1]


def run(monkeypatch, *arguments: object) -> object:
    monkeypatch.setattr(sys, "argv", ["fedleak", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main.run()
    return end.value.code


def test_views_are_the_same_every_time_and_hold_no_truth(tmp_path, monkeypatch, capsys):
    assert run(monkeypatch, "benchmark", tmp_path / "first") == 0
    assert "submit-check" in capsys.readouterr().out
    situation.cache_clear()
    again = write_views(tmp_path / "again")
    assert sorted(again) == ["columns", "labels", "pictures"]
    assert write_views(tmp_path / "first") == again
    for task in TASKS:
        view, truth = load_view(tmp_path / "first" / task.name), situation(task).truth
        assert view.target.owner not in view.coalition
        whole = np.ascontiguousarray(truth.values, dtype=np.float64).tobytes()
        stored = [path.read_bytes() for path in (tmp_path / "first" / task.name).rglob("*.npy")]
        assert not any(whole in one for one in stored)


def test_a_task_whose_package_is_missing_is_left_out_with_the_reason(tmp_path, monkeypatch, capsys):
    def without_torch(task):
        if task.name == "pictures":
            raise MissingExtraError.of("torch", "torch", "networks")
        return situation(task)

    monkeypatch.setattr(benchmark_tasks, "situation", without_torch)
    assert run(monkeypatch, "benchmark", tmp_path) == 0
    assert "left out: networks needs the package torch" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["columns", "labels"]


def test_an_entry_scores_as_its_guess_is_good(tmp_path, monkeypatch, capsys):
    truth = situation(COLUMNS).truth
    np.savez(tmp_path / "columns.npz", ids=truth.ids, values=truth.values)
    labels = situation(LABELS).truth
    np.savez(tmp_path / "labels.npz", ids=labels.ids, values=np.zeros_like(labels.values))
    found = check_submission(tmp_path)
    assert found["columns"].value == 0
    assert found["columns"].baseline > 0.01
    assert found["labels"].value == 0.5
    assert run(monkeypatch, "submit-check", tmp_path, "--json", "-") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["not_entered"] == ["pictures"]
    assert told["tasks"]["columns"]["value"] == 0


def test_our_own_entries_go_the_same_way(tmp_path):
    entered = enter(LABELS, "minimum-norm-labels")
    assert entered.score.value > 0.9 > entered.score.baseline
    assert entered.cpu_seconds > 0
    silent = enter(LABELS, "residual-sign")
    assert silent.score is None
    assert silent.why
    guess = situation(LABELS).attempt(isolated=False).guess
    write_entry(guess, tmp_path / "labels.npz")
    assert read_entry(LABELS, tmp_path / "labels.npz").values.tolist() == guess.values.tolist()


@pytest.mark.parametrize(
    ("arrays", "because"),
    [
        ({"ids": np.arange(3)}, "must hold ids, values"),
        ({"ids": np.arange(3), "values": np.zeros((3, 6)), "truth": np.zeros(3)}, "must hold ids, values"),
        ({"ids": np.arange(3.0), "values": np.zeros((3, 6))}, "ids must be whole numbers"),
        ({"ids": np.arange(3), "values": np.zeros((3, 5))}, "values must have shape"),
        ({"ids": np.array([10**9]), "values": np.zeros((1, 6))}, "be rows of the view"),
    ],
)
def test_entries_that_cannot_be_scored_are_one_line(arrays, because, tmp_path, monkeypatch, capsys):
    np.savez(tmp_path / "columns.npz", **arrays)
    with pytest.raises(FileFormatError, match=because):
        read_entry(COLUMNS, tmp_path / "columns.npz")
    assert run(monkeypatch, "submit-check", tmp_path) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_folder_without_entries_is_told(tmp_path, monkeypatch, capsys):
    assert run(monkeypatch, "submit-check", tmp_path) == 2
    assert "labels.npz, columns.npz, pictures.npz" in capsys.readouterr().err
    assert run(monkeypatch, "submit-check", tmp_path / "none") == 2


def test_a_file_in_place_of_the_folder_for_views_is_told(tmp_path, monkeypatch, capsys):
    (tmp_path / "taken").write_text("")
    assert run(monkeypatch, "benchmark", tmp_path / "taken") == 2
    assert "FOLDER must be one that can be written" in capsys.readouterr().err
