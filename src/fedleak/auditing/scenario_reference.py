"""The reference page of scenarios, generated from the dataclasses that read them.

``python -m fedleak.auditing.scenario_reference`` prints docs/scenario.md.
"""

from __future__ import annotations

import sys
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import Any, get_type_hints

from fedleak.auditing.scenario import AdversarySpec, KnowledgeSpec, PartitionSpec, PartySpec
from fedleak.data.spec import DataSpec
from fedleak.defenses import DEFENSES
from fedleak.protocols import PROTOCOLS

INTRODUCTION = """# The scenario file

A scenario is a TOML file. `fedleak audit SCENARIO.toml` runs it, `fedleak check SCENARIO.toml` applies the theory
alone. The built-in one, `src/fedleak/auditing/scenarios/bank_and_fintech.toml`, is a good start.

This page is generated from the code (`make docs`).

At the top of the file stand `title` (a text) and `seed` (a whole number, 0 by default). The seed fixes what is public:
which rows are held out or predicted, the order of batches, which cells an adversary knows, the bootstrap of the
intervals. First weights, noise, masks and what attacks draw come from the run key, a fresh one for every audit; the
report names it, and `fedleak audit --run-key KEY` repeats an audit.
"""


def scenario_reference() -> str:
    parts = [INTRODUCTION, _section("`[data]`", DataSpec)]
    parts.append("## `[federation]`\n\n`protocol` names the protocol; its settings stand beside it.\n")
    parts += [
        _section(f"Settings of `{plugin.name}`", plugin.settings_type, level=3)
        for plugin in PROTOCOLS
        if not plugin.replays
    ]
    parts.append(_section("`[federation.partition]`", PartitionSpec))
    parts.append(_section("`[[federation.parties]]`", PartySpec))
    parts.append(_section("`[[adversary]]`", AdversarySpec))
    parts.append(_section("`[adversary.knowledge]`", KnowledgeSpec))
    parts.append(
        "## `[[defense]]`\n\n`name` names the defense; its parameters stand beside it. Each gets a run of its own.\n"
    )
    parts += [_section(f"Parameters of `{plugin.name}`", plugin, level=3) for plugin in DEFENSES]
    return "\n".join(parts)


def _section(title: str, spec: type, level: int = 2) -> str:
    hints = get_type_hints(spec)
    lines = [f"{'#' * level} {title}", "", "| key | type | default | meaning |", "|---|---|---|---|"]
    for field in fields(spec):
        meaning = field.metadata.get("about", "")
        unit = f" ({field.metadata['unit']})" if field.metadata.get("unit") else ""
        choices = field.metadata.get("choices", ())
        allowed = f" One of: {', '.join(choices)}." if choices else ""
        row = f"| `{field.name}` | {_type_name(hints[field.name])}{unit} | {_default(field)} | {meaning}.{allowed} |"
        lines.append(row.replace("..", "."))
    return "\n".join([*lines, ""])


def _type_name(kind: Any) -> str:
    words = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}
    if isinstance(kind, type):
        if issubclass(kind, Enum):
            return " or ".join(str(member.value) for member in kind)
        return words.get(kind.__name__, "table") if kind.__name__ != "tuple" else "list"
    text = str(kind)
    if text.startswith("tuple["):
        return "list of texts"
    if text.startswith("typing.Literal"):
        return "text"
    return " or ".join(words.get(part.strip(), part.strip()) for part in text.split("|") if part.strip() != "None")


def _default(field: Field[Any]) -> str:
    if field.default is MISSING:
        return "required" if field.default_factory is MISSING else "see its table"
    value = field.default
    if isinstance(value, Enum):
        value = value.value
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


if __name__ == "__main__":
    sys.stdout.write(scenario_reference())
