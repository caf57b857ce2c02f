"""Shared by all tests: one Hypothesis profile, run keys that repeat, and Ctrl-C as on a terminal."""

from __future__ import annotations

import signal
from itertools import count

import pytest
from hypothesis import settings

from fedleak.core.whole.randomness import RunKey

settings.register_profile("fedleak", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("fedleak")

# What a shell starts in the background ignores SIGINT, and so would everything that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# An audit draws a fresh key, and what is decided on a few runs may turn out otherwise with another one. A test that
# fails once in fifty times tells nothing, so that in this process the first, second, … audit of each test has its key.
drawn = count()
RunKey.fresh = classmethod(lambda cls: cls.published(next(drawn), "a test"))  # type: ignore[method-assign, assignment]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Before the fixtures of a test, so that those of its module have the same keys whatever ran before."""
    global drawn  # noqa: PLW0603
    drawn = count()
