"""How every command ends. Where several would fit, the order is 130, 2, 1, 3, 4."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    DONE = 0
    FOUND = 1  # a finding at or over --fail-on
    WRONG_INPUT = 2  # or wrong usage
    FAILED = 3  # a run or an attack failed, or fedleak itself
    INCONCLUSIVE = 4  # with --fail-on: nothing failed, but what would have to be known is not
    INTERRUPTED = 130  # Ctrl-C, as shells number it
