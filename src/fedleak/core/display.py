"""What results have in common where they are shown, and texts that cannot change what they are shown in."""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING

from fedleak.core.payload import ScalarValue

if TYPE_CHECKING:
    import pandas as pd

# Overrides of the writing direction: they can make a name read as another one.
DIRECTION_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
KEPT = frozenset("\n\t")


def visible(text: str) -> str:
    """The text with every control character written out as an escape, so that none is obeyed."""
    if text.isprintable():
        return text
    return "".join(_escaped(character) if _is_control(character) else character for character in text)


def one_line(text: str) -> str:
    return " ".join(visible(text).split())


class Tabular(ABC):
    """A result with a row for each thing that it says: a data frame, and a small table in a notebook."""

    @property
    @abstractmethod
    def title(self) -> str: ...

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]: ...

    @abstractmethod
    def rows(self) -> list[dict[str, ScalarValue]]:
        """Plain values under the names of the columns."""

    @abstractmethod
    def in_words(self) -> str:
        """What all of it comes to, in one line."""

    def to_frame(self) -> pd.DataFrame:
        """One row for each; what was not measured is missing."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(self.columns))

    def _repr_html_(self) -> str:
        """No style, no script, every text escaped. A column that says nothing anywhere is left out."""
        rows = self.rows()
        shown = [name for name in self.columns if any(row[name] not in (None, "") for row in rows)]
        head = "".join(f"<th>{_cell(name)}</th>" for name in shown)
        body = "".join(f"<tr>{''.join(f'<td>{_cell(row[name])}</td>' for name in shown)}</tr>" for row in rows)
        caption = _cell(f"{self.title}: {self.in_words()}")
        return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    """A number is cut to four digits."""
    if value is None:
        return ""
    return escape(one_line(f"{value:.4g}" if isinstance(value, float) else str(value)))


def _is_control(character: str) -> bool:
    if character in KEPT:
        return False
    return unicodedata.category(character) in {"Cc", "Cs"} or character in DIRECTION_CONTROLS


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
