"""Numbers as half of the world writes them: a comma before the decimals, or between thousands.

A column is read so only where every cell that is there fits, and one at least fits one way alone: 1,234 in every row
may be either, and stays a text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

BEFORE_DECIMALS, BETWEEN_THOUSANDS = "read with a comma before the decimals", "read with a comma between thousands"
UNCLEAR = "texts, for a comma before three digits may stand before decimals or between thousands (write 1234 or 1.234)"
MARKS = {BEFORE_DECIMALS: (",", "."), BETWEEN_THOUSANDS: (".", ",")}  # before decimals, and between thousands
NOTES = "notes"  # of a frame's attrs: what was made of its cells
WHOLE = r"[-+]?\d+"
DECIMAL = re.compile(rf"{WHOLE}(,\d+)?|[-+]?[1-9]\d{{0,2}}(\.\d{{3}})+(,\d+)?")  # 12,5 or 1.234,5
THOUSANDS = re.compile(rf"{WHOLE}(\.\d+)?|[-+]?[1-9]\d{{0,2}}(,\d{{3}})+(\.\d+)?")  # 1,234.5


def with_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of such texts as numbers; what was read how stands in its notes."""
    read: dict[str, list[str]] = {}
    for name in frame.columns:
        if frame[name].dtype.kind in "iufb":
            continue
        way = way_of([str(cell).strip() for cell in frame[name].dropna()])
        if way in MARKS:
            decimal, thousands = MARKS[way]
            plain = frame[name].str.strip().str.replace(thousands, "", regex=False)
            frame[name] = plain.str.replace(decimal, ".", regex=False).astype(float)
        if way:
            read.setdefault(way, []).append(str(name))
    frame.attrs[NOTES] = tuple(f"{way}: {', '.join(names)}" for way, names in read.items())
    return frame


def way_of(cells: list[str]) -> str:
    """How the cells are read; empty where they are no numbers, or plain ones."""
    if not any("," in cell for cell in cells):
        return ""
    as_decimal = all(DECIMAL.fullmatch(cell) for cell in cells)
    as_thousands = all(THOUSANDS.fullmatch(cell) for cell in cells)
    if as_decimal and as_thousands:
        return UNCLEAR
    return BEFORE_DECIMALS if as_decimal else BETWEEN_THOUSANDS if as_thousands else ""
