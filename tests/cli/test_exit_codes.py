"""Every command ends with a code that says how: one table for all of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import fedleak as fedleak_package
from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.cli import main
from fedleak.cli.audit import conclude
from fedleak.cli.key_warning import warn_of_short_key
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import ExitCode
from fedleak.core.finding import Finding, Mode, Outcome, Severity, Theory
from fedleak.core.report import Report
from scenarios import changed

LABELS = Finding(
    adversary=("fintech",),
    mode=Mode.PASSIVE,
    attack="residual-sign",
    secret=Secret(SecretKind.LABELS, "bank"),
    defense=None,
    outcome=Outcome.NO_LEAK,
    why="",
    theory=Theory("unknown", ()),
)
FEATURES = replace(LABELS, secret=Secret(SecretKind.FEATURES, "bank"))
LOW = replace(LABELS, outcome=Outcome.LEAK, severity=Severity.LOW)
HIGH = replace(LABELS, outcome=Outcome.LEAK, severity=Severity.HIGH)


def ended(finding: Finding, outcome: Outcome, **changes: object) -> Finding:
    return replace(finding, outcome=outcome, **changes)


PROVED = replace(LABELS, outcome=Outcome.UNCHECKED, severity=Severity.HIGH, certificate="one solution")
CLAIMED = replace(LABELS, outcome=Outcome.UNCHECKED)


CASES = {
    "a claim that the view proves": ([PROVED], ExitCode.FOUND),
    "a claim that the view proves, below the limit": ([replace(PROVED, severity=Severity.MEDIUM)], ExitCode.DONE),
    "a claim that nothing checks": ([CLAIMED], ExitCode.INCONCLUSIVE),
    "a claim that nothing checks beside a clean secret": (
        [LABELS, replace(CLAIMED, secret=FEATURES.secret)],
        ExitCode.INCONCLUSIVE,
    ),
    "a claim that nothing checks, and another attack is clean": ([LABELS, CLAIMED], ExitCode.INCONCLUSIVE),
    "a claim that nothing checks, and another attack shows a leak": ([LOW, CLAIMED], ExitCode.DONE),
    "clean": ([LABELS], ExitCode.DONE),
    "a leak below the limit": ([LOW], ExitCode.DONE),
    "a leak at the limit": ([HIGH], ExitCode.FOUND),
    "a leak at the limit beside a failure": ([ended(LABELS, Outcome.ERRORED), HIGH], ExitCode.FOUND),
    "a failure": ([LABELS, LOW, ended(FEATURES, Outcome.ERRORED)], ExitCode.FAILED),
    "a failure and nothing measured": ([ended(FEATURES, Outcome.ERRORED)], ExitCode.FAILED),
    "no finding": ([], ExitCode.INCONCLUSIVE),
    "all skipped": ([ended(LABELS, Outcome.SKIPPED)], ExitCode.INCONCLUSIVE),
    "not identifiable alone": ([ended(LABELS, Outcome.NOT_IDENTIFIABLE)], ExitCode.INCONCLUSIVE),
    "undetermined alone": ([ended(LABELS, Outcome.UNDETERMINED)], ExitCode.INCONCLUSIVE),
    "another secret is undetermined": ([LABELS, ended(FEATURES, Outcome.UNDETERMINED)], ExitCode.INCONCLUSIVE),
    "undetermined for another adversary": (
        [LABELS, ended(LABELS, Outcome.UNDETERMINED, adversary=("arbiter",))],
        ExitCode.INCONCLUSIVE,
    ),
    "undetermined under a defense": (
        [LABELS, ended(LABELS, Outcome.UNDETERMINED, defense="rounding")],
        ExitCode.INCONCLUSIVE,
    ),
    "another attack answers": ([LABELS, ended(LABELS, Outcome.UNDETERMINED)], ExitCode.DONE),
    "another attack proves": (
        [LABELS, ended(FEATURES, Outcome.UNDETERMINED), ended(FEATURES, Outcome.NOT_IDENTIFIABLE)],
        ExitCode.DONE,
    ),
    "another secret is skipped": ([LABELS, ended(FEATURES, Outcome.SKIPPED)], ExitCode.DONE),
}


@pytest.mark.parametrize("case", list(CASES))
def test_the_code_of_an_audit(case, capsys):
    findings, code = CASES[case]
    assert conclude(Report({}, {}, (), tuple(findings)), Severity.HIGH) is code
    assert capsys.readouterr().err.startswith("fedleak: inconclusive") is (code is ExitCode.INCONCLUSIVE)


@pytest.mark.parametrize("case", list(CASES))
def test_without_a_limit_only_a_failure_counts(case):
    findings, _ = CASES[case]
    failed = any(finding.outcome is Outcome.ERRORED for finding in findings)
    assert conclude(Report({}, {}, (), tuple(findings)), None) is (ExitCode.FAILED if failed else ExitCode.DONE)


def code_of(monkeypatch, *arguments: object) -> int | str | None:
    monkeypatch.setattr(sys, "argv", ["fedleak", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main.run()
    return end.value.code


def raises(error: BaseException):
    def instead(*_, **__):
        raise error

    return instead


@pytest.mark.parametrize(("fail_on", "code"), [("never", 3), ("high", 1)])
def test_a_severe_finding_counts_although_another_attack_failed(fail_on, code, tmp_path, monkeypatch):
    """minimum-norm-labels finds the labels, residual-sign breaks."""
    monkeypatch.setattr(ResidualSign, "run", raises(TypeError("not a number")))
    named = ('parties = ["fintech"]', 'parties = ["fintech"]\nattacks = ["residual-sign", "minimum-norm-labels"]')
    (tmp_path / "scenario.toml").write_text(changed(named))
    arguments = ("audit", tmp_path / "scenario.toml", "--out", tmp_path / "out", "--fail-on", fail_on, "--in-process")
    assert code_of(monkeypatch, *arguments) == code


def test_an_audit_that_measures_nothing_is_inconclusive(tmp_path, monkeypatch, capsys):
    only = '\nattacks = ["column-products"]'
    named = [(f'parties = ["{name}"]', f'parties = ["{name}"]{only}') for name in ("bank", "fintech")]
    (tmp_path / "scenario.toml").write_text(changed(*named))
    arguments = ("audit", tmp_path / "scenario.toml", "--out", tmp_path / "out")
    assert code_of(monkeypatch, *arguments, "--fail-on", "low") == 4
    assert "not one attack gave a measured outcome" in capsys.readouterr().err
    assert code_of(monkeypatch, *arguments) == 0


@pytest.mark.parametrize("error", [TypeError("not\na number"), EOFError("nothing\nthere"), MemoryError()])
@pytest.mark.parametrize("wanted", [True, False])
def test_a_defect_is_one_line_and_exit_3(error, wanted, monkeypatch, capsys):
    """Exit code 1 is a finding's: neither Python nor click may choose it."""
    monkeypatch.setenv("FEDLEAK_TRACEBACK", "1" if wanted else "")
    monkeypatch.setattr("fedleak.cli.show.list_command", raises(error))
    assert code_of(monkeypatch, "list", "attacks") == 3
    first, *others = capsys.readouterr().err.splitlines()
    said = " ".join(f"{type(error).__name__}: {error}".split()) if str(error) else type(error).__name__
    assert first == f"fedleak: internal error: {said} (set FEDLEAK_TRACEBACK=1 to see where)"
    assert any("Traceback" in line for line in others) is wanted
    assert wanted or not others


