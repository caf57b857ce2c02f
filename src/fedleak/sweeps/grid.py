"""A grid in TOML: a base scenario, and lists of what its keys are in turn. Each combination is a cell."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from pathlib import Path

from fedleak.auditing.means import REPEATS
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import read_scenario
from fedleak.core.errors import InputError, ScenarioError, nearest_or_list
from fedleak.schema.strict_json import shown
from fedleak.sweeps.cell import Cell

KEYS = ("base", "seed", "repeats", "grid", "together")
MAX_CELLS = 100_000
NO_DEFENSE = "none"
ATTACK = "attack"
Change = Mapping[str, object]  # values by dotted keys of a scenario


@dataclass(frozen=True)
class Choice:
    """One value of an axis: what it is called, and what it changes."""

    label: str
    changes: Change


@dataclass(frozen=True)
class Refused:
    """A combination that is no scenario, such as a defense of another protocol."""

    setting: Mapping[str, str]
    why: str


@dataclass(frozen=True)
class Grid:
    base: Mapping[str, object]
    folder: Path  # where relative paths of data start: beside the base scenario
    seed: int
    repeats: int
    axes: Mapping[str, tuple[Choice, ...]]

    def cells(self) -> tuple[list[Cell], list[Refused]]:
        """All combinations, the last axis fastest. A choice that fits nowhere is a mistake, and told as one."""
        cells, refused = list[Cell](), list[Refused]()
        for choices in product(*self.axes.values()):
            setting = {axis: choice.label for axis, choice in zip(self.axes, choices, strict=True)}
            try:
                cells.append(Cell(self._scenario(choices), setting, self.seed, self.repeats))
            except InputError as error:
                refused.append(Refused(setting, str(error)))
        if not cells:
            raise ScenarioError(f"grid: no cell is a scenario: {refused[0].why}")
        fitting = {place for cell in cells for place in cell.setting.items()}
        for one in refused:
            for place in one.setting.items():
                if place not in fitting:
                    raise ScenarioError(f"grid: {place[0]} = {place[1]} fits no cell: {one.why}")
        return cells, refused

    def _scenario(self, choices: Sequence[Choice]) -> Scenario:
        raw = deepcopy(dict(self.base))
        changes = [change for choice in choices for change in choice.changes.items()]
        for key, value in sorted(changes, key=lambda change: _turn(change[0])):
            _change(raw, key, value)
        return replace(read_scenario(raw), folder=self.folder)


def load_grid(path: Path) -> Grid:
    """Read a file; every error is one line that names the file."""
    try:
        return _read_grid(_toml(path), path.parent)
    except InputError as error:
        raise ScenarioError(f"{path}: {error}") from error


def _toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(f"the file cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ScenarioError(f"not valid TOML: {error}") from error


def _read_grid(raw: Mapping[str, object], folder: Path) -> Grid:
    for key in raw:
        if key not in KEYS:
            raise ScenarioError(f"unknown key {key!r}{nearest_or_list(key, KEYS)}")
    base, folder = _base(raw.get("base"), folder)
    axes = dict(_together(raw.get("together", {})))
    for key, values in _table(raw.get("grid", {}), "grid").items():
        if key in axes:
            raise ScenarioError(f"an axis must have one list of choices; {key!r} is in grid and in together")
        axes[key] = tuple(_choice(key, value) for value in _listed(values, f"grid.{key}"))
    n_cells = prod(map(len, axes.values())) if axes else 0
    if not 1 <= n_cells <= MAX_CELLS:
        raise ScenarioError(f"grid must have 1 to {MAX_CELLS:,} cells, from lists in [grid]; got {n_cells:,}")
    _check_apart(axes)
    return Grid(base, folder, _whole(raw, "seed", 0, 0), _whole(raw, "repeats", REPEATS, 1), axes)


def _check_apart(axes: Mapping[str, tuple[Choice, ...]]) -> None:
    """Of two axes that change one key the later would win, and cells would be called what they are not."""
    changed_by: dict[str, str] = {}
    for axis, choices in axes.items():
        for key in dict.fromkeys(key for one in choices for key in one.changes):
            if key in changed_by:
                raise ScenarioError(
                    f"a key must be changed by one axis; {key!r} is by {changed_by[key]!r} and {axis!r}"
                )
            changed_by[key] = axis


def _base(raw: object, folder: Path) -> tuple[Mapping[str, object], Path]:
    if isinstance(raw, str):
        path = folder / raw
        try:
            return _toml(path), path.parent
        except ScenarioError as error:
            raise ScenarioError(f"base: {path}: {error}") from error
    if isinstance(raw, dict):
        return raw, folder
    raise ScenarioError(f'base must be a scenario: base = "scenario.toml", or a table [base]; got {shown(raw)}')


def _whole(raw: Mapping[str, object], key: str, default: int, least: int) -> int:
    value = raw.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ScenarioError(f"{key} must be a whole number from {least} on; got {shown(value)}")
    return value


def _table(raw: object, name: str) -> dict[str, object]:
    if not isinstance(raw, dict):
        raise ScenarioError(f"{name} must be a table; got {shown(raw)}")
    return raw


def _listed(values: object, name: str) -> list[object]:
    if not isinstance(values, list) or not values:
        raise ScenarioError(
            f'{name} must be a list with something in it, its key in quotes ("data.source"); got {shown(values)}'
        )
    return values


def _together(raw: object) -> Iterator[tuple[str, tuple[Choice, ...]]]:
    """Keys that change with one another, a table [[together.AXIS]] a choice; its name is the key ``name``."""
    for axis, values in _table(raw, "together").items():
        choices = []
        for position, value in enumerate(_listed(values, f"together.{axis}")):
            changes = dict(_table(value, f"together.{axis}[{position}]"))
            label = changes.pop("name", None)
            if not isinstance(label, str) or not label:
                raise ScenarioError(
                    f"together.{axis}[{position}].name must be a name for this choice; got {shown(label)}"
                )
            choices.append(Choice(label, changes))
        yield axis, tuple(choices)


def _choice(key: str, value: object) -> Choice:
    """The short words of a grid: an adversary by its party, an attack and a defense by its name."""
    label = _label(value)
    if key == "defense":
        named = [] if value == NO_DEFENSE else [{"name": value} if isinstance(value, str) else value]
        return Choice(label, {"defense": named})
    if key == "adversary":
        parties = {"parties": [value] if isinstance(value, str) else value}
        return Choice(label, {"adversary": [value if isinstance(value, dict) else parties]})
    return Choice(label, {key: value})


def _label(value: object) -> str:
    if isinstance(value, Mapping) and "name" in value:
        return f"{value['name']}({_label({key: item for key, item in value.items() if key != 'name'})})"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_label(item)}" for key, item in value.items())
    return "+".join(map(_label, value)) if isinstance(value, list) else str(value)


def _turn(key: str) -> tuple[bool, int]:
    """Whatever the order of the axes: whole tables before keys in them, adversaries before what they try."""
    return key == ATTACK, key.count(".")


def _change(raw: dict[str, object], key: str, value: object) -> None:
    """``attack`` is one for every adversary; any other key is that of a scenario, with dots."""
    if key == ATTACK:
        for adversary in _of_tables(raw.get("adversary")):
            adversary["attacks"] = [value]
        return
    *tables, last = key.split(".")
    place = raw
    for name in tables:
        inner = place.setdefault(name, {})
        if not isinstance(inner, dict):
            raise ScenarioError(f"grid: {key} must be the key of a table of the scenario; {name} is none")
        place = inner
    place[last] = deepcopy(value)


def _of_tables(found: object) -> list[dict[str, object]]:
    return [table for table in found if isinstance(table, dict)] if isinstance(found, list) else []
