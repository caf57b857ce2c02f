"""A report as JSON, with or without true values, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from fedleak.core.errors import FileFormatError
from fedleak.core.payload import ScalarValue
from fedleak.core.report import DATA_DIGEST, FILE_DIGEST, Report
from fedleak.core.visible_text import visible_json
from fedleak.report.json_keys import SCHEMA_VERSION, ReportKeys, ReportKeys1
from fedleak.report.json_translation import keys_of, report_of, report_of_version_1
from fedleak.schema import strict_json
from fedleak.schema.codec import Bounds, Reading
from fedleak.schema.codec_containers import as_object, decode, encode
from fedleak.schema.plain import JSON
from fedleak.schema.strict_json import Malformed
from fedleak.storage import file_writing

MAX_CHARACTERS = 16 * 2**20
INTEGER_BITS = 1024  # more than any figure has; a scenario may hold a large seed
BOUNDS = Bounds(n_levels=40, name_chars=2**20, text_chars=2**20)
ROOT = "the report"

KeysT = TypeVar("KeysT")


def redact(report: Report) -> Report:
    """The report without its exhibits, the only place that holds true values of a data owner, and without the run's
    key: together with a partner's view it takes noise and masks off. Digests of the data go too: whoever knows all but
    one cell finds that cell by them."""
    findings = tuple(replace(finding, exhibit=None) for finding in report.findings)
    told = {name: value for name, value in report.environment.items() if name not in (DATA_DIGEST, FILE_DIGEST)}
    environment = _without_key(told, report.run_key)
    return replace(report, findings=findings, environment=environment, run_key=None)


def _without_key(environment: Mapping[str, ScalarValue], run_key: str | None) -> dict[str, ScalarValue]:
    """The command that repeats an audit names the key as well."""
    return {name: value for name, value in environment.items() if not run_key or run_key not in str(value)}


def to_json(report: Report) -> dict[str, object]:
    try:
        return as_object(encode(ReportKeys, keys_of(report), JSON))
    except Malformed as error:  # a mistake of the caller, named with its place
        raise TypeError(error.told(ROOT)) from error


def dumps(report: Report) -> str:
    return visible_json(json.dumps(to_json(report), indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def loads(text: str) -> Report:
    """The report again; whatever is wrong with the text raises one FileFormatError that names the place."""
    if len(text) > MAX_CHARACTERS:
        raise FileFormatError(f"{ROOT} must be at most {MAX_CHARACTERS:,} characters long; got {len(text):,}")
    try:
        value = strict_json.parse(text, integer_bits=INTEGER_BITS)
        if _version(value) == 1:
            return report_of_version_1(_keys(ReportKeys1, value))
        return report_of(_keys(ReportKeys, value))
    except Malformed as error:
        raise FileFormatError(error.told(ROOT)) from error


def _keys(kind: type[KeysT], value: object) -> KeysT:
    return decode(kind, value, JSON, Reading(BOUNDS))


def _version(value: object) -> int:
    """Before all else: a newer file may well have other keys, and its reader should hear why."""
    found = as_object(value)
    if "schema_version" not in found:
        raise Malformed("the key 'schema_version' is missing")
    version = found["schema_version"]
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise Malformed("must be a whole number of at least 1").within("schema_version")
    if version > SCHEMA_VERSION:
        newer = "a newer fedleak wrote this report, so read it with that version"
        raise Malformed(f"must be at most {SCHEMA_VERSION}; got {version}: {newer}").within("schema_version")
    return version


def write(report: Report, path: Path) -> None:
    file_writing.write_text(path, dumps(report), private=True)


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
