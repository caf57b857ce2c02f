"""A scenario as a file that somebody will read and change: each key under a line that says what it means."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from fedleak.auditing.scenario import AdversarySpec, PartitionSpec, PartySpec, Scenario
from fedleak.auditing.scenario_file import scenario_json
from fedleak.core.visible_text import is_seen, visible
from fedleak.data.spec import DataSpec
from fedleak.protocols import PROTOCOLS
from fedleak.schema.codec_containers import as_object
from fedleak.schema.describe import REQUIRED, Row, rows
from fedleak.schema.plain import TOML

WIDTH = 110


def scenario_text(scenario: Scenario, remarks: Sequence[str] = ()) -> str:
    """Reading it gives the scenario again; all settings of the protocol are in it, of the rest what is not as usual."""
    found = scenario_json(scenario)
    protocol = PROTOCOLS.get(scenario.protocol)
    lines = [line for remark in remarks for line in _comment(remark)] + [""] * bool(remarks)
    lines += [f"title = {toml_value(scenario.title)}", f"seed = {scenario.seed}"]
    lines += ["", "[data]", *_table(DataSpec, found["data"])]
    lines += ["", "[federation]", f"protocol = {toml_value(scenario.protocol)}"]
    lines += list(_table(protocol.settings_type, found["settings"], usual=True))
    lines += ["", "[federation.partition]", *_table(PartitionSpec, found["partition"])]
    for kind, name, specs in (
        (PartySpec, "federation.parties", found["parties"]),
        (AdversarySpec, "adversary", found["adversaries"]),
    ):
        assert isinstance(specs, list)
        for position, spec in enumerate(specs):
            lines += ["", f"[[{name}]]", *_table(kind, spec, told=position == 0)]
    assert isinstance(found["defenses"], list)
    for defense in found["defenses"]:
        lines += ["", "[[defense]]", *(f"{key} = {toml_value(value)}" for key, value in defense.items())]
    if not found["defenses"]:
        lines += ["", "# [[defense]]: each gets a run of its own; fedleak list defenses names them"]
    return "\n".join([*lines, ""])


def _table(kind: type, spec: object, *, usual: bool = False, told: bool = True) -> Iterator[str]:
    """``usual``: with keys whose value is the default. ``told``: with a line above each."""
    given = as_object(spec)
    for row in sorted(rows(kind, TOML), key=lambda row: row.default != REQUIRED):
        value = given[row.key]
        if value is None or value == [] or (not usual and _shown(value) == row.default):
            continue
        if told:
            yield from _comment(_meaning(row))
        yield f"{row.key} = {toml_value(value)}"


def _shown(value: object) -> str:
    """As a reference page writes a default."""
    return f"`{toml_value(value)}`" if isinstance(value, str | bool) else f"`{value}`"


def _meaning(row: Row) -> str:
    unit = f" ({row.unit})" if row.unit else ""
    return row.meaning.removesuffix(".") + unit


def _comment(text: str) -> Iterator[str]:
    for line in wrap(visible(text), WIDTH, break_long_words=False, break_on_hyphens=False):
        yield f"# {line}"


def toml_value(value: object) -> str:
    """JSON's texts, numbers and lists are TOML's. Signs that are obeyed or not seen are escapes, as everywhere."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {toml_value(item)}' for key, item in value.items() if item is not None)} }}"
    return "".join(map(_escaped, json.dumps(value, ensure_ascii=False)))


def _escaped(character: str) -> str:
    if is_seen(character) or "\ud800" <= character <= "\udfff":  # half of a pair is no text in TOML either
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
