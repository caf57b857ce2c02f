"""One small scenario that tests vary by replacing lines."""

from __future__ import annotations

from pathlib import Path

from fedleak.core.whole.randomness import RunKey

KEY = RunKey.published(0)  # noise that is the same in every run of the tests

SMALL = "\n" + Path(__file__).with_name("small_scenario.toml").read_text(encoding="utf-8")


def changed(*replacements: tuple[str, str]) -> str:
    """The scenario with lines replaced; a line that is not there is a mistake in the test."""
    text = SMALL
    for good, bad in replacements:
        assert good in text, good
        text = text.replace(good, bad, 1)
    return text
