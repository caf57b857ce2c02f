"""From parsed TOML to frozen dataclasses, with errors that say where and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from fedleak.core.errors import FedleakError, ScenarioError
from fedleak.core.hints import nearest_or_list

SpecT = TypeVar("SpecT")


def read_spec(cls: type[SpecT], raw: object, place: str) -> SpecT:
    """Build a dataclass from a TOML table; unknown keys, wrong types and missing keys are errors."""
    table = as_table(raw, place)
    known: dict[str, Field[Any]] = {field.name: field for field in fields(cls) if field.init}  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise ScenarioError(f"{place}: unknown key {key!r}{nearest_or_list(key, known)}")
    hints = get_type_hints(cls)
    values = {key: _convert(value, hints[key], f"{place}.{key}") for key, value in table.items()}
    for name, field in known.items():
        if name not in values and _is_required(field):
            raise ScenarioError(
                f"{place}: the key {name!r} is missing; {field.metadata.get('about', 'it is required')}"
            )
        choices = field.metadata.get("choices", ())
        if name in values and choices and values[name] not in choices:
            hint = nearest_or_list(str(values[name]), choices)
            raise ScenarioError(f"{place}.{name} must be one of {', '.join(choices)}; got {values[name]!r}{hint}")
    try:
        return cls(**values)
    except FedleakError as error:
        raise ScenarioError(f"{place}: {error}") from error


def as_table(raw: object, place: str) -> Mapping[str, object]:
    if not isinstance(raw, Mapping):
        raise ScenarioError(f"{place} must be a table; got {_name_of(raw)}")
    return raw


def as_tables(raw: object, place: str) -> Sequence[Mapping[str, object]]:
    if not isinstance(raw, list):
        raise ScenarioError(f"{place} must be an array of tables, written [[{place}]]; got {_name_of(raw)}")
    return [as_table(item, f"{place}[{index}]") for index, item in enumerate(raw)]


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _convert(value: object, wanted: Any, place: str) -> object:
    origin = get_origin(wanted)
    if origin in (Union, UnionType):
        return _convert_union(value, wanted, place)
    if is_dataclass(wanted) and isinstance(wanted, type):
        return read_spec(wanted, value, place)
    if origin is tuple:
        if not isinstance(value, list):
            raise _wrong(place, "a list", value)
        return tuple(_convert(item, get_args(wanted)[0], f"{place}[{i}]") for i, item in enumerate(value))
    if origin is Literal:
        if value not in get_args(wanted):
            hint = nearest_or_list(str(value), [str(choice) for choice in get_args(wanted)])
            choices = ", ".join(str(choice) for choice in get_args(wanted))
            raise ScenarioError(f"{place} must be one of {choices}; got {value!r}{hint}")
        return value
    return _convert_plain(value, wanted, place)


def _convert_union(value: object, wanted: Any, place: str) -> object:
    members = [member for member in get_args(wanted) if member is not NoneType]
    for member in members:
        try:
            return _convert(value, member, place)
        except ScenarioError:
            continue
    raise _wrong(place, " or ".join(_name_of_type(member) for member in members), value)


def _convert_plain(value: object, wanted: Any, place: str) -> object:
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(wanted, type) and issubclass(wanted, StrEnum):
        if value not in [member.value for member in wanted]:
            hint = nearest_or_list(str(value), [member.value for member in wanted])
            raise ScenarioError(f"{place} must be one of {', '.join(wanted)}; got {value!r}{hint}")
        return wanted(value)
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise _wrong(place, _name_of_type(wanted), value)
    return value


def _wrong(place: str, wanted: str, value: object) -> ScenarioError:
    return ScenarioError(f"{place} must be {wanted}; got {_name_of(value)} {value!r}")


def _name_of(value: object) -> str:
    return _name_of_type(type(value))


def _name_of_type(kind: Any) -> str:
    names = {
        int: "a whole number",
        float: "a number",
        str: "a text",
        bool: "true or false",
        dict: "a table",
        list: "a list",
    }
    return names.get(kind, getattr(kind, "__name__", str(kind)))
