"""``fedleak results``: what a store of sweeps has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from fedleak.cli.console import table_console
from fedleak.cli.output import check_json_target, say, write_json
from fedleak.core.errors import ExitCode
from fedleak.sweeps.queried import by, chosen_code, compared, export, where
from fedleak.sweeps.store import Row, Store

NOT_SHOWN = ("key", "mode", "ci_low", "ci_high", "theory", "why")  # in a table; exports have them


def results_command(
    path: Path,
    words: Sequence[str],
    keys: Sequence[str],
    code: str | None,
    compare: str | None,
    to: Path | None,
    json: str | None,
) -> ExitCode:
    check_json_target(json)
    store = Store(path)
    version = chosen_code(store, code)
    if compare is not None:
        return _compare(store, chosen_code(store, compare), version, json)
    rows = where(store.findings(version), words)
    if keys:
        rows = by(rows, keys)
    if to is not None:
        export(rows, to)
    if json is not None:
        write_json({"store": str(store.path), "code": version, "codes": store.codes(), "rows": rows}, json)
    if json != "-" and to is None:
        table_console().print(_table(rows))
        others = [f"also of {other}" for other in store.codes() if other != version]
        say("; ".join([f"{len(rows)} rows of code {version}", *others]))
    return ExitCode.DONE


def _compare(store: Store, old: str, new: str, json: str | None) -> ExitCode:
    found = compared(store, old, new)
    if json is not None:
        write_json({"store": str(store.path), "old": old, "new": new, **found.to_json()}, json)
    if json != "-":
        say(f"{old} -> {new}: {found.n_same} cells the same to the byte, {found.n_other} not; {found.leaks.in_words()}")
        say(f"{found.only_old} cells of the first alone, {found.only_new} of the second alone")
        for setting, change in found.changes:
            at = ", ".join(f"{axis} = {label}" for axis, label in setting.items())
            say(f"{change.change.value}: {at}: {change.words}")
    return ExitCode.DONE


def _table(rows: Sequence[Row]) -> Table:
    names = [name for name in dict.fromkeys(key for row in rows for key in row) if name not in NOT_SHOWN]
    table = Table(*names, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in names))
    return table


def _cell(value: str | float | None) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
