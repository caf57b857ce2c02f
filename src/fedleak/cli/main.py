"""The entry point: ``fedleak``."""

from __future__ import annotations


def run() -> None:
    raise SystemExit("fedleak: no command yet")
