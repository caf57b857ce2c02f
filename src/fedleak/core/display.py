"""What results have in common where they are shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING

from fedleak.core.payload import ScalarValue
from fedleak.core.visible_text import one_line

if TYPE_CHECKING:
    import pandas as pd


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
