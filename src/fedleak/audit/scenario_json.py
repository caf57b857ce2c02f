"""A scenario as JSON values, every default filled in, for the report."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum

from fedleak.audit.scenario import Scenario
from fedleak.core.defense import Defense


def scenario_json(scenario: Scenario) -> dict[str, object]:
    return {field.name: _json(getattr(scenario, field.name)) for field in fields(scenario) if field.name != "folder"}


def _json(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [_json(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        named = {"name": value.name} if isinstance(value, Defense) else {}
        return {**named, **{field.name: _json(getattr(value, field.name)) for field in fields(value)}}
    return value
