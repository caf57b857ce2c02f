"""``fedleak inspect``: what is in a transcript, from whomever it comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table as Grid

from fedleak.auditing.message_readings import is_encrypted, peculiarities
from fedleak.cli.console import plain_console
from fedleak.cli.output import say, write_json
from fedleak.cli.scan_lines import line_json, scanned, show_scan
from fedleak.core.errors import InputError, listed
from fedleak.core.payload import Array, CipherArray, IntegerArray, ModelSpec, Payload, Scalar, Table, Texts, Tree
from fedleak.core.transcript import Message
from fedleak.core.visible_text import visible_name
from fedleak.core.whole.run import Captured
from fedleak.protocols import vocabularies
from fedleak.storage.capture_and_truth import load_capture


def inspect_command(folder: Path, truth: Path | None, json: str | None) -> None:
    _check_is_one(folder)
    captured = load_capture(folder)
    summary = summary_of(captured)
    lines = None if truth is None else scanned(folder, captured, truth)
    if json is not None:
        write_json(summary if lines is None else {**summary, "plaintext_scan": list(map(line_json, lines))}, json)
    if json != "-":
        _show(captured)
        if lines is not None:
            show_scan(lines)


def _check_is_one(folder: Path) -> None:
    """The folder of an audit is told apart: which transcripts lie in it."""
    inside = [header.parent for pattern in ("*", "transcripts/*") for header in folder.glob(f"{pattern}/header.json")]
    if inside and not (folder / "header.json").exists():
        names = listed(tuple(sorted(str(place) for place in inside)))
        raise InputError(f"{folder} must be the folder of one transcript; got one that holds {names}")


@dataclass(frozen=True)
class Sent:
    """All messages of one step from one party to another, in order of appearance of their first."""

    step: str
    sender: str
    receiver: str
    count: int
    first: Payload

    def looked_at(self, known: Collection[str]) -> list[str]:
        """What is worth a look: that nobody knows what it means, and what needs no meaning."""
        return [*(() if self.step in known else ("no meaning known",)), *peculiarities(self.first)]


def _steps(captured: Captured) -> list[Sent]:
    counts: Counter[tuple[str, str, str]] = Counter()
    first: dict[tuple[str, str, str], Message] = {}
    for message in captured.transcript.messages:
        key = (message.step, message.sender, message.receiver)
        counts[key] += 1
        first.setdefault(key, message)
    return [Sent(*key, count, first[key].payload) for key, count in counts.items()]


def _known_steps() -> frozenset[str]:
    return frozenset(step.name for words in vocabularies() for step in words.steps)


def payload_words(payload: Payload) -> str:
    match payload:
        case Array(values):
            return f"{values.dtype} {_shape(values.shape)}"
        case CipherArray(_, scheme, data, shape, fraction_bits):
            given = [name for name in ("exponents", "signs") if getattr(payload, name) is not None]
            beside = f", {' and '.join(given)} in plaintext" if given else ""
            return f"{scheme} {_shape(shape)}, {data.shape[1]} bytes each, {fraction_bits} fraction bits{beside}"
        case IntegerArray(data, shape):
            return f"integers {_shape(shape)}, {data.shape[1]} bytes each"
        case Scalar(value):
            return repr(value)
        case Texts(values):
            return f"{len(values)} texts"
        case Table(columns, ids, _):
            return f"table of {len(ids)} rows, {len(columns)} columns"
        case ModelSpec(kind, _, arrays):
            return f"model {kind}, {len(arrays)} arrays"
        case Tree(items):
            return f"tree: {', '.join(items)}"


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) if shape else "single"


def _records(captured: Captured) -> dict[str, dict[str, int]]:
    return {party: dict(Counter(record.name for record in records)) for party, records in captured.locals.items()}


def summary_of(captured: Captured) -> dict[str, object]:
    facts, known = captured.transcript.facts, _known_steps()
    return {
        "protocol": facts.protocol,
        "defense": facts.defense,
        "parties": [{"name": p.name, "role": p.role.value, "n_features": p.n_features} for p in facts.parties],
        "messages": [
            {
                "step": sent.step,
                "sender": sent.sender,
                "receiver": sent.receiver,
                "count": sent.count,
                "first": payload_words(sent.first),
                "known": sent.step in known,
                "encrypted": is_encrypted(sent.first),
                "peculiarities": peculiarities(sent.first),
            }
            for sent in _steps(captured)
        ],
        "records": _records(captured),
    }


def _show(captured: Captured) -> None:
    facts = captured.transcript.facts
    console = plain_console()
    under = f", under {visible_name(facts.defense)}" if facts.defense else ""
    parties = ", ".join(f"{visible_name(party.name)} ({party.role.value})" for party in facts.parties)
    say(f"{visible_name(facts.protocol)}{under}: {parties}")
    grid = Grid("step", "from", "to", "messages", "the first one holds", box=None, pad_edge=False)
    for sent in _steps(captured):
        to = "everyone" if sent.receiver == "*" else sent.receiver
        grid.add_row(*map(visible_name, (sent.step, sent.sender, to, str(sent.count), payload_words(sent.first))))
    console.print(grid)
    known = _known_steps()
    for sent in _steps(captured):
        for told in sent.looked_at(known):
            say(visible_name(f"look at {sent.step} from {sent.sender}: {told}"))
    for party, names in _records(captured).items():
        kept = ", ".join(f"{visible_name(name)} ({count})" for name, count in names.items())
        say(f"{visible_name(party)} kept: {kept}")
    if not captured.locals:
        say("no party's own records are in it: attacks that need them would be skipped")
