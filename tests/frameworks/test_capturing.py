"""Captures that fail: one line, nothing half-written, no process left behind."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from fedleak.cli.main import app
from fedleak.core.errors import ExitCode, InputError, RunError, UnknownNameError
from fedleak.data import DataSpec
from fedleak.frameworks import FRAMEWORKS
from fedleak.frameworks.capturing import Wanted, captured
from fedleak.frameworks.children import run_to_end
from fedleak.frameworks.environment import HOME, MARKER, place_of, ready
from fedleak.frameworks.job import Job, check_version
from fedleak.frameworks.recipe import check_python, recipe_of
from fedleak.recorder import Recorder

XGBOOST = recipe_of("xgboost")


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """An environment that passes for a complete one; its Python does what a test says."""
    monkeypatch.setenv(HOME, str(tmp_path / "home"))
    place = place_of(XGBOOST)

    def made(text: str) -> Path:
        (place / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
        script(place / "bin" / "python", text)
        (place / MARKER).write_text("")
        return tmp_path / "out"

    return made


def wanted(out: Path, **changes) -> Wanted:
    spec = DataSpec(source="sklearn:iris", task="multiclass", scaling="none", max_rows=30)
    return replace(Wanted(XGBOOST, spec, XGBOOST.options, 0.5, 0, out), **changes)


def gone(number: int) -> bool:
    """Within a moment; a process that its parent has not asked about yet is over as well."""
    for _ in range(100):
        with suppress(OSError):
            if Path(f"/proc/{number}/stat").read_text().split()[2] != "Z":
                time.sleep(0.05)
                continue
        return True
    return False


def silent(_: str) -> None:
    pass


def test_a_training_that_fails_leaves_nothing(fake):
    out = fake('echo "no such thing" > "$4/error.txt"; exit 3')
    with pytest.raises(RunError, match=r"the training with XGBoost 3\.2\.0 failed: no such thing"):
        captured(wanted(out), silent)
    assert not out.exists()


def test_a_training_that_captures_nothing_is_told(fake):
    out = fake("echo all is well")
    with pytest.raises(RunError, match="ended without a capture: all is well"):
        captured(wanted(out), silent)
    assert not out.exists()


def test_a_capture_without_its_truth_is_not_kept(fake):
    out = fake('mkdir "$4/capture"; echo the disk is full')
    with pytest.raises(RunError, match="ended without a truth: the disk is full"):
        captured(wanted(out), silent)
    assert not out.exists()


def interrupt(words: list[str], tmp_path: Path, **told: str) -> None:
    """Ctrl-C once the capture has started somebody, whose id is then in a file: it says so, and nobody is left."""
    command = [sys.executable, "-m", "fedleak", "capture", "xgboost", "--data", "sklearn:iris", "--task", "multiclass"]
    child = subprocess.Popen([*command, *words], stderr=subprocess.PIPE, text=True, env={**os.environ, **told})
    try:
        for _ in range(600):
            if (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip():
                break
            time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130
    assert said.strip().splitlines()[-1].startswith("fedleak: interrupted")
    assert gone(int((tmp_path / "child").read_text()))


def test_an_interrupted_installation_leaves_no_environment_and_no_process(tmp_path):
    """Ctrl-C while pip works: what it made goes, and the next capture begins anew."""
    home, recipe = tmp_path / "home", recipe_of("xgboost")
    waits = f"echo $$ > {tmp_path}/child; exec sleep 600"
    makes = f"mkdir -p $3/bin; printf '#!/bin/sh\\n{waits}\\n' > $3/bin/python; chmod +x $3/bin/python"
    python = script(tmp_path / "python", f'if [ "$1" = -c ]; then echo 3.11.7; else {makes}; fi')
    interrupt(["--python", str(python), "--out", str(tmp_path / "out")], tmp_path, **{HOME: str(home)})
    assert not (home / recipe.environment).exists()
    assert not (tmp_path / "out").exists()


def test_a_training_that_does_not_end_is_ended_with_what_it_started(fake, tmp_path):
    out = fake(f"sleep 600 & echo $! > {tmp_path}/child; wait")
    with pytest.raises(RunError, match=r"must end within 0\.5 seconds"):
        captured(wanted(out, recipe=replace(XGBOOST, limit_seconds=0.5)), silent)
    assert gone(int((tmp_path / "child").read_text()))
    assert not out.exists()


def test_an_interrupted_capture_leaves_no_process_and_no_folder(fake, tmp_path):
    out = fake(f"sleep 600 & echo $! > {tmp_path}/child; wait")
    interrupt(["--out", str(out)], tmp_path)
    assert not out.exists()


def test_who_has_a_session_of_its_own_ends_with_an_interrupted_capture(fake, tmp_path):
    """As NVFLARE's simulator: a signal to the group does not reach it."""
    out = fake(f"setsid sh -c 'echo $$ > {tmp_path}/child; exec sleep 600' & wait")
    interrupt(["--out", str(out)], tmp_path)
    assert not out.exists()


def test_who_has_a_session_of_its_own_ends_with_what_it_starts(tmp_path):
    command = f"setsid sh -c 'sleep 600 & echo $! > {tmp_path}/child; wait' & wait"
    with pytest.raises(RunError, match="must end within"):
        run_to_end(["sh", "-c", command], what="it", seconds=2, log=tmp_path / "log", cwd=tmp_path)
    assert gone(int((tmp_path / "child").read_text()))


