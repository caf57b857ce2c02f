"""From somebody's table to a report, and to a scenario file, without writing one."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from fedleak.auditing.scenario_file import load_scenario
from fedleak.cli import init
from fedleak.cli.main import app

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
