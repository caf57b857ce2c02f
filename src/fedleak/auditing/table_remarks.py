"""What was decided for somebody whose table became a scenario, a line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fedleak.auditing.scenario import Scenario
from fedleak.core.errors import listed
from fedleak.core.steps import Role
from fedleak.data.column_survey import Nature, Surveyed
from fedleak.data.raw_table import RawTable
from fedleak.data.spec import TaskName

MOST_NAMES = 12  # of a party's columns in a line
TASK_WORDS: Mapping[TaskName, str] = {
    "binary": "two classes",
    "multiclass": "several classes",
    "regression": "numbers",
}
SEES_PREDICTIONS = (
    "who holds the labels sees the predictions, so this asks what our side learns of partners' columns; "
    "--labels partner asks what a partner learns of ours"
)
HOW_TO_USE = {Nature.DATE: "give it as a number of days to have it audited"}
WITHOUT_DATA = {Role.ARBITER: "an arbiter, who holds the key and no columns"}


def remarks(
    scenario: Scenario,
    table: RawTable,
    found: Mapping[str, Surveyed],
    holdings: Mapping[str, Sequence[str]],
    *,
    ours: bool,
) -> Iterator[str]:
    """``holdings``: whose columns are whose, those that are left out too. ``ours``: the labels are our side's."""
    data = scenario.data
    yield f"{table.source} has {table.n_rows:,} rows and {len(table.names)} columns beside the target {data.target!r}"
    yield from table.notes
    if data.max_rows is not None and data.max_rows < table.n_rows:
        yield f"audited: {data.max_rows:,} of its rows, evenly spread; more with --set max_rows={table.n_rows}"
    for party in scenario.parties:
        if party.columns:
            labels = f"; it has the labels, {TASK_WORDS[data.task]}" if party.role is Role.ACTIVE else ""
            yield f"{party.name} holds {some_of(party.columns)}{labels}"
    yield from _left_out([found[name] for names in holdings.values() for name in names if not found[name].is_usable])
    nobodys = [name for name in table.names if not any(name in names for names in holdings.values())]
    if nobodys:
        yield f"left out, for nobody holds it: {some_of(nobodys)}"
    yield from _about_missing(scenario, [column for name, column in found.items() if name not in data.drop])
    if scenario.protocol == "vertical-prediction" and ours:
        yield SEES_PREDICTIONS
    curious = ", ".join(party for adversary in scenario.adversaries for party in adversary.parties)
    helpers = [WITHOUT_DATA[party.role] for party in scenario.parties if party.role in WITHOUT_DATA]
    yield f"protocol: {scenario.protocol}{''.join(f', with {one}' for one in helpers)}; curious: {curious}"


def some_of(names: Sequence[str]) -> str:
    """Thousands of columns are no line to read."""
    shown = ", ".join(names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES:,} more"


def _left_out(columns: Sequence[Surveyed]) -> Iterator[str]:
    """A line a column, and of a kind that has many a line for all."""
    for nature in dict.fromkeys(column.nature for column in columns):
        names = [column.name for column in columns if column.nature is nature]
        hint = f"; {HOW_TO_USE[nature]}" if nature in HOW_TO_USE else ""
        for told in names if len(names) <= MOST_NAMES else [some_of(names)]:
            yield f"left out: {told}, {nature.value}{hint}"


def _about_missing(scenario: Scenario, columns: Sequence[Surveyed]) -> Iterator[str]:
    counted = [f"{column.name} ({column.n_missing:,})" for column in columns if column.n_missing]
    if counted:
        done = {"mean": "filled with what is usual in the column", "drop": "their rows are left out", "keep": "kept so"}
        marks = f"; {listed(scenario.data.missing_marks)} counts as missing" if scenario.data.missing_marks else ""
        yield f"missing cells in {some_of(counted)}: {done.get(scenario.data.missing, 'an error')}{marks}"
