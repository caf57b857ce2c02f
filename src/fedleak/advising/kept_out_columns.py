"""The owner of a table keeps the columns out that leak."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fedleak.auditing.scenario import Scenario
from fedleak.core.whole.federation import Federation
from fedleak.data.encoding import EncodedTable


def without_columns(
    scenario: Scenario, federation: Federation, table: EncodedTable, owner: str, leaking: Iterable[str]
) -> Scenario | None:
    """With columns by name; None where nothing would be left of the owner's, or where parties hold whole rows."""
    if scenario.partition.by not in ("columns", "ratio", "correlation"):
        return None
    held = _raw_columns(federation, table)
    wanted = set(leaking)
    gone = {raw for raw, encoded in held.get(owner, {}).items() if encoded & wanted}
    if not gone or len(gone) == len(held[owner]):
        return None
    parties = tuple(
        replace(
            one, columns=tuple(raw for raw in held.get(one.name, {}) if raw not in gone), n_columns=None, share=None
        )
        for one in scenario.parties
    )
    return replace(scenario, parties=parties, partition=replace(scenario.partition, by="columns", unassigned="drop"))


def _raw_columns(federation: Federation, table: EncodedTable) -> dict[str, dict[str, set[str]]]:
    """Of each party, its columns of the raw table, with the encoded ones behind each."""
    owners = {column: party.name for party in federation.parties for column in party.columns}
    held: dict[str, dict[str, set[str]]] = {}
    for raw in table.source_columns:
        encoded = {table.columns[position] for position in table.positions_of((raw,))}
        for owner in {owners[column] for column in encoded if column in owners}:
            held.setdefault(owner, {})[raw] = encoded
    return held
