"""The command line, as a user calls it: in processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import fedleak as fedleak_package
from fedleak.cli.main import KINDS, app
from fedleak.cli.show import REGISTRIES
from scenarios import SMALL, changed

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(fedleak_package.__file__).parents[1])}


def fedleak(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fedleak", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=ENVIRONMENT,
    )


@pytest.fixture
def scenario(tmp_path) -> Path:
    path = tmp_path / "scenario.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture(scope="module")
def audited(tmp_path_factory) -> Path:
    """The folder that one audit of the small scenario wrote; tests must leave it as it is."""
    folder = tmp_path_factory.mktemp("audited")
    (folder / "scenario.toml").write_text(SMALL)
    done = fedleak("audit", "scenario.toml", "--out", "out", "--repeats", 1, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "out"


def test_help_loads_nothing_heavy(tmp_path):
    code = (
        "import sys; sys.argv = ['fedleak', '--help']\n"
        "from fedleak.cli.main import run\n"
        "try: run()\n"
        "except SystemExit as end: print('exit', end.code)\n"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'torch', 'pandas', 'gmpy2'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    assert "exit 0" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_lists_commands_in_the_order_of_use():
    shown = CliRunner().invoke(app, ["--help"]).output.partition("Commands:\n")[2]
    names = [line.split()[0] for line in shown.splitlines()]
    assert names[:5] == ["audit", "capture", "check", "advise", "init"]
    assert names[5:12] == ["list", "reproduce", "benchmark", "submit-check", "bench", "calibrate", "sweep"]
    assert names[12:] == ["results", "report", "diff", "ledger", "inspect"]


def test_help_of_list_names_every_kind():
    shown = CliRunner().invoke(app, ["list", "--help"]).output
    assert set(KINDS.choices) == set(REGISTRIES)
    assert [kind for kind in KINDS.choices if kind not in shown] == []


def test_audit_writes_everything_and_json_alone_goes_to_standard_output(scenario, tmp_path):
    done = fedleak("audit", scenario, "--out", tmp_path / "out", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["schema_version"] == 2
    assert (found["verdict"]["level"], found["repeats"], len(found["run_key"])) == ("leak", 5, 32)
    stopped = next(remedy for remedy in found["remedies"] if remedy["defense"] == "gaussian-noise(sigma=200.0)")
    assert 0 < stopped["stops"] <= stopped["of"]
    assert stopped["utility_change"]["metric"] == "test_accuracy"
    keys = {"columns", "claim", "certificate"}
    keys |= {"adversary", "mode", "attack", "secret", "defense", "outcome", "why", "metric", "value", "baseline", "ci"}
    keys |= {"cells_recovered", "theory", "severity", "seconds"}
    assert all(keys <= set(finding) for finding in found["findings"])
    mine = [f for f in found["findings"] if f["adversary"] == ["fintech"]]
    signs = {f["defense"]: f for f in mine if f["attack"] == "residual-sign"}
    assert signs[None]["value"] == 1.0
    assert signs["gaussian-noise(sigma=200.0)"]["outcome"] == "no_leak"
    assert all("train_accuracy" in run["utility"] for run in found["runs"])
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"journal.jsonl", "report.html", "report.json", "transcripts"}
    assert {path.name for path in (tmp_path / "out" / "transcripts").iterdir()} == {
        "no-defense",
        "gaussian-noise(sigma=200.0)",
    }


def test_a_report_renders_again(audited, tmp_path):
    done = fedleak("report", audited / "report.json", "--html", tmp_path / "again.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "fintech" in done.stdout
    assert "<html" in (tmp_path / "again.html").read_text()
    assert fedleak("report", audited, cwd=tmp_path).stdout == done.stdout


def test_a_report_of_version_1_renders(tmp_path):
    old = Path(__file__).parents[1] / "report" / "samples" / "report_version_1.json"
    done = CliRunner().invoke(app, ["report", str(old), "--redact", "--verbose", "--html", str(tmp_path / "old.html")])
    assert done.exit_code == 0, done.output
    assert "residual-sign" in done.output
    key = json.loads(old.read_text())["environment"]["run_key"]
    page = (tmp_path / "old.html").read_text()
    assert "residual-sign" in page
    assert key not in page


def test_a_report_names_the_command_that_repeats_it(audited):
    told = json.loads((audited / "report.json").read_text())
    assert told["environment"]["command"] == f"fedleak audit scenario.toml --repeats 1 --run-key {told['run_key']}"


@pytest.mark.parametrize("place", [".", "transcripts"])
def test_inspect_says_which_transcripts_the_folder_of_an_audit_holds(place, audited, tmp_path):
    done = fedleak("inspect", audited / place, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert str(audited / "transcripts" / "no-defense") in done.stderr


def test_a_paper_alone_is_answered_with_its_experiments(tmp_path):
    done = fedleak("reproduce", "li2019", cwd=tmp_path)
    assert done.returncode == 0
    assert "li2019/table1" in done.stdout
    assert "li2019/scale" in done.stdout
    assert "hu2022" not in done.stdout


def test_inspect_shows_who_sent_what(audited, tmp_path):
    done = fedleak("inspect", audited / "transcripts" / "no-defense", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rounds = 4 * 10
    counts = {(m["step"], m["sender"]): m["count"] for m in found["messages"]}
    assert counts[("train.batch", "bank")] == rounds
    assert counts[("train.encrypted-score", "fintech")] == rounds
    assert found["records"]["fintech"]["gradient"] == rounds


@pytest.mark.parametrize("damage", ["truncated index", "truncated header", "missing segment", "not a folder"])
def test_a_damaged_transcript_is_one_line_and_exit_2(damage, audited, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(audited / "transcripts" / "no-defense", folder)
    if damage == "truncated index":
        index = folder / "index.jsonl"
        index.write_bytes(index.read_bytes()[:-40])
    elif damage == "truncated header":
        (folder / "header.json").write_text('{"schema_version"')
    elif damage == "missing segment":
        next((folder / "segments").iterdir()).unlink()
    else:
        folder = folder / "header.json"
    done = fedleak("inspect", folder, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_redact_leaves_true_values_out_and_fail_on_gives_exit_code_1(scenario, tmp_path):
    arguments = ("audit", scenario, "--out", tmp_path / "out", "--redact", "--fail-on", "high", "--repeats", 1)
    assert fedleak(*arguments, cwd=tmp_path).returncode == 1, "a severe finding at --fail-on high"
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    assert all(finding["exhibit"] is None for finding in found["findings"])


def test_check_needs_no_data(scenario, tmp_path):
    scenario.write_text(changed(("sklearn:breast_cancer", "nowhere.csv")))
    done = fedleak("check", scenario, "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    states = {(t["theorem"], t["defense"]): t["state"] for t in found["theorems"] if t["adversary"] == ["fintech"]}
    assert states[("hu2022/corollary-3.2", None)] == "holds"
    assert states[("hu2022/corollary-3.2", "gaussian-noise(sigma=200.0)")] == "fails"
    assert any('gradients = "secret-shared"' in line for line in found["advice"])


@pytest.mark.parametrize("kind", ["attacks", "defenses", "deviations", "protocols", "theorems", "metrics", "papers"])
def test_list(kind, tmp_path):
    done = fedleak("list", kind, "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kind"] == kind


WRONG = {
    "unknown key": (("epochs = 4", "epoch = 4"), "Did you mean"),
    "overlapping columns": (
        (
            "n_columns = 7",
            'columns = ["mean area"]\n[[federation.parties]]\nname = "x"\nrole = "passive"\ncolumns = ["mean area"]',
        ),
        "is claimed by",
    ),
    "missing column": (
        ('by = "ratio"', 'by = "columns"'),
        "column",
    ),
    "three classes": (("sklearn:breast_cancer", "sklearn:iris"), "positive"),
    "batch larger than the table": (("batch_size = 8", "batch_size = 101"), "batch_size must be at most"),
    "a key of 8 bits": (('cipher = "sealed"', 'cipher = "paillier"\nkey_bits = 8'), "bits"),
    "a key of 8 bits, ideal": (("epochs = 4", "epochs = 4\nkey_bits = 8"), "bits"),
    "missing file": (("sklearn:breast_cancer", "nowhere.csv"), "nowhere.csv"),
    "not TOML": (("[data]", "[data"), "TOML"),
}


@pytest.mark.parametrize("what", list(WRONG))
def test_wrong_input_is_one_line_exit_2_and_nothing_written(what, scenario, tmp_path):
    (good, bad), message = WRONG[what]
    scenario.write_text(changed((good, bad)))
    done = fedleak("audit", scenario, "--out", tmp_path / "out", "--repeats", "1", cwd=tmp_path)
    lines = [line for line in done.stderr.splitlines() if not line.endswith(" ...")]
    assert done.returncode == 2, done.stderr
    assert len(lines) == 1
    assert lines[0].startswith("fedleak: ")
    assert message in lines[0]
    assert done.stdout == ""
    assert not (tmp_path / "out").exists()


def test_names_of_parties_are_printed_and_stored_as_they_are(scenario, tmp_path):
    """A slash is no folder of transcripts, a bracket no colour."""
    name = "../[red]x[/bold]"
    noise = f'sigma = 200.0\nparties = ["{name}"]'
    scenario.write_text(SMALL.replace('"fintech"', f'"{name}"').replace("sigma = 200.0", noise))
    done = fedleak("audit", scenario, "--out", tmp_path / "out", "--repeats", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert name in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"scenario.toml", "out"}
    stored = {path.name for path in (tmp_path / "out" / "transcripts").iterdir()}
    assert len(stored) == 2
    assert "no-defense" in stored
    checked = fedleak("check", scenario, cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr


def test_wrong_labels_leave_no_folder_behind(scenario, tmp_path):
    iris = (("breast_cancer", "iris"), ("max_rows = 100", 'task = "multiclass"'))
    columns = (("n_columns = 7", "n_columns = 2"), ("n_columns = 23", "n_columns = 2"))
    scenario.write_text(changed(*iris, *columns))
    done = fedleak("audit", scenario, "--out", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 2
    assert "labels of bank must be 0 or 1" in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_interrupted_audit_writes_its_report(scenario, tmp_path):
    scenario.write_text(changed(("epochs = 4", "epochs = 1000000")))
    command = [sys.executable, "-m", "fedleak", "audit", str(scenario), "--out", str(tmp_path / "out")]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as run:
        assert run.stderr is not None
        assert b"vertical-logistic" in run.stderr.readline()  # training has begun
        run.send_signal(signal.SIGINT)
        try:
            _, errors = run.communicate(timeout=60)
        finally:
            run.kill()  # one that goes on must not be waited for
    assert run.returncode == 130
    assert b"interrupted" in errors
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    assert {finding["outcome"] for finding in found["findings"]} == {"skipped"}
    assert list((tmp_path / "out" / "transcripts").iterdir()) == []


@pytest.mark.parametrize("option", [("audit", "--out"), ("check", "--json"), ("list", "--json")])
def test_a_place_that_cannot_be_written_is_exit_2(option, scenario, tmp_path):
    command, name = option
    target = scenario if name == "--out" else tmp_path
    subject = "attacks" if command == "list" else scenario
    done = fedleak(command, subject, name, target, cwd=tmp_path)
    assert done.returncode == 2
    assert "must be a f" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["scenario.toml"]


def test_missing_values_are_named_with_the_remedy(scenario, tmp_path):
    (tmp_path / "holes.csv").write_text("a,b,y\n1,2,0\n,3,1\n4,5,0\n6,7,1\n")
    source = f'"{tmp_path / "holes.csv"}"\ntarget = "y"'
    columns = (("n_columns = 7", "n_columns = 1"), ("n_columns = 23", "n_columns = 1"))
    scenario.write_text(changed(('"sklearn:breast_cancer"', source), *columns))
    done = fedleak("audit", scenario, "--out", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 2
    assert "missing" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("bench", "pailier"),
        ("reproduce", "hu2022/fig99"),
        ("report", "nothing.json"),
        ("audit", "nothing.toml"),
    ],
)
def test_wrong_names_are_exit_2(arguments, tmp_path):
    done = fedleak(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema_version": 99}', '{"schema_version": NaN}', "\x00"])
def test_a_hostile_report_is_refused(text, tmp_path):
    (tmp_path / "report.json").write_text(text)
    done = fedleak("report", "report.json", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
