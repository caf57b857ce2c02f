"""What a column of somebody's table seems to be, found from its cells, before anybody has said a word about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fedleak.core.arrays import AnyArray
from fedleak.data.column_encoding import LARGEST_EXACT_INTEGER
from fedleak.data.raw_table import RawColumn, RawTable, is_number

MOST_CATEGORIES = 50  # a text with more of them is a name, a place or a remark, and no group of people
FEW_ROWS = 20  # in fewer all values of a useful column may well differ
MOST_MARKS = 3
DATE_SHARE = 0.95
_DAY = r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))"
DATE = re.compile(rf"{_DAY}([ T]\d{{1,2}}:\d{{2}}.*)?")
NAMED_AS_IDENTIFIER = re.compile(r"(.*[_\W])?(id|uuid|guid|key|nr|no|number|index)", re.IGNORECASE)


class Nature(StrEnum):
    NUMBER = "a number"
    CATEGORY = "a category"
    DATE = "a date"
    IDENTIFIER = "an identifier"
    TEXT = "a text with too many different values"
    CONSTANT = "the same in every row"
    EMPTY = "empty"


USABLE = frozenset({Nature.NUMBER, Nature.CATEGORY})


@dataclass(frozen=True)
class Surveyed:
    name: str
    nature: Nature
    n_distinct: int
    n_missing: int
    marks: tuple[str, ...] = ()  # texts among numbers, which seem to mean that a cell is missing

    @property
    def is_usable(self) -> bool:
        return self.nature in USABLE


def survey(table: RawTable) -> tuple[Surveyed, ...]:
    """Of the columns and of the target, if the table has one, which comes last."""
    columns = (*table.columns, *((table.target,) if table.target is not None else ()))
    return tuple(surveyed(column) for column in columns)


def surveyed(column: RawColumn) -> Surveyed:
    present = column.values[~column.missing]
    n_missing, n_distinct = len(column.values) - len(present), len(np.unique(present))
    if n_distinct < 2:
        nature = Nature.CONSTANT if n_distinct else Nature.EMPTY
        return Surveyed(column.name, nature, n_distinct, n_missing)
    if not column.is_text:
        return Surveyed(column.name, _of_numbers(column.name, present, n_distinct), n_distinct, n_missing)
    texts = [str(cell) for cell in present]
    marks = _marks(texts)
    if marks:
        n_missing += sum(text in marks for text in texts)
        return Surveyed(column.name, Nature.NUMBER, n_distinct - len(marks), n_missing, marks)
    return Surveyed(column.name, _of_texts(texts, n_distinct), n_distinct, n_missing)


def _of_numbers(name: str, present: AnyArray, n_distinct: int) -> Nature:
    """Whole numbers that all differ count the rows where none is left out, or where the name says so."""
    if not np.all(np.isfinite(present)) or np.any(present != np.rint(present)):
        return Nature.NUMBER
    low, high = int(present.min()), int(present.max())
    if max(abs(low), abs(high)) > LARGEST_EXACT_INTEGER:
        return Nature.IDENTIFIER
    differ = n_distinct == len(present) and len(present) >= FEW_ROWS
    counts = high - low + 1 == len(present)
    return Nature.IDENTIFIER if differ and (counts or NAMED_AS_IDENTIFIER.fullmatch(name)) else Nature.NUMBER


def _marks(texts: Sequence[str]) -> tuple[str, ...]:
    others = Counter(text for text in texts if not is_number(text))
    few = 0 < len(others) <= MOST_MARKS and others.total() < len(texts) / 2
    return tuple(sorted(others)) if few else ()


def _of_texts(texts: Sequence[str], n_distinct: int) -> Nature:
    if sum(DATE.fullmatch(text.strip()) is not None for text in texts) >= DATE_SHARE * len(texts):
        return Nature.DATE
    if n_distinct > len(texts) / 2 and len(texts) >= FEW_ROWS:
        return Nature.IDENTIFIER
    return Nature.CATEGORY if n_distinct <= MOST_CATEGORIES else Nature.TEXT
