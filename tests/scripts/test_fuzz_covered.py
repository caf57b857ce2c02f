"""A few seconds of the changes that are led by the branches that they reach."""

from __future__ import annotations

from pathlib import Path

import pytest

import fuzz_covered
import fuzz_files

pytest.importorskip("atheris", reason="atheris is there for Linux alone", exc_type=ImportError)


def number_of(name: str) -> int:
    files = list(fuzz_covered.fuzzed_files(fuzz_files.seeds()))
    return next(number for number, (_, file) in enumerate(files) if file.name.startswith(name))


def test_changes_of_a_scenario_are_read_or_refused():
    tried, wrong = fuzz_covered.covered(number_of("scenario"), 3)
    assert wrong == ""
    assert tried > 100


def test_what_breaks_is_told_with_the_input(tmp_path):
    """A reader that ends in an error of its own, put in the place of one of ours."""
    broken = tmp_path / "broken.py"
    broken.write_text(
        f"import sys; sys.path.insert(0, {str(Path(fuzz_covered.__file__).parent)!r})\n"
        "import fuzz_covered, fuzz_files\n"
        "def reader(path):\n"
        "    if not path.read_bytes(): raise IndexError('nothing is there')\n"
        "fuzz_files.reader_of = lambda seed: reader\n"
        "sys.exit(fuzz_covered.main())\n"
    )
    _, wrong = fuzz_covered.covered(number_of("table"), 5, str(broken))
    assert "IndexError: nothing is there" in wrong
    assert "crash-" in wrong
