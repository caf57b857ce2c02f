"""``fedleak calibrate``: a table, JSON, and an exit code that says whether the limits hold."""

from __future__ import annotations

import json

import pytest

from fedleak.calibration.blocks import StageBlock
from fedleak.calibration.tally import Tally
from fedleak.cli import main
from fedleak.core.errors import ExitCode
from fedleak.core.finding import Outcome

ARGUMENTS = ["calibrate", "--attack", "own-weights", "--table", "binary,normal", "--seeds", "2", "--jobs", "1"]
ROW = {"attack", "table", "n", "seeds", "share", "ci", "answered", "failures", "cpu_seconds"}


@pytest.fixture
def outcomes(monkeypatch) -> dict[Outcome, int]:
    """What every block comes to, without measuring."""
    found = {Outcome.NO_LEAK: 2}

    def measured(block, _decision=None):
        return [Tally(name, block.table, block.n, found) for name in block.attacks]

    monkeypatch.setattr(StageBlock, "measured", measured)
    return found


def test_json_has_what_others_build_on(capsys) -> None:
    assert main._run([*ARGUMENTS, "--json", "-"]) == ExitCode.DONE
    found = json.loads(capsys.readouterr().out)
    assert {tuple(row) for row in (*found["false_leaks"], *found["pooled"])} == {tuple(found["pooled"][0])}
    assert set(found["false_leaks"][0]) == ROW
    assert {(row["table"], row["n"]) for row in found["false_leaks"]} >= {("binary", 2), ("normal", 100)}
    assert all(0 <= row["ci"][0] <= row["share"] <= row["ci"][1] <= 1 for row in found["false_leaks"])
    assert (found["complete"], found["repeats"], found["broken"]) == (True, 5, [])
    assert "in the process that measured" in found["how"]


def test_a_broken_limit_ends_with_1(outcomes, capsys) -> None:
    outcomes[Outcome.LEAK] = 40
    assert main._run(ARGUMENTS) == ExitCode.FOUND
    told = capsys.readouterr()
    assert "own-weights  95.2%" in told.out
    assert "over the limit: own-weights on binary, n = 2: a leak in 40 of 42 seeds" in told.err


@pytest.mark.usefixtures("outcomes")
def test_ctrl_c_keeps_what_was_measured(monkeypatch, tmp_path, capsys) -> None:
    real = StageBlock.measured

    def interrupted(block, decision=None):
        if block.table == "binary":
            raise KeyboardInterrupt
        return real(block, decision)

    monkeypatch.setattr(StageBlock, "measured", interrupted)
    journal = tmp_path / "journal.jsonl"
    assert main._run([*ARGUMENTS, "--out", str(journal), "--json", str(tmp_path / "r.json")]) == ExitCode.INTERRUPTED
    assert f"go on with --out {journal}" in capsys.readouterr().err
    found = json.loads((tmp_path / "r.json").read_text())
    assert not found["complete"]
    assert {row["table"] for row in found["false_leaks"]} >= {"normal"}


def test_processes_measure_the_same(capsys) -> None:
    few = ["calibrate", "--attack", "sign-system-labels", "--table", "constant", "--seeds", "21", "--json", "-"]
    assert main._run([*few, "--jobs", "1"]) == ExitCode.DONE
    alone = json.loads(capsys.readouterr().out)
    assert main._run([*few, "--jobs", "2"]) == ExitCode.DONE
    together = json.loads(capsys.readouterr().out)
    for row in (*alone["false_leaks"], *together["false_leaks"]):
        row.pop("cpu_seconds")
    assert alone["false_leaks"] == together["false_leaks"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--table", "norml"], 'Did you mean "normal"'),
        (["--attack", "nothing"], "unknown attack 'nothing'"),
        (["--json", ".", "--attack", "own-weights"], "must be a file that can be written; got a folder"),
    ],
)
def test_wrong_input_is_told_at_once(arguments, words, capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["fedleak", "calibrate", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == ExitCode.WRONG_INPUT
    assert words in capsys.readouterr().err
