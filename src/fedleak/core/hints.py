"""The end of an error about an unknown name, short even when a table has a thousand columns."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

N_NAMES_SHOWN = 20


def nearest(wrong: str, known: Collection[str]) -> str:
    """The nearest known name, as a question; empty when nothing is near."""
    near = get_close_matches(wrong, sorted(known), n=1, cutoff=0.6)
    return f'. Did you mean "{near[0]}"?' if near else ""


def nearest_or_list(wrong: str, known: Collection[str]) -> str:
    """The nearest known name, or the first of the known names in their own order."""
    return nearest(wrong, known) or f". Known: {listed(tuple(known))}"


def listed(names: tuple[str, ...]) -> str:
    """Names in a row, cut short when there are many."""
    shown = ", ".join(f'"{name}"' for name in names[:N_NAMES_SHOWN])
    return shown if len(names) <= N_NAMES_SHOWN else f"{shown}, ... ({len(names)} in all)"
