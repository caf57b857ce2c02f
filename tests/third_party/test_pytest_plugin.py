"""The contract tests, run by the plug-in on somebody else's attacks: an honest one passes, cheaters fail."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from installed import PLUGIN, SOURCE, python

TESTS = {
    "test_metadata_is_complete",
    "test_it_imports_nothing_that_knows_the_truth",
    "test_it_travels_to_another_process",
    "test_the_guess_survives_the_file_format",
    "test_one_generator_gives_one_guess",
    "test_swap",
    "test_null",
    "test_it_wins_its_controls",
}
RESULT = re.compile(r"::(test_\w+)\[.*?\] (PASSED|FAILED|SKIPPED|ERROR)")


def results(attack: str, site: Path, folder: Path) -> dict[str, str]:
    arguments = ("-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", "-v", "--fedleak-attack", attack)
    done = python(*arguments, path=[site], cwd=folder)
    return dict(RESULT.findall(done.stdout)) or {"output": done.stdout + done.stderr}


def test_an_honest_attack_passes(site: Path, tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_that_nobody_asked_for():\n    assert False\n")
    found = results("fedleak_sample.averaged_weights:AveragedWeights", site, tmp_path)
    assert found == dict.fromkeys(TESTS, "PASSED")


@pytest.mark.parametrize(
    ("cheater", "caught"),
    [
        ("FindsTheTruth", {"test_swap"}),
        ("AsksTheClock", {"test_one_generator_gives_one_guess", "test_swap"}),
        (
            "LoadsTheTable",
            {
                "test_metadata_is_complete",  # its name is not in kebab-case
                "test_it_imports_nothing_that_knows_the_truth",
                "test_the_guess_survives_the_file_format",
                "test_one_generator_gives_one_guess",
                "test_swap",
                "test_null",
            },
        ),
    ],
)
def test_a_cheater_fails(cheater: str, caught: set[str], site: Path, tmp_path: Path) -> None:
    found = results(f"fedleak_sample.cheaters:{cheater}", site, tmp_path)
    assert found.keys() == TESTS
    failed = {name for name, result in found.items() if result == "FAILED"}
    # All cheaters stand in one module, so that what one of them imports is found in each.
    assert failed == caught | {"test_it_imports_nothing_that_knows_the_truth"}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("fedleak_sample:Nobody", "which is not there"),
        ("fedleak_sample", "which is not there"),
        ("nowhere_at_all:Attack", "which cannot be imported (ModuleNotFoundError"),
        ("pathlib:Path", "which is no attack: "),
    ],
)
def test_what_is_not_there_is_told_once(wrong: str, why: str, site: Path, tmp_path: Path) -> None:
    arguments = ("-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", "--fedleak-attack", wrong)
    done = python(*arguments, path=[site], cwd=tmp_path)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    told = done.stdout + done.stderr
    assert told.count(f"--fedleak-attack must be PACKAGE.MODULE:CLASS; got {wrong}, {why}") == 1
    assert len(told.strip().splitlines()) == 1


LOADED = """
import sys

def test_what_is_loaded():
    assert "fedleak.testing.pytest_plugin" in sys.modules
    ours = {name for name in sys.modules if name.startswith("fedleak")}
    light = {"fedleak", "fedleak.core", "fedleak.core.version", "fedleak.testing", "fedleak.testing.pytest_plugin"}
    assert ours <= light
    assert "numpy" not in sys.modules
"""


def test_without_the_option_nothing_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "test_loaded.py").write_text(LOADED)
    done = python(
        "-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-q", path=[], cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout


def test_the_package_declares_the_plug_in() -> None:
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"fedleak": "fedleak.testing.pytest_plugin"}
