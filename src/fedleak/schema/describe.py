"""Reference pages from the types that read and write: a row a key, with its type, unit, default and meaning."""

from __future__ import annotations

from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, get_type_hints

from fedleak.schema.codec import Codec, nowhere
from fedleak.schema.codec_choices import range_words
from fedleak.schema.codec_containers import Dialect, codec_for, is_required

REQUIRED = "required"


@dataclass(frozen=True)
class Row:
    key: str
    type: str
    unit: str
    default: str
    meaning: str  # a sentence, with the values that are allowed


def rows(kind: type, dialect: Dialect) -> tuple[Row, ...]:
    hints = get_type_hints(kind)
    found = [(field, codec_for(hints[field.name], dialect)) for field in fields(kind) if field.init]
    return tuple(_row(field, codec) for field, codec in found)


def section(title: str, kind: type, dialect: Dialect, *, level: int = 2, defaults: bool = True) -> str:
    """A heading and a table in Markdown."""
    titles = ("key", "type", *(("default",) if defaults else ()), "meaning")
    lines = [f"{'#' * level} {title}", "", f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for row in rows(kind, dialect):
        unit = f" ({row.unit})" if row.unit else ""
        cells = (f"`{row.key}`", row.type + unit, *((row.default,) if defaults else ()), row.meaning)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _row(field: Field[Any], codec: Codec) -> Row:
    told = field.metadata
    choices, least, most = told.get("choices", ()), told.get("least"), told.get("most")
    bounds = "" if least is most is None else f", {range_words(least, most)}"
    return Row(
        field.name,
        codec.words + bounds,
        told.get("unit", ""),
        _default(field, codec),
        _sentence(told.get("about", "")) + (f" One of: {', '.join(choices)}." if choices else ""),
    )


def _sentence(text: str) -> str:
    return text if not text or text.endswith(".") else f"{text}."


def _default(field: Field[Any], codec: Codec) -> str:
    if is_required(field):
        return REQUIRED
    if field.default_factory is not MISSING:
        return "see its table"
    value = codec.encode(field.default, nowhere)
    if value is None or value == []:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"
