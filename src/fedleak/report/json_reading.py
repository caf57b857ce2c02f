"""From JSON nodes to a report: each function reads one type and trusts nothing."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.errors import FileFormatError
from fedleak.core.finding import (
    SCHEMA_VERSION,
    Better,
    Exhibit,
    Finding,
    Mode,
    Outcome,
    Report,
    RunSummary,
    Score,
    Severity,
    Theory,
)
from fedleak.report.json_node import Node

REPORT_KEYS = ("schema_version", "scenario", "environment", "runs", "findings", "advice")
FOREIGN_KEY = "for_other_protocols"  # later than the others: a report may lack it
RUN_KEYS = ("defense", "deviation", "utility", "seconds", "notes")
SCORE_KEYS = ("metric", "value", "baseline", "better", "ci", "n")
FINDING_KEYS = (
    *("adversary", "mode", "attack", "secret", "defense", "outcome", "why"),
    *SCORE_KEYS,
    *("cells_recovered", "theory", "severity", "seconds", "further_scores", "evidence", "exhibit"),
)
MAX_AXES = 4  # of an exhibit: images, height, width, channels


def report_of(node: Node) -> Report:
    _check_version(node)
    fields = node.fields(REPORT_KEYS, optional=[FOREIGN_KEY])
    return Report(
        scenario=_mapping(fields["scenario"]),
        environment=MappingProxyType(
            {name: member.scalar() for name, member in fields["environment"].members().items()}
        ),
        runs=tuple(_run(item) for item in fields["runs"].items()),
        findings=tuple(_finding(item) for item in fields["findings"].items()),
        advice=_texts(fields["advice"]),
        for_other_protocols=_texts(fields[FOREIGN_KEY]) if FOREIGN_KEY in fields else (),
    )


def _check_version(node: Node) -> None:
    """Before all else: a newer file may well have other keys, and its reader should hear why."""
    members = node.members()
    if "schema_version" not in members:
        raise FileFormatError(f"{node.place} must have the key 'schema_version'; got an object without it")
    version = members["schema_version"].whole()
    if version > SCHEMA_VERSION:
        raise FileFormatError(
            f"schema_version must be at most {SCHEMA_VERSION}; got {version}: "
            "a newer fedleak wrote this report, so read it with that version"
        )
    if version < 1:
        members["schema_version"].fail("a whole number of at least 1")


def _run(node: Node) -> RunSummary:
    fields = node.fields(RUN_KEYS)
    return RunSummary(
        defense=_optional_text(fields["defense"]),
        deviation=_optional_text(fields["deviation"]),
        utility=MappingProxyType({name: _figure(member) for name, member in fields["utility"].members().items()}),
        seconds=_seconds(fields["seconds"]),
        notes=_texts(fields["notes"]),
    )


def _finding(node: Node) -> Finding:
    fields = node.fields(FINDING_KEYS)
    secret, theory = fields["secret"].fields(("kind", "owner")), fields["theory"].fields(("verdict", "reasons"))
    cells = fields["cells_recovered"]
    evidence = fields["evidence"].members()
    return Finding(
        adversary=_names(fields["adversary"]),
        mode=fields["mode"].choice(Mode),
        attack=fields["attack"].text(),
        secret=Secret(secret["kind"].choice(SecretKind), secret["owner"].text()),
        defense=_optional_text(fields["defense"]),
        outcome=fields["outcome"].choice(Outcome),
        why=fields["why"].text(),
        theory=Theory(theory["verdict"].text(), _texts(theory["reasons"])),
        severity=_severity(fields["severity"]),
        score=_score({name: fields[name] for name in SCORE_KEYS}),
        further_scores=tuple(_further_score(item) for item in fields["further_scores"].items()),
        cells_recovered=None if cells.is_null else cells.number_from(0, 1),
        evidence=tuple((name, member.text()) for name, member in evidence.items()),
        exhibit=None if fields["exhibit"].is_null else _exhibit(fields["exhibit"]),
        seconds=_seconds(fields["seconds"]),
    )


def _further_score(node: Node) -> Score:
    score = _score(dict(node.fields(SCORE_KEYS)))
    if score is None:
        node.fail("a score with a metric")
    return score


def _score(fields: dict[str, Node]) -> Score | None:
    if fields["metric"].is_null:
        for name in SCORE_KEYS:
            if not fields[name].is_null:
                fields[name].fail("null where metric is null")
        return None
    return Score(
        metric=fields["metric"].text(),
        value=fields["value"].number(),
        baseline=fields["baseline"].number(),
        better=fields["better"].choice(Better),
        ci=_interval(fields["ci"]),
        n=fields["n"].whole(),
    )


def _interval(node: Node) -> tuple[float, float]:
    bounds = node.items()
    if len(bounds) != 2:
        node.fail("a list of two numbers, low and high")
    low, high = (bound.number() for bound in bounds)
    if low > high:
        raise FileFormatError(f"{node.place} must be [low, high] with low <= high; got [{low:g}, {high:g}]")
    return low, high


def _figure(node: Node) -> float:
    """A cell; null is one that was not guessed."""
    return float("nan") if node.is_null else node.number()


def _severity(node: Node) -> Severity:
    by_label = {severity.label: severity for severity in Severity}
    if node.text() not in by_label:
        node.fail(f"one of {', '.join(by_label)}")
    return by_label[node.text()]


def _exhibit(node: Node) -> Exhibit:
    fields = node.fields(("true", "guessed"))
    true, guessed = _cells(fields["true"]), _cells(fields["guessed"])
    if true.shape != guessed.shape:
        raise FileFormatError(f"{node.place} must hold as many guessed values as true ones; got other shapes")
    return Exhibit(true, guessed)


def _cells(node: Node) -> FloatArray:
    node.items()
    _check_cells(node, 1)
    try:
        return np.array(node.value, dtype=np.float64)  # null becomes NaN
    except (ValueError, OverflowError):
        node.fail("numbers in rows of one length")


def _check_cells(node: Node, axes: int) -> None:
    for item in node.items():
        if isinstance(item.value, list):
            if axes == MAX_AXES:
                item.fail(f"a number at this depth: an exhibit has at most {MAX_AXES} axes")
            _check_cells(item, axes + 1)
        else:
            _figure(item)


def _seconds(node: Node) -> float:
    return float("nan") if node.is_null else node.number_from(0)


def _names(node: Node) -> tuple[str, ...]:
    names = _texts(node)
    if not names:
        node.fail("a list of at least one name")
    return names


def _texts(node: Node) -> tuple[str, ...]:
    return tuple(item.text() for item in node.items())


def _optional_text(node: Node) -> str | None:
    return None if node.is_null else node.text()


def _mapping(node: Node) -> MappingProxyType[str, object]:
    return MappingProxyType({name: member.value for name, member in node.members().items()})
