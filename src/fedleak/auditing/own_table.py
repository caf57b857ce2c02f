"""Somebody's own table and a few words about it, as a scenario: what was decided for them is said."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fedleak.auditing.changed_scenario import settings_in
from fedleak.auditing.frames import FrameOptions, raw_scenario
from fedleak.auditing.scenario import PartitionSpec, Scenario
from fedleak.auditing.scenario_file import read_scenario
from fedleak.auditing.scenario_text import scenario_text
from fedleak.auditing.table_remarks import remarks
from fedleak.core.errors import InputError, listed, nearest_or_list
from fedleak.core.steps import DATA_ROLES, Role
from fedleak.core.whole.protocol import Protocol
from fedleak.data.column_survey import Nature, Surveyed, survey
from fedleak.data.raw_table import RawTable
from fedleak.data.sources import load
from fedleak.data.sources.catalogue import SUFFIXES
from fedleak.data.spec import MissingPolicy, TaskName
from fedleak.protocols import PROTOCOLS

OURS, PARTNER = "our side", "partner"
MOST_ROWS = 400  # under real encryption every row costs; how a batch leaks does not depend on how many there are
LEAST_ROWS = 10
MOST_CLASSES = 10  # more whole numbers than that are amounts
PHASES = ("train", "predict")
TRAINED_BY: Mapping[TaskName, str] = {
    "binary": "vertical-logistic",
    "multiclass": "secureboost",
    "regression": "vertical-linear-arbiter",
}


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """As on the command line. ``mine`` and ``partners``: columns with commas, behind a name and = if it shall have one.
    ``settings``: KEY=VALUE, for any key of a scenario's tables of the data and of the federation."""

    table: str | None = None  # where a model file is audited: the rows that it predicts
    target: str | None = None
    mine: str | None = None
    partners: tuple[str, ...] = ()
    labels: str = "mine"
    protocol: str | None = None
    phase: str = "train"
    settings: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """The options that say this."""
        given = [
            ("--table", self.table),
            ("--target", self.target),
            ("--mine", self.mine),
            *(("--partner", text) for text in self.partners),
        ]
        given += [("--labels", self.labels), ("--phase", self.phase), ("--protocol", self.protocol)]
        given += [("--set", text) for text in self.settings]
        unsaid = {("--labels", "mine"), ("--phase", "train")}
        return [word for pair in given if pair[1] is not None and pair not in unsaid for word in map(str, pair)]


@dataclass(frozen=True)
class Draft:
    scenario: Scenario
    remarks: tuple[str, ...]


def drafted(source: str, wishes: Wishes, folder: Path | None = None, *, all_rows: bool = False) -> Draft:
    """Relative paths start at ``folder``. ``all_rows``: who decides how many are audited comes later."""
    if wishes.table is not None:
        raise InputError(f"--table must go with a model file, whose rows it names; got {source}, a table itself")
    table = load(source, target=wishes.target, folder=folder)
    if table.n_rows < LEAST_ROWS:
        raise InputError(f"a table must have {LEAST_ROWS} rows or more, or luck cannot be told; got {table.n_rows}")
    found = {column.name: column for column in survey(table)}
    target = target_of(table, found)
    holdings = holdings_of(wishes, table.names)
    used = {party: [name for name in names if found[name].is_usable] for party, names in holdings.items()}
    _check_somebody_holds_something(holdings, used, found)
    task = task_of(target)
    protocol = _protocol(wishes, task)
    decided = {
        **_data_settings(table, found, used, task, protocol),
        **({} if all_rows or table.n_rows <= MOST_ROWS else {"max_rows": MOST_ROWS}),
        **_fitting_batch(table.n_rows, protocol),
        "title": f"{Path(source).name}: {' and '.join(holdings)}",
        **settings_in(wishes.settings),
    }
    holder = label_holder(holdings, wishes)
    options = FrameOptions(
        target=target.name,
        parties=used,
        labels=holder,
        protocol=protocol.name,
        adversaries=_curious(list(holdings)[1:], holder, protocol),
        settings=decided,
    )
    scenario = read_scenario(raw_scenario(table.n_rows, options, source))
    told = remarks(scenario, table, found, holdings, ours=wishes.labels == "mine")
    return Draft(replace(scenario, folder=folder), tuple(told))


def label_holder(holdings: Mapping[str, object], wishes: Wishes) -> str:
    return list(holdings)[0 if wishes.labels == "mine" else 1]


def draft_text(draft: Draft, beside: Path) -> str:
    """As a file in the folder ``beside``, from which the path of the table starts then."""
    return scenario_text(placed_beside(draft.scenario, beside), draft.remarks)


def placed_beside(scenario: Scenario, folder: Path) -> Scenario:
    """As it reads in a file in that folder: the path of the table starts there."""
    data = scenario.data
    if not data.source.endswith(SUFFIXES) or not ((scenario.folder or Path()) / data.source).exists():
        return scenario  # a public name, or a file in the folder of all data
    place = os.path.relpath((scenario.folder or Path()) / data.source, folder)
    return replace(scenario, data=replace(data, source=Path(place).as_posix()))


def target_of(table: RawTable, found: Mapping[str, Surveyed]) -> Surveyed:
    if table.target is None:
        raise InputError(f"--target must name the column of labels; {table.source} has {listed(table.names)}")
    target = found[table.target.name]
    if target.n_distinct < 2:
        raise InputError(f"--target must name a column with different labels; {target.name!r} is {target.nature.value}")
    return target


