"""From somebody's table to a report, and to a scenario file, without writing one."""

from __future__ import annotations

import json
import shlex

import pytest
from click.testing import CliRunner

from fedleak.auditing.estimate import Speeds
from fedleak.auditing.scenario_file import load_scenario
from fedleak.cli import init
from fedleak.cli.main import app
from fedleak.crypto.cipher_speed import CipherSpeed
from fedleak.door import fitting

WHO = ("--target", "sick", "--mine", "ward=age,weight", "--partner", "visits,dose")
SMALL = ("--set", "cipher=sealed", "--set", "epochs=2", "--set", "batch_size=4")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = [f"{i},{30 + i % 17},{60 + i * 7 % 13},{i % 5},{i * 3 % 11 / 7:.3f},{int(i % 3 == 0)}" for i in range(40)]
    (tmp_path / "people.csv").write_text("\n".join(["id,age,weight,visits,dose,sick", *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str, answers: str | None = None):
    return CliRunner().invoke(app, list(words), input=answers, standalone_mode=False)


def test_a_table_is_audited_in_one_command_and_again_by_its_own(folder):
    done = call("audit", "people.csv", *WHO, *SMALL, "--repeats", "1", "--attack", "own-weights", "--out", "first")
    assert done.exception is None
    first = json.loads((folder / "first" / "report.json").read_text())
    assert "--mine ward=age,weight" in first["environment"]["command"]
    assert first["scenario"]["data"]["drop"] == ["id"]
    again = call("audit", "first/drafted.toml", "--repeats", "1", "--attack", "own-weights", "--out", "second",
                 "--run-key", first["run_key"])  # fmt: skip
    assert again.exception is None
    second = json.loads((folder / "second" / "report.json").read_text())
    figures = [(finding["value"], finding["ci"]) for finding in first["findings"]]
    assert figures == [(finding["value"], finding["ci"]) for finding in second["findings"]]
    assert any(value is not None for value, _ in figures)


def test_a_time_makes_an_audit_smaller_and_what_it_made_stands_in_the_command(folder, monkeypatch):
    slow, free = CipherSpeed(*[100.0] * 7), CipherSpeed(*[0.0] * 7)
    monkeypatch.setattr(fitting, "measured_speeds", lambda _: Speeds(slow, free))
    words = ("people.csv", *WHO, "--set", "epochs=20", "--set", "batch_size=4", "--attack", "own-weights")
    done = call("audit", *words, "--repeats", "1", "--budget", "10m", "--out", "first")
    assert done.exception is None
    first = json.loads((folder / "first" / "report.json").read_text())
    assert first["scenario"]["settings"]["cipher"] == "sealed"
    assert [line.split(",")[0] for line in first["reduced"][:2]] == ["to fit 10m"] * 2
    assert "to fit 10m, 1 of 20 epochs were run" in (folder / "first" / "drafted.toml").read_text()
    command = shlex.split(first["environment"]["command"])
    assert "--budget" not in command
    again = call(*command[1:], "--out", "second")
    assert again.exception is None
    second = json.loads((folder / "second" / "report.json").read_text())
    assert [finding["value"] for finding in second["findings"]] == [finding["value"] for finding in first["findings"]]
    assert call("audit", "--resume", "first").exception is None
    third = json.loads((folder / "first" / "report.json").read_text())
    assert third["reduced"] == first["reduced"]
    assert third["scenario"] == first["scenario"]


def test_words_about_a_table_go_with_a_table(folder):
    (folder / "s.toml").write_text("")
    for words in (("s.toml", *WHO), WHO):
        assert "must go with a table" in str(call("audit", *words).exception)
    assert "--target must name" in str(call("audit", "people.csv").exception)


def test_a_scenario_is_written_once(folder):
    assert call("init", "people.csv", *WHO).exception is None
    scenario = load_scenario(folder / "scenario.toml")
    assert [party.columns for party in scenario.parties] == [("age", "weight"), ("visits", "dose")]
    before = (folder / "scenario.toml").read_bytes()
    assert "--out must name a new file" in str(call("init", "people.csv", *WHO).exception)
    assert (folder / "scenario.toml").read_bytes() == before


def test_what_no_cell_shows_is_asked_where_somebody_answers(folder, monkeypatch):
    assert "--target must name" in str(call("init", "people.csv").exception)
    monkeypatch.setattr(init, "somebody_answers", lambda: True)
    done = call("init", "people.csv", answers="sick\nage,weight\npartner\n")
    assert done.exception is None
    assert "id: an identifier, 40 values, 0 missing" in done.output
    scenario = load_scenario(folder / "scenario.toml")
    assert {party.name: party.role.value for party in scenario.parties} == {"our side": "passive", "partner": "active"}
