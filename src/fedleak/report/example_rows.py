"""A few records of the columns that leak most: the true value beside what was made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedleak.report.matrix import WorstColumn
from fedleak.report.numbers import number

MAX_TABLES = 2  # attacks that a page gives examples of


@dataclass(frozen=True)
class ExampleLine:
    column: str
    cells: tuple[tuple[str, str], ...]  # of each row what is true, and what was guessed


@dataclass(frozen=True)
class ExampleTable:
    """Of one attack by one adversary; each shows rows of its own."""

    owner: str
    who: str
    attack: str
    rows: tuple[str, ...]
    lines: tuple[ExampleLine, ...]


def example_tables(columns: Sequence[WorstColumn]) -> tuple[ExampleTable, ...]:
    """Of the attacks with the worst columns; none of a redacted report, since only exhibits hold true values."""
    grouped: dict[int, list[WorstColumn]] = {}
    for one in columns:
        grouped.setdefault(id(one.finding), []).append(one)
    tables = (_table(members) for members in grouped.values())
    return tuple(table for table in tables if table is not None)[:MAX_TABLES]


def _table(members: Sequence[WorstColumn]) -> ExampleTable | None:
    first = members[0]
    shown = first.finding.exhibit.examples if first.finding.exhibit is not None else None
    if shown is None:
        return None
    lines = []
    for member in members:
        if member.column.column in shown.columns:
            place = shown.columns.index(member.column.column)
            pairs = zip(shown.true[:, place], shown.guessed[:, place], strict=True)
            cells = tuple((number(float(true)), number(float(guessed))) for true, guessed in pairs)
            lines.append(ExampleLine(member.column.column, cells))
    return ExampleTable(first.owner, first.who, first.finding.attack, shown.rows, tuple(lines)) if lines else None