def holdings_of(wishes: Wishes, names: Sequence[str]) -> dict[str, list[str]]:
    """Who holds what, ours first; who names no columns has those that nobody else names."""
    given = [_holding(text, names, wishes.target) for text in (wishes.mine or "", *(wishes.partners or ("",)))]
    if not any(columns for _, columns in given):
        raise InputError(
            f"--mine or --partner must say who holds which columns, such as --mine {_sample(names)}; the table has "
            f"{listed(tuple(names))}. On a terminal, fedleak init asks for them"
        )
    told = [OURS, *([PARTNER] if len(given) == 2 else [f"{PARTNER} {number}" for number in range(1, len(given))])]
    taken = {name for _, columns in given for name in columns}
    rest = [name for name in names if name not in taken]
    holdings = {name or own: columns or rest for (name, columns), own in zip(given, told, strict=True)}
    if len(holdings) < len(given):
        names = ", ".join(name or own for (name, _), own in zip(given, told, strict=True))
        raise InputError(f"parties must have different names; got {names}")
    return holdings


def _sample(names: Sequence[str]) -> str:
    return f'"{",".join(names[: max(1, len(names) // 2)][:3])}"'


def _holding(text: str, names: Sequence[str], target: str | None) -> tuple[str | None, list[str]]:
    """``bank=income,age`` or ``income,age``. A comma within quotation marks belongs to a name."""
    party, equals, rest = text.partition("=")
    named = bool(equals) and text not in names and _split(text)[0] not in names
    columns = _split(rest if named else text)
    for column in columns:
        if column == target:
            raise InputError(f"--mine and --partner must leave the target out; {column!r} is whose --labels says")
        if column not in names:
            raise InputError(f"--mine and --partner must name columns; got {column!r}{nearest_or_list(column, names)}")
    return (party.strip() if named else None), columns


def _split(text: str) -> list[str]:
    return [name.strip() for row in csv.reader([text], skipinitialspace=True) for name in row if name.strip()]


def _check_somebody_holds_something(
    holdings: Mapping[str, Sequence[str]], used: Mapping[str, Sequence[str]], found: Mapping[str, Surveyed]
) -> None:
    for party, names in holdings.items():
        if not used[party]:
            natures = ", ".join(f"{name} is {found[name].nature.value}" for name in names[:3]) or "none is left"
            raise InputError(f"{party} must hold a column of numbers or categories; {natures}")


def task_of(target: Surveyed) -> TaskName:
    if target.n_distinct == 2:
        return "binary"
    if target.nature is not Nature.NUMBER or target.n_distinct <= MOST_CLASSES:
        return "multiclass"
    return "regression"


def _protocol(wishes: Wishes, task: TaskName) -> type[Protocol]:
    by_default = TRAINED_BY[task] if wishes.phase == "train" else "vertical-prediction"
    protocol = PROTOCOLS.get(wishes.protocol or by_default)
    if Role.PASSIVE not in protocol.roles:
        raise InputError(
            f"--protocol must be one whose parties hold different columns of the same people; got {protocol.name}. "
            "For parties with different people write a scenario: docs/scenario.md"
        )
    return protocol


def _data_settings(
    table: RawTable,
    found: Mapping[str, Surveyed],
    used: Mapping[str, Sequence[str]],
    task: TaskName,
    protocol: type[Protocol],
) -> dict[str, object]:
    assert table.target is not None
    kept = [name for names in used.values() for name in names]
    about = [found[name] for name in (*kept, table.target.name)]
    marks = sorted({mark for column in about for mark in column.marks})
    decided: dict[str, object] = {"task": task, "scaling": "standard"}
    if task == "regression":
        decided["target_scaling"] = "standard"
    if protocol.name == "vertical-prediction":
        decided["scaling"] = "minmax"
    if any(column.nature is Nature.CATEGORY for column in about[:-1]):
        decided["categorical"] = "one-hot"
    if any(column.n_missing for column in about):
        decided["missing"] = _missing_policy(about[-1], protocol)
    dropped = [name for name in table.names if name not in kept]
    decided.update({name: value for name, value in (("drop", dropped), ("missing_marks", marks)) if value})
    return decided


def _fitting_batch(n_rows: int, protocol: type[Protocol]) -> dict[str, object]:
    """All rows that are trained on, where a batch has more by default."""
    usual = getattr(protocol.settings_type(), "batch_size", None)
    n_trained = n_rows - max(1, round(PartitionSpec.test_share * n_rows))
    return {"batch_size": n_trained} if isinstance(usual, int) and usual > n_trained else {}


def _missing_policy(target: Surveyed, protocol: type[Protocol]) -> MissingPolicy:
    """A label cannot be filled in."""
    if target.n_missing:
        return "drop"
    return "keep" if protocol.name == "secureboost" else "mean"


def _curious(partners: Sequence[str], holder: str, protocol: type[Protocol]) -> list[str]:
    """Every partner; of predictions whoever gets them, for nobody else sees anything."""
    if protocol.name == "vertical-prediction":
        return [holder]
    return [*partners, *(role.value for role in sorted(protocol.roles - DATA_ROLES))]