def test_ctrl_c_is_130(monkeypatch, capsys):
    monkeypatch.setattr("fedleak.cli.show.list_command", raises(KeyboardInterrupt()))
    assert code_of(monkeypatch, "list", "attacks") == 130
    assert capsys.readouterr().err == "fedleak: interrupted\n"


@pytest.mark.parametrize(
    "arguments", [("list", "attack"), ("audit", "--fail-on", "severe"), ("nonsense",), ("check", "--jsn"), ()]
)
def test_wrong_usage_is_2(arguments, monkeypatch, capsys):
    assert code_of(monkeypatch, *arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Usage: fedleak ")


OUTPUTS = [("list", "attacks"), ("list", "attacks", "--json", "-"), ("--help",)]


@pytest.mark.parametrize(("line", "warns"), [("key_bits = 1024", True), ("key_bits = 2048", False)])
def test_a_key_that_can_be_broken_is_told(line, warns, capsys):
    scenario = parse_scenario(changed(('cipher = "sealed"', f'cipher = "paillier"\n{line}')))
    warn_of_short_key(scenario.settings)
    assert ("keys below 2048 bits can be broken" in capsys.readouterr().err) is warns


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_what_is_closed_leads_nowhere_and_no_file_takes_its_place(closed, tmp_path):
    """The first file that is opened would be descriptor 1 or 2, and hold what is printed."""
    for arguments, code in ((("check", "--json", "found.json"), 0), (("list", "nothing"), 2), (("--help",), 0)):
        done = subprocess.run(
            ["sh", "-c", f'"$@" {closed}', "sh", sys.executable, "-m", "fedleak", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert "internal error" not in done.stdout + done.stderr
    assert json.loads((tmp_path / "found.json").read_text())["attacks"]


def test_an_error_is_one_line_whatever_a_name_holds(monkeypatch, capsys):
    assert code_of(monkeypatch, "report", "no such\nfedleak: all is well") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(r"fedleak: no such\nfedleak: all is well must be a report")


def ended_process(arguments: tuple[str, ...], stdout: int, **variables: str) -> subprocess.CompletedProcess[str]:
    path = str(Path(fedleak_package.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "fedleak", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path, **variables},
    )


@pytest.mark.parametrize("arguments", OUTPUTS)
def test_a_reader_that_goes_away_hears_nothing_more(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = ended_process(arguments, writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("arguments", OUTPUTS)
def test_an_output_that_is_full_is_one_line(arguments):
    with open("/dev/full", "w") as full:
        done = ended_process(arguments, full.fileno())
    told = "fedleak: the output could not be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (3, told)


def test_a_terminal_with_ascii_alone_shows_everything():
    """Our own signs are spelt out, others are escaped, and JSON reads the same."""
    code = (
        "from fedleak.cli.spelt_out import spell_out; from fedleak.cli.output import say, write_json\n"
        "spell_out(); say('3 \\xd7 4 \\u2014 Z\\xfcrich \\x1b'); write_json({'a': '\\xd7 \\x9b'}, '-')"
    )
    path = str(Path(fedleak_package.__file__).parents[1])
    ascii_alone = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", code], capture_output=True, check=True, env={**os.environ, **ascii_alone}
    )
    first, rest = done.stdout.decode("ascii").split("\n", 1)
    assert first == r"3 x 4 - Z\xfcrich \x1b"
    assert json.loads(rest) == {"a": "× \x9b"}
