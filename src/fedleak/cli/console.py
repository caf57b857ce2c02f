"""What is printed for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from fedleak.core.visible_text import visible


class _Plain(Console):
    def render_str(self, text: str, **options: Any) -> Text:
        """Every text comes through here, the cells of tables too."""
        return super().render_str(visible(text), **options)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would end with exit code 1, which is a finding's


def plain_console(*, stderr: bool = False) -> Console:
    """A console that obeys no text: a party called "[red]" is no colour, and an escape code is written out."""
    return _Plain(stderr=stderr, markup=False, emoji=False, highlight=False)
