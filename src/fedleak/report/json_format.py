"""A report as JSON, with or without true values, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from math import isfinite
from pathlib import Path

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import FileFormatError
from fedleak.core.finding import SCHEMA_VERSION, Exhibit, Finding, Report, RunSummary, Score
from fedleak.core.payload import ScalarValue
from fedleak.report.json_node import MAX_CHARACTERS, parse
from fedleak.report.json_reading import report_of
from fedleak.storage import file_writing


def redact(report: Report) -> Report:
    """The report without its exhibits, the only place that holds true values of a data owner, and without the run's
    key: together with a partner's view it takes noise and masks off."""
    findings = tuple(replace(finding, exhibit=None) for finding in report.findings)
    return replace(report, findings=findings, environment=_without_key(report.environment))


def _without_key(environment: Mapping[str, ScalarValue]) -> dict[str, ScalarValue]:
    """The command that repeats an audit names the key as well."""
    key = str(environment.get("run_key", ""))
    return {name: value for name, value in environment.items() if not key or key not in str(value)}


Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def to_json(report: Report) -> dict[str, Json]:
    return {
        "schema_version": SCHEMA_VERSION,
        "scenario": _json(report.scenario, "scenario"),
        "environment": _json(report.environment, "environment"),
        "runs": [_run(run) for run in report.runs],
        "findings": [_finding(finding) for finding in report.findings],
        "advice": list(report.advice),
        "for_other_protocols": list(report.for_other_protocols),
    }


def dumps(report: Report) -> str:
    return json.dumps(to_json(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def loads(text: str) -> Report:
    """The report again; whatever is wrong with the text raises one FileFormatError that names the place."""
    return report_of(parse(text))


def write(report: Report, path: Path) -> None:
    file_writing.write_text(path, dumps(report))


def read(path: Path) -> Report:
    try:
        size = path.stat().st_size
        if size > 4 * MAX_CHARACTERS:  # UTF-8 takes at most four bytes a character
            raise FileFormatError(f"{path} must be at most {4 * MAX_CHARACTERS:,} bytes; got {size:,}")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileFormatError(f"{path} must be a report that can be read; got: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} must be JSON in UTF-8; got other bytes") from None
    try:
        return loads(text)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None


def _run(run: RunSummary) -> Json:
    return {
        "defense": run.defense,
        "deviation": run.deviation,
        "utility": {name: _finite(value) for name, value in run.utility.items()},
        "seconds": _finite(run.seconds),
        "notes": list(run.notes),
    }


def _finding(finding: Finding) -> Json:
    return {
        "adversary": list(finding.adversary),
        "mode": finding.mode.value,
        "attack": finding.attack,
        "secret": {"kind": finding.secret.kind.value, "owner": finding.secret.owner},
        "defense": finding.defense,
        "outcome": finding.outcome.value,
        "why": finding.why,
        **_score(finding.score),
        "cells_recovered": None if finding.cells_recovered is None else _finite(finding.cells_recovered),
        "theory": {"verdict": finding.theory.verdict, "reasons": list(finding.theory.reasons)},
        "severity": finding.severity.label,
        "seconds": _finite(finding.seconds),
        "further_scores": [_score(score) for score in finding.further_scores],
        "evidence": _evidence(finding.evidence),
        "exhibit": None if finding.exhibit is None else _exhibit(finding.exhibit),
    }


def _score(score: Score | None) -> dict[str, Json]:
    if score is None:
        return dict.fromkeys(("metric", "value", "baseline", "better", "ci", "n"))
    return {
        "metric": score.metric,
        "value": float(score.value),
        "baseline": float(score.baseline),
        "better": score.better.value,
        "ci": [float(bound) for bound in score.ci],
        "n": int(score.n),
    }


def _evidence(pairs: tuple[tuple[str, str], ...]) -> Json:
    """An object; where a name comes twice its values are joined, so that none is lost."""
    joined: dict[str, Json] = {}
    for name, text in pairs:
        joined[name] = f"{joined[name]}; {text}" if name in joined else text
    return joined


def _exhibit(exhibit: Exhibit) -> Json:
    return {"true": _cells(exhibit.true), "guessed": _cells(exhibit.guessed)}


def _cells(array: FloatArray) -> Json:
    if array.ndim == 0:
        return _finite(float(array))
    return [_cells(part) for part in array]


def _finite(value: float) -> float | None:
    return float(value) if isfinite(value) else None


def _json(value: object, place: str) -> Json:
    """Plain JSON of a nested value; a type that JSON lacks is a mistake of the caller, named with its place."""
    match value:
        case Mapping():
            return {str(name): _json(member, f"{place}.{name}") for name, member in value.items()}
        case list() | tuple():
            return [_json(member, f"{place}[{index}]") for index, member in enumerate(value)]
        case Enum():
            return _json(value.value, place)
        case np.generic():
            return _json(value.item(), place)
        case float():
            return _finite(value)
        case None | bool() | int() | str():
            return value
    raise TypeError(f"{place} must be a JSON value; got {type(value).__name__}")
