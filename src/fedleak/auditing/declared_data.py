"""The federation that a scenario declares, made real: with its data, or empty where only theory is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from fedleak.auditing.scenario import PartySpec, Scenario, patches_of
from fedleak.core.errors import ScenarioError
from fedleak.core.facts import PartyFacts
from fedleak.core.steps import DATA_ROLES, Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.core.whole.randomness import public_stream
from fedleak.data import (
    ByColumns,
    ByCorrelation,
    ByRatio,
    ByRowRatio,
    EncodedTable,
    VerticalPartition,
    load_table,
    split_horizontal,
    split_vertical,
)
from fedleak.protocols import PROTOCOLS


def build_federation(scenario: Scenario, table: EncodedTable | None = None) -> Federation:
    """Load the table, unless it is here already, and deal it out."""
    table = table or load_table(scenario.data, folder=scenario.folder)
    if np.isnan(table.values).any() and not PROTOCOLS.get(scenario.protocol).takes_missing:
        raise ScenarioError(f'data.missing must be "mean" or "drop" for {scenario.protocol}; got missing cells kept')
    rng, test_share = public_stream(scenario.seed, "split"), scenario.partition.test_share
    if scenario.partition.by == "rows":
        members = split_horizontal(table, ByRowRatio(_row_shares(scenario)), test_share=test_share, rng=rng)
    else:
        labels_at = _label_holder(scenario).name
        partition = _partition(scenario, len(table.source_columns))
        members = split_vertical(table, partition, labels_at=labels_at, test_share=test_share, rng=rng)
    if PROTOCOLS.get(scenario.protocol).shaped_cells and table.pixels is not None:
        members = tuple(_in_shape(party, _shape_of(party, scenario, table)) for party in members)
    helpers = tuple(_empty_party(spec, 0) for spec in scenario.parties if spec.role not in DATA_ROLES)
    return Federation(
        scenario.protocol, members + helpers, scenario.settings, _max_row_norm(scenario, len(table.columns))
    )


def _shape_of(party: Party, scenario: Scenario, table: EncodedTable) -> tuple[int, ...] | None:
    """Of what a party holds of each picture; None where that is some pixels and no picture."""
    assert table.pixels is not None
    if scenario.partition.by == "patches":
        return patches_of(scenario).shape_of(party.name, table)
    return table.pixels.shape if len(party.columns) == table.pixels.n_cells else None


def _in_shape(party: Party, shape: tuple[int, ...] | None) -> Party:
    if shape is None:
        return party
    shaped = [
        None if part is None else replace(part, features=part.features.reshape(len(part.ids), *shape))
        for part in (party.train, party.test)
    ]
    assert shaped[0] is not None
    return replace(party, train=shaped[0], test=shaped[1])


def sketch_federation(scenario: Scenario) -> Federation:
    """The same parties without rows: what is known of a federation before anybody shows data."""
    facts = sketch_facts(scenario)
    n_rows = scenario.partition.train_rows or 0
    members = tuple(
        _empty_party(spec, party.n_features or 0, n_rows) for spec, party in zip(scenario.parties, facts, strict=True)
    )
    counts = [party.n_features for party in facts]
    known = [count for count in counts if count is not None]
    n_columns = sum(known) if len(known) == len(counts) else None
    return Federation(scenario.protocol, members, scenario.settings, _max_row_norm(scenario, n_columns))


def sketch_facts(scenario: Scenario) -> tuple[PartyFacts, ...]:
    """The parties as the scenario declares them; a number of columns that it leaves open is unknown."""
    patches = scenario.partition.by == "patches"
    pictures = PROTOCOLS.get(scenario.protocol).shaped_cells if patches else None
    return tuple(
        PartyFacts(spec.name, spec.role, _declared_columns(spec, scenario), pictures=pictures)
        for spec in scenario.parties
    )


def _data_parties(scenario: Scenario) -> list[PartySpec]:
    return [spec for spec in scenario.parties if spec.role in DATA_ROLES]


def _row_shares(scenario: Scenario) -> dict[str, float]:
    members = _data_parties(scenario)
    shares = {spec.name: spec.share for spec in members if spec.share is not None}
    if len(shares) < len(members):
        raise ScenarioError("federation.parties: partition by rows needs share for each party that holds rows")
    return shares


def _label_holder(scenario: Scenario) -> PartySpec:
    holders = [spec for spec in scenario.parties if spec.role is Role.ACTIVE]
    if len(holders) != 1:
        raise ScenarioError(f'federation.parties must have one party with role = "active"; got {len(holders)}')
    return holders[0]


def _partition(scenario: Scenario, n_available: int) -> VerticalPartition:
    members = _data_parties(scenario)
    by = scenario.partition.by
    if by == "columns":
        _check_named(members)
        return ByColumns({spec.name: spec.columns for spec in members}, scenario.partition.unassigned)
    if by == "patches":
        return patches_of(scenario)
    shares = _shares(members, by, n_available)
    return ByRatio(shares) if by == "ratio" else ByCorrelation(shares)


def _check_named(members: Sequence[PartySpec]) -> None:
    for spec in members:
        if spec.n_columns is not None or spec.share is not None:
            raise ScenarioError(
                f"federation.parties: {spec.name!r} must name its columns while federation.partition.by is "
                '"columns"; set by = "ratio" to deal columns out by number or share'
            )


def _shares(members: Sequence[PartySpec], by: str, n_available: int) -> dict[str, float]:
    counts = {spec.name: spec.n_columns for spec in members if spec.n_columns is not None}
    if len(counts) == len(members):
        if sum(counts.values()) != n_available:
            raise ScenarioError(
                f"federation.parties: n_columns must add up to the {n_available} columns of the table; got "
                f"{sum(counts.values())}. Use share for proportions, or leave columns out with data.drop"
            )
        return {name: count / sum(counts.values()) for name, count in counts.items()}
    shares = {spec.name: spec.share for spec in members if spec.share is not None}
    if len(shares) < len(members):
        raise ScenarioError(
            f"federation.parties: partition by {by} needs n_columns for each party, or share for each party"
        )
    return shares


def _declared_columns(spec: PartySpec, scenario: Scenario) -> int | None:
    """As many as the encoded table will have. A column of categories becomes several of zeros and ones: how many, and
    which columns are of categories, is in the cells, which nobody has read."""
    if spec.role not in DATA_ROLES:
        return 0
    count = len(spec.columns) if scenario.partition.by == "columns" else spec.n_columns
    return None if count and scenario.data.categorical == "one-hot" else count


def _empty_party(spec: PartySpec, n_columns: int, n_rows: int = 0) -> Party:
    """As wide and as long as is declared, and empty: what a defense makes of the sizes is known without any data."""
    labels = np.zeros(0) if spec.role is Role.ACTIVE else None
    rows = n_rows if spec.role in DATA_ROLES else 0
    nothing = Slice(np.arange(rows), np.broadcast_to(np.float64(0.0), (rows, n_columns)), labels)
    named = spec.columns if len(spec.columns) == n_columns else tuple(f"column {i}" for i in range(n_columns))
    return Party(spec.name, spec.role, named, nothing)


def _max_row_norm(scenario: Scenario, n_columns: int | None) -> float | None:
    """What the public preprocessing guarantees, whatever the data."""
    if scenario.data.scaling.endswith("max-row-norm"):
        return 1.0
    if scenario.data.scaling in ("minmax", "pixels") and n_columns is not None:
        return sqrt(n_columns)
    return None
