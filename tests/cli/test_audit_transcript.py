"""``fedleak audit --transcript``: with a truth and without, what fails a build, and hostile folders."""

from __future__ import annotations

import json
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest
from test_command_line import fedleak

from fedleak.core.errors import ExitCode
from fedleak.recorder import Recorder
from fedleak.storage.capture_and_truth import load_truth

EXAMPLE = Path(__file__).parents[2] / "examples" / "captured_training.py"


@pytest.fixture(scope="module")
def captured(tmp_path_factory) -> Path:
    """A folder with a capture and its truth; tests must leave it as it is."""
    folder = tmp_path_factory.mktemp("captured")
    runpy.run_path(str(EXAMPLE))["train"](str(folder / "capture"), str(folder / "truth"))
    return folder


def findings(done) -> dict[tuple[str, str], dict]:
    found = json.loads(done.stdout)["findings"]
    return {(" + ".join(one["adversary"]), one["attack"]): one for one in found}


def test_without_a_truth_a_proved_claim_fails_the_build(captured, tmp_path):
    done = fedleak(
        *("audit", "--transcript", captured / "capture", "--out", tmp_path / "out", "--json", "-"),
        *("--fail-on", "high"),
        cwd=tmp_path,
    )
    assert done.returncode == ExitCode.FOUND, done.stderr
    sign = findings(done)["fintech", "residual-sign"]
    assert (sign["outcome"], sign["severity"], sign["value"]) == ("unchecked", "high", None)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["journal.jsonl", "report.html", "report.json"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "96 cells of bank&#39;s labels, proved by the transcript alone" in page
    assert "Proved by the view alone:" in page


def test_with_a_truth_the_labels_leak(captured, tmp_path):
    done = fedleak(
        *("audit", "--transcript", captured / "capture", "--truth", captured / "truth", "--out", tmp_path / "out"),
        *("--json", "-", "--fail-on", "high"),
        cwd=tmp_path,
    )
    assert done.returncode == ExitCode.FOUND, done.stderr
    found = findings(done)
    sign, weak = found["fintech", "residual-sign"], found["fintech", "own-weights"]
    assert (sign["outcome"], sign["severity"], sign["value"]) == ("leak", "high", 1.0)
    assert weak["outcome"] == "leak"
    assert weak["why"].endswith("(population and recovery are not told apart: one run)")
    assert "errored" not in {one["outcome"] for one in found.values()}


def test_a_claim_that_nothing_checks_is_inconclusive(captured, tmp_path):
    done = fedleak(
        *("audit", "--transcript", captured / "capture", "--attack", "own-weights", "--fail-on", "low"),
        *("--out", tmp_path / "out"),
        cwd=tmp_path,
    )
    assert done.returncode == ExitCode.INCONCLUSIVE
    assert "inconclusive under --fail-on: no truth was given, and no claim is proved" in done.stderr
    assert done.stdout.startswith("Inconclusive: No truth given: nothing was checked.")


def test_a_truth_in_csv_does_as_well(captured, tmp_path):
    truth = load_truth(captured / "truth")
    labels = next(truth.of(secret) for secret in truth.secrets if secret.kind == "labels")
    rows = [f"{row},{int(value)}" for row, value in zip(labels.ids, labels.values[:, 0], strict=True)]
    (tmp_path / "truth.csv").write_text("\n".join(["id,label", *rows]))
    done = fedleak(
        *("audit", "--transcript", captured / "capture", "--truth", "truth.csv", "--json", "-", "--out", "out"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert findings(done)["fintech", "residual-sign"]["value"] == 1.0


def test_the_command_of_a_report_repeats_it(captured, tmp_path):
    options = ("--transcript", captured / "capture", "--truth", captured / "truth", "--attack", "own-weights")
    done = fedleak("audit", *options, "--json", "-", "--out", tmp_path / "out", cwd=tmp_path)
    command = json.loads(done.stdout)["environment"]["command"]
    assert command.startswith("fedleak audit --transcript ")
    assert "--attack own-weights" in command
    assert "--truth" in command


def test_only_the_named_attack_is_tried_on_a_scenario_too(tmp_path):
    from scenarios import SMALL

    (tmp_path / "scenario.toml").write_text(SMALL)
    done = fedleak("audit", "scenario.toml", "--attack", "own-weights", "--json", "-", "--out", "out", cwd=tmp_path)
    assert {attack for _, attack in findings(done)} == {"own-weights"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("scenario.toml", "--transcript", "capture"), "--transcript must stand without a scenario"),
        (("--truth", "truth"), "--truth must go with a captured run"),
        (("--transcript", "nowhere"), "must be a folder with a stored capture; got nothing there"),
        (("--transcript", "capture", "--truth", "nowhere"), "a data file must exist"),
        (("--transcript", "capture", "--attack", "residual-sing"), 'Did you mean "residual-sign"'),
        (("--transcript", "truth"), "kind must be capture"),
        (("--transcript", "capture", "--truth", "capture"), "kind must be truth"),
    ],
)
def test_wrong_usage_is_one_line_and_leaves_nothing(captured, tmp_path, options, message):
    for name in ("capture", "truth"):
        (tmp_path / name).symlink_to(captured / name)
    done = fedleak("audit", *options, "--out", "out", cwd=tmp_path)
    assert done.returncode == ExitCode.WRONG_INPUT
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


HOSTILE = {
    "a header that is cut off": lambda folder: (folder / "header.json").write_text('{"preamble"'),
    "an index with other lines": lambda folder: (folder / "index.jsonl").write_text('{"kind": "message"}\n' * 200),
    "segments that are gone": lambda folder: shutil.rmtree(folder / "segments"),
    "a header that is a link": lambda folder: _linked(folder / "header.json"),
}


def _linked(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_folders_are_one_line(captured, tmp_path, name):
    shutil.copytree(captured / "capture", tmp_path / "capture")
    HOSTILE[name](tmp_path / "capture")
    done = fedleak("audit", "--transcript", "capture", "--out", "out", cwd=tmp_path)
    assert done.returncode == ExitCode.WRONG_INPUT, done.stdout
    assert done.stderr.startswith("fedleak: ")
    assert len(done.stderr.strip().splitlines()) == 1


def test_nothing_to_try_is_no_clean_bill(tmp_path):
    with Recorder(tmp_path / "capture", {"bank": "active", "north, south": "passive"}) as recorder:
        recorder.message("train.batch", "bank", None, np.arange(3), round=0)
    done = fedleak("audit", "--transcript", "capture", "--fail-on", "low", "--out", "out", cwd=tmp_path)
    assert done.returncode == ExitCode.INCONCLUSIVE
    assert done.stdout.startswith("Inconclusive: ")
