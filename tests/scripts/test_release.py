"""A release: its notes, and one version everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import bump_version
import fedleak
import release_notes

ROOT = Path(__file__).parents[2]
CHANGELOG = """# Changelog

## Unreleased

- new

## 0.2.0 (2026-12-01)

- second
- more

## 0.1.0

## 0.0.1

- first
"""


@pytest.mark.parametrize(
    ("version", "notes"), [("Unreleased", "- new\n"), ("0.2.0", "- second\n- more\n"), ("0.0.1", "- first\n")]
)
def test_notes_are_the_section_of_the_version(version: str, notes: str) -> None:
    assert release_notes.notes(CHANGELOG, version) == notes


@pytest.mark.parametrize(("version", "words"), [("0.2", "must have a section"), ("0.1.0", "is empty")])
def test_a_version_without_notes_is_refused(version: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        release_notes.notes(CHANGELOG, version)


def test_our_changelog_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    log = release_notes.CHANGELOG.read_text(encoding="utf-8")
    newest = "Unreleased" if "## Unreleased\n\n- " in log else fedleak.__version__
    assert release_notes.main([newest]) == 0
    assert capsys.readouterr().out.startswith("- ")
    assert release_notes.main(["99.0"]) == 2
    assert release_notes.main([]) == 2


def test_a_release_takes_what_is_unreleased_and_changes_the_version_everywhere() -> None:
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in bump_version.NAMES}
    texts["CHANGELOG.md"] = CHANGELOG
    found = bump_version.changed(texts, "9.9.9", "2030-01-02")
    assert release_notes.notes(found["CHANGELOG.md"], "9.9.9") == "- new\n"
    assert found["CHANGELOG.md"].count("## ") == CHANGELOG.count("## ") + 1
    assert all("9.9.9" in text for text in found.values())
    assert tomllib.loads(found["pyproject.toml"])["project"]["version"] == "9.9.9"
    for version in ("0.2.0", "1.0", "v1.0.0"):
        with pytest.raises(ValueError, match="must"):
            bump_version.changed(texts, version, "2030-01-02")
    with pytest.raises(ValueError, match="unreleased lines"):
        bump_version.changed(found, "9.9.10", "2030-01-02")


def test_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = dict(re.findall(r"^([a-z-]+): (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE))
    assert citation["cff-version"] == "1.2.0"
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
    assert fedleak.__version__ == project["version"]
    assert f'- name: "{project["authors"][0]["name"]}"' in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