def test_a_capture_is_audited_at_once(fake, tmp_path):
    """What the script wrote is moved to its place and goes through the whole of an audit."""
    (tmp_path / "made").mkdir()
    ids, labels = np.arange(30), np.arange(30) % 2
    roles = {"bank": "active", "fintech": "passive"}
    with Recorder(
        tmp_path / "made" / "capture",
        roles,
        truth=tmp_path / "made" / "truth",
        family="boosting",
        objective="logistic",
        n_classes=2,
        label_epsilon=0.0,
    ) as recorder:
        recorder.truth("bank", labels=labels[:, None], ids=ids)
        told = {"rows": ids, "g": 0.5 - labels, "h": np.full(30, 0.25)}
        recorder.message("train.sample-gradients", "bank", "*", told, round=0)
    out = fake(f'cp -r {tmp_path}/made/capture {tmp_path}/made/truth "$4"')
    arguments = ["capture", "xgboost", "--data", "sklearn:breast_cancer", "--rows", "30", "--out", str(out), "--audit"]
    done = CliRunner().invoke(app, arguments)
    assert done.exception is None, done.exception
    assert "fintech" in done.output
    assert "100 %" in done.output
    assert re.search(r"capture and audit took \d+ s", done.output)
    assert sorted(path.name for path in out.iterdir()) == ["audit", "capture", "truth"]


def test_a_folder_that_is_there_is_not_written_over(fake):
    out = fake("exit 1")
    (out / "capture").mkdir(parents=True)
    with pytest.raises(InputError, match="capture"):
        captured(wanted(out), silent)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_framework_that_does_not_install_is_one_line(tmp_path, monkeypatch, name):
    recipe = recipe_of(name)
    monkeypatch.setenv(HOME, str(tmp_path))
    python = script(
        tmp_path / "python", 'if [ "$1" = -c ]; then echo 3.11.7; else echo "no room on the disk"; exit 1; fi'
    )
    with pytest.raises(RunError, match=f"{recipe.title} {recipe.version} could not be installed: no room on the disk"):
        ready(recipe, python, silent)
    assert not place_of(recipe).exists()


def test_size_and_time_are_said_before_an_environment_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME, str(tmp_path))
    python = script(tmp_path / "python", 'if [ "$1" = -c ]; then echo 3.11.7; else exit 1; fi')
    said: list[str] = []
    with pytest.raises(RunError):
        ready(XGBOOST, python, said.append)
    assert f"about {XGBOOST.megabytes} MB and {XGBOOST.install_seconds} seconds" in said[0]


@pytest.mark.parametrize("version", ["3.10.14", "3.14.0"])
def test_the_python_is_checked_to_the_patch(version):
    with pytest.raises(InputError, match=rf"Python must be from 3\.11\.0 on and below 3\.14\.0 .* got {version}"):
        check_python(XGBOOST, version)
    check_python(XGBOOST, "3.11.7")


def test_fate_is_refused_a_python_on_which_it_fails():
    """Before anything is installed: on 3.11.2 its messages cannot be read back."""
    with pytest.raises(InputError, match=r"Python must be from 3\.11\.7 on .* FATE 2\.2\.0; got 3\.11\.2"):
        check_python(recipe_of("fate"), "3.11.2")
    check_python(recipe_of("fate"), "3.11.7")


def test_what_is_no_python_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME, str(tmp_path))
    with pytest.raises(InputError, match="must be a Python interpreter"):
        ready(XGBOOST, tmp_path / "nothing", silent)


def test_another_version_is_refused():
    job = Job(Path(), "3.2.0", 0, {}, ())
    check_version(job, "3.2.0", "XGBoost")
    with pytest.raises(RuntimeError, match=r"XGBoost must be version 3\.2\.0, whose messages are known; got 3\.3\.0"):
        check_version(job, "3.3.0", "XGBoost")


def test_settings_are_those_of_the_recipe():
    assert XGBOOST.chosen(["depth=3"]) == {**XGBOOST.options, "depth": 3}
    with pytest.raises(UnknownNameError, match=r"Did you mean .depth"):
        XGBOOST.chosen(["dept=3"])
    with pytest.raises(InputError, match="depth must be a int; got 'deep'"):
        XGBOOST.chosen(["depth=deep"])
    with pytest.raises(UnknownNameError, match="unknown framework 'xgbost'"):
        recipe_of("xgbost")


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_every_recipe_locks_its_framework(name):
    recipe = recipe_of(name)
    assert f"{recipe.package}=={recipe.version}" in recipe.lock.splitlines()
    assert all("==" in line for line in recipe.lock.splitlines() if line)


def test_a_signal_that_comes_while_a_child_is_started_ends_the_child(tmp_path, monkeypatch):
    """Before its id is known here: held back, then heard, with the child ended."""
    started = []

    class Slow(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            started.append(self.pid)
            signal.raise_signal(signal.SIGINT)  # as if Popen had not returned yet

    monkeypatch.setattr(subprocess, "Popen", Slow)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_to_end(["sleep", "600"], what="it", seconds=60, log=tmp_path / "log", cwd=tmp_path)
    assert gone(started[0])
    assert signal.getsignal(signal.SIGINT) is before


def test_the_end_of_a_child_is_its_exit_code(tmp_path):
    command = [sys.executable, "-c", "import sys; sys.exit(4)"]
    code = run_to_end(command, what="it", seconds=60, log=tmp_path / "log", cwd=tmp_path)
    assert code == ExitCode.INCONCLUSIVE == 4
