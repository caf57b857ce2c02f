"""The page about captures, from vocabularies, rules of inference and a trace of what attacks read.

``scripts/captures_page.py`` traces and prints docs/captures.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields

from fedleak.attacks import ATTACKS
from fedleak.core.facts import Facts, ProtocolFacts
from fedleak.core.steps import RecordName, Role
from fedleak.protocols import vocabularies
from fedleak.protocols.captured.inference import RULES

INTRODUCTION = """# Captured runs

A run of your own, in whatever framework, becomes an audit in two moves: record it, then
`fedleak audit --transcript capture [--truth truth]`.

## Record

`fedleak.recorder.Recorder` needs numpy and the standard library alone, so it runs inside the framework's environment.
`examples/captured_training.py` is a whole loop; the lines that it takes are these:

```python
from fedleak.recorder import EVERYONE, Ciphertexts, Recorder

with Recorder("capture", {"bank": "active", "fintech": "passive"}, learning_rate=0.1, approximation="taylor",
              initialisation="zero", max_row_norm=1.0, score_noise=0.0) as recorder:
    recorder.record("fintech", "features", rows, ids=ids)
    for number, batch in enumerate(batches):
        recorder.message("train.batch", "bank", EVERYONE, ids[batch], round=number)
        recorder.message("train.encrypted-residual", "bank", "fintech", Ciphertexts(numbers, key="bank"), round=number)
        recorder.record("fintech", "gradient", gradient, round=number)
        recorder.record("fintech", "weights", weights, round=number)
```

- Messages are what went over the wire; records are what a party has or computed. Record the parties that you want in
  the adversary's place. Whoever has the capture has everything in it: keep it like the data.
- A payload is a numpy array, a number, a text or texts, a dictionary of these, or `Ciphertexts` (whole numbers with the
  name of their key).
- Rounds count from 0; setup is round -1. The weights of round t are those after it, those of setup the first ones.
- The gradient is that of the loss alone, a mean over the batch; take a penalty off before you record it.
- Names are those below; other names are refused unless you declare them (`own_steps=`, `own_records=`).
- Public facts are keywords; `family=` names a family of protocols, which has further ones. What you leave out is
  unknown, and attacks promise less. `score_noise=0.0` says that nobody adds noise: say it only if it is so.
- The folder appears when the block ends. A loop that fails leaves nothing.

`Recorder(..., truth="truth")` and `recorder.truth("bank", rows, ids=ids, labels=labels)` write what really was into a
folder of its own. A CSV file does as well: a column `id`, perhaps `label`, and the parties' columns, as `bank:income`.

## Audit

One passive adversary for each party. Without a truth a claim is `unchecked`: how many values the attack gives and how
sure it says it is, without a score. A claim with a proof in the view alone (equations to spare that agree on one
solution, a ciphertext that opens, a table that is the only one) is red and counts for `--fail-on`; any other claim
leaves `--fail-on` inconclusive (exit code 4). A proof rests on what the names and the public facts say. One capture is
one run: what is a matter of chance says so.

Residuals, partial scores, inner products and weights are checked where the truth has the columns and the transcript the
weights that they follow from.

In the tables below, an attack reads what it looked at in its positive control.
"""


def captures_reference(reads: Mapping[str, frozenset[str]]) -> str:
    """``reads``: by attack, the steps and names of records whose content it looked at."""
    parts = [INTRODUCTION, _steps(reads), _records(reads), _facts(), _capabilities()]
    return "\n".join([*parts, "This page is generated (`python scripts/captures_page.py`).\n"])


def names_read(words: Iterable[str]) -> frozenset[str]:
    """Steps and records as the page lists them: a record of each partner under one name."""
    known = [record for vocabulary in vocabularies() for record in vocabulary.records]
    return frozenset(next((listed(record) for record in known if record.covers(word)), word) for word in words)


def listed(record: RecordName) -> str:
    return f"{record.name}…" if record.for_each else record.name


def _steps(reads: Mapping[str, frozenset[str]]) -> str:
    found = dict.fromkeys(step for vocabulary in vocabularies() for step in vocabulary.steps)
    rows = [(f"`{step.name}`", _roles(step.roles), step.about, _readers(step.name, reads)) for step in found]
    return _table("Steps", ("step", "who acts", "what it holds", "attacks that read its messages"), rows)


def _records(reads: Mapping[str, frozenset[str]]) -> str:
    found: dict[str, dict[RecordName, None]] = {}  # two families may have a record of one name
    for record in (record for vocabulary in vocabularies() for record in vocabulary.records):
        found.setdefault(listed(record), {})[record] = None
    rows = [
        (
            f"`{name}`",
            _roles(frozenset(role for record in alike for role in record.roles)),
            " or ".join(dict.fromkeys(record.payload.__name__ for record in alike)),
            "; or ".join(dict.fromkeys(map(_about, alike))),
            _readers(name, reads),
        )
        for name, alike in found.items()
    ]
    return _table("Records", ("record", "who keeps it", "form", "what it is", "attacks that read it"), rows)


def _about(record: RecordName) -> str:
    return f"{record.about}, one for each {record.for_each}" if record.for_each else record.about


NOT_GIVEN = {"protocol", "parties", "own", "adversary", "capabilities"}


def _facts() -> str:
    families = dict.fromkeys(facts for vocabulary in vocabularies() for facts in vocabulary.facts)
    rows = [("any", _names(Facts))]
    rows += [(f"`{family.kind}`", _names(family)) for family in families]
    return _table("Public facts", ("family", "facts"), rows)


def _names(kind: type[Facts] | type[ProtocolFacts]) -> str:
    return ", ".join(f"`{field.name}`" for field in fields(kind) if field.name not in NOT_GIVEN)


def _capabilities() -> str:
    rows = []
    for rule in RULES:
        needing = [attack.name for attack in ATTACKS if rule.capability in attack.requires]
        rows.append((rule.capability.value, rule.source, _listed(needing)))
    head = ("what a coalition has", "inferred from", "attacks that need it")
    return _table("What a transcript gives to whom", head, rows)


def _readers(name: str, reads: Mapping[str, frozenset[str]]) -> str:
    return _listed(attack for attack in ATTACKS.names if name in reads.get(attack, frozenset()))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _roles(roles: frozenset[Role]) -> str:
    return ", ".join(role.value for role in Role if role in roles)


def _table(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"## {title}", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows), ""])
