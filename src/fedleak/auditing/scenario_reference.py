"""The reference page of scenarios, generated from the dataclasses that read them.

``python -m fedleak.auditing.scenario_reference`` prints docs/scenario.md.
"""

from __future__ import annotations

import sys

from fedleak.auditing.scenario import AdversarySpec, KnowledgeSpec, PartitionSpec, PartySpec
from fedleak.data.spec import DataSpec
from fedleak.defenses import DEFENSES
from fedleak.protocols import PROTOCOLS
from fedleak.schema.describe import section
from fedleak.schema.plain import TOML

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
    parts = [INTRODUCTION, section("`[data]`", DataSpec, TOML)]
    parts.append("## `[federation]`\n\n`protocol` names the protocol; its settings stand beside it.\n")
    parts += [
        section(f"Settings of `{plugin.name}`", plugin.settings_type, TOML, level=3)
        for plugin in PROTOCOLS.own
        if not plugin.replays
    ]
    parts.append(section("`[federation.partition]`", PartitionSpec, TOML))
    parts.append(section("`[[federation.parties]]`", PartySpec, TOML))
    parts.append(section("`[[adversary]]`", AdversarySpec, TOML))
    parts.append(section("`[adversary.knowledge]`", KnowledgeSpec, TOML))
    parts.append(
        "## `[[defense]]`\n\n`name` names the defense; its parameters stand beside it. Each gets a run of its own.\n"
    )
    parts += [section(f"Parameters of `{plugin.name}`", plugin, TOML, level=3) for plugin in DEFENSES.own]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(scenario_reference())
