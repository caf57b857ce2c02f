"""Names and texts that cannot change what they are shown in."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from fedleak.core.visible_text import visible


@dataclass(frozen=True)
class Name:
    text: str
    style: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("\n".join(wrap(visible(self.text), options.max_width)), style=self.style, overflow="fold")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        pieces = wrap(visible(self.text), 1, break_long_words=False)
        longest = max((len(piece) for piece in pieces), default=0)
        return Measurement(longest, len(self.text)).with_maximum(options.max_width)
