"""Shared by all tests: one Hypothesis profile, and Ctrl-C as on a terminal."""

from __future__ import annotations

import signal

from hypothesis import settings

settings.register_profile("fedleak", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("fedleak")

# What a shell starts in the background ignores SIGINT, and so would everything that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
