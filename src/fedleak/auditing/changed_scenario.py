"""A scenario with some of its keys changed, as ``--set`` says it, read as strictly as any other."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fedleak.auditing.frames import OF_THE_DATA, OF_THE_PARTITION, ON_TOP
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import read_scenario, scenario_json
from fedleak.core.errors import InputError
from fedleak.schema.codec_containers import as_object


def changed(scenario: Scenario, words: Sequence[str]) -> Scenario:
    """``words``: KEY=VALUE, for any key of a scenario's tables of the data, of the federation and of its partition."""
    if not words:
        return scenario
    settings = settings_in(words)
    found = scenario_json(scenario)
    parts = {name: as_object(found[name]) for name in ("data", "settings", "partition")}
    top: dict[str, object] = {name: found[name] for name in ON_TOP}
    for name, value in settings.items():
        _place(name, top, parts)[name] = value
    if "max_rows" in settings and "train_rows" not in settings:
        parts["partition"].pop("train_rows", None)  # it was that of more rows
    raw = {
        **top,
        "data": parts["data"],
        "federation": {
            "protocol": scenario.protocol,
            **parts["settings"],
            "partition": parts["partition"],
            "parties": found["parties"],
        },
        "adversary": found["adversaries"],
        "defense": found["defenses"],
    }
    return replace(read_scenario(as_object(_without_nothing(raw))), folder=scenario.folder)


def settings_in(words: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set must be KEY=VALUE, such as batch_size=64; got {word!r}")
        try:
            found[key.strip()] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            found[key.strip()] = text.strip()  # a word needs no quotation marks
    return found


def _place(name: str, top: dict[str, object], parts: Mapping[str, dict[str, object]]) -> dict[str, object]:
    """The table that has a key of that name; of a name that none has, reading it says so."""
    if name in ON_TOP:
        return top
    return parts["data" if name in OF_THE_DATA else "partition" if name in OF_THE_PARTITION else "settings"]


def _without_nothing(value: object) -> object:
    """TOML knows no null: what is left open is left out."""
    if isinstance(value, Mapping):
        return {str(key): _without_nothing(item) for key, item in value.items() if item is not None}
    return [_without_nothing(item) for item in value] if isinstance(value, list) else value
