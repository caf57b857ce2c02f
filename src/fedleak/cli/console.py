"""What is printed for people."""

from __future__ import annotations

import os
from typing import Any

from rich.console import Console
from rich.text import Text

from fedleak.core.visible_text import visible

NO_EDGE = 10_000


class _Plain(Console):
    def render_str(self, text: str, **options: Any) -> Text:
        """Every text comes through here, the cells of tables too."""
        return super().render_str(visible(text), **options)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would end with exit code 1, which is a finding's


def plain_console(*, stderr: bool = False, width: int | None = None) -> Console:
    """A console that obeys no text: a party called "[red]" is no colour, and an escape code is written out."""
    return _Plain(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)


def table_console() -> Console:
    """For tables of many columns: a file or a pipe has no edge that cells would have to be cut at."""
    console = plain_console()
    return console if console.is_terminal or "COLUMNS" in os.environ else plain_console(width=NO_EDGE)
