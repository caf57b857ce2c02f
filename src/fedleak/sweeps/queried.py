"""Questions to a store: some of its findings, counts of them, two versions of the code beside each other, files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean

from fedleak.core.errors import InputError, MissingExtraError, UnknownNameError, listed, nearest_or_list
from fedleak.report import json_format
from fedleak.report.difference import Changed, Difference, difference
from fedleak.storage import file_writing
from fedleak.sweeps.store import Row, Store

MEANT = ("value", "baseline", "cells_recovered")  # figures that a group has the mean of


def chosen_code(store: Store, wanted: str | None) -> str:
    """By the beginning of its name, or of what stands behind the plus; the latest if None."""
    known = store.codes()
    if not known:
        raise InputError(f"the store must have results; {store.path} has none yet")
    if wanted is None:
        return known[-1]
    found = [code for code in known if code.startswith(wanted) or code.partition("+")[2].startswith(wanted)]
    if len(found) != 1:
        raise UnknownNameError(
            f"the version must be one that the store has; got {wanted!r}. Known: {listed(tuple(known))}"
        )
    return found[0]


def where(rows: Sequence[Row], words: Sequence[str]) -> list[Row]:
    """``words``: KEY=VALUE, all of which hold."""
    found = list(rows)
    for word in words:
        key, equals, wanted = (part.strip() for part in word.partition("="))
        if not equals:
            raise InputError(f"--where must be KEY=VALUE, such as attack=residual-sign; got {word!r}")
        _check_key(rows, key)
        found = [row for row in found if _text(row.get(key)) == wanted]
    return found


def by(rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """A row a group: how many findings, how many leaks, and the means of figures that were measured."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for key in keys:
        _check_key(rows, key)
    for row in rows:
        groups.setdefault(tuple(_text(row.get(key)) for key in keys), []).append(row)
    return [{**dict(zip(keys, labels, strict=True)), **_summary(group)} for labels, group in groups.items()]


def _summary(group: Sequence[Row]) -> Row:
    """Figures of different metrics have no mean."""
    metrics = {str(row["metric"]) for row in group if row["metric"] is not None}
    one = metrics.pop() if len(metrics) == 1 else None
    means: Row = {name: _mean([row[name] for row in group]) if one else None for name in MEANT}
    leaks = sum(row["outcome"] == "leak" for row in group)
    answered = sum(row["outcome"] in ("leak", "no_leak") for row in group)
    return {"findings": len(group), "decided": answered, "leaks": leaks, "metric": one, **means}


def _mean(values: Sequence[object]) -> float | None:
    measured = [float(value) for value in values if isinstance(value, int | float)]
    return fmean(measured) if measured else None


def _check_key(rows: Sequence[Row], key: str) -> None:
    known = tuple(dict.fromkeys(name for row in rows for name in row))
    if rows and key not in known:
        raise UnknownNameError(f"unknown key {key!r}{nearest_or_list(key, known)}")


def _text(value: object) -> str:
    return "none" if value is None else str(value)


@dataclass(frozen=True)
class Compared:
    """Cells that both versions have."""

    n_same: int  # to the byte
    n_other: int
    only_old: int
    only_new: int
    changes: tuple[tuple[Mapping[str, str], Changed], ...]  # of leaks, with the cell's setting

    def to_json(self) -> dict[str, object]:
        counts = {"same": self.n_same, "other": self.n_other, "only_old": self.only_old, "only_new": self.only_new}
        return {**counts, "changes": [{"setting": dict(at), **change.to_json()} for at, change in self.changes]}

    @property
    def leaks(self) -> Difference:
        return Difference(tuple(change for _, change in self.changes))


def compared(store: Store, old: str, new: str) -> Compared:
    before, after, settings = store.reports(old), store.reports(new), store.settings()
    both = [key for key in before if key in after]
    others = [key for key in both if before[key] != after[key]]
    changes = [
        (settings.get(key, {}), change)
        for key in others
        for change in difference(json_format.loads(before[key]), json_format.loads(after[key])).changes
    ]
    counts = (len(both) - len(others), len(others), len(before) - len(both), len(after) - len(both))
    return Compared(*counts, tuple(changes))


def export(rows: Sequence[Row], path: Path) -> None:
    """By the file's ending."""
    if path.suffix not in _FORMS:
        raise InputError(f"--to must end in {', '.join(_FORMS)}; got {path}")
    _FORMS[path.suffix](rows, path)


def _csv(rows: Sequence[Row], path: Path) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    file_writing.write_text(path, text.getvalue())


def _json(rows: Sequence[Row], path: Path) -> None:
    file_writing.write_text(path, json.dumps(rows, indent=1, allow_nan=False) + "\n")


def _parquet(rows: Sequence[Row], path: Path) -> None:
    import pandas as pd

    if find_spec("pyarrow") is None:
        raise MissingExtraError.of("pyarrow", "parquet", "a .parquet file")
    with file_writing.written_whole(path) as temporary:
        pd.DataFrame(list(rows)).to_parquet(temporary)


_FORMS: dict[str, Callable[[Sequence[Row], Path], None]] = {".csv": _csv, ".json": _json, ".parquet": _parquet}
