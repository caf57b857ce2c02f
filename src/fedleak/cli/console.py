"""What is printed for people."""

from __future__ import annotations

from rich.console import Console


class _Plain(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would end with exit code 1, which is a finding's


def plain_console(*, stderr: bool = False) -> Console:
    """A console that prints names as they are: a party called "[red]" is no colour."""
    return _Plain(stderr=stderr, markup=False, emoji=False, highlight=False)
