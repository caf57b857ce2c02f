"""Names and texts that cannot change what they are shown in."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from textwrap import wrap

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

# Overrides of the writing direction: they can make a name read as another one.
DIRECTION_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
KEPT = frozenset("\n\t")


def visible(text: str) -> str:
    """The text with every control character written out as an escape, so that none is obeyed."""
    if text.isprintable():
        return text
    return "".join(_escaped(character) if _is_control(character) else character for character in text)


def _is_control(character: str) -> bool:
    if character in KEPT:
        return False
    return unicodedata.category(character) in {"Cc", "Cs"} or character in DIRECTION_CONTROLS


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


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
