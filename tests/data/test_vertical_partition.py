from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.core.errors import DataError
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Party
from fedleak.data import (
    ByColumns,
    ByCorrelation,
    ByRatio,
    EncodedTable,
    EncodingOptions,
    VerticalPartition,
    encode,
    from_arrays,
    from_pandas,
    split_vertical,
)
from fedleak.data.partition.by_correlation import absolute_correlation
from fedleak.data.partition.shares import apportion

PLAIN = EncodingOptions(scaling="none")


def table_of(n_rows: int, n_columns: int, seed: int = 5) -> EncodedTable:
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % 2
    return encode(from_arrays(rng.standard_normal((n_rows, n_columns)), labels), PLAIN)


def with_categories() -> EncodedTable:
    frame = pd.DataFrame({"age": [1, 5, 9], "job": ["x", "y", "z"], "pay": [0.5, 1.5, 0.0], "y": [0, 1, 0]})
    return encode(from_pandas(frame, "y"), EncodingOptions(scaling="none", categorical="one-hot"))


def reassembled(parties: tuple[Party, ...], table: EncodedTable) -> np.ndarray:
    """The table put together again from all parties' training and test rows."""
    whole = np.full(table.values.shape, np.nan)
    row_of = {int(row): i for i, row in enumerate(table.ids)}
    for party in parties:
        columns = [table.columns.index(name) for name in party.columns]
        for part in (party.train, party.test):
            if part is not None:
                rows = [row_of[int(row)] for row in part.ids]
                whole[np.ix_(rows, columns)] = part.features
    return whole


def check_whole(parties: tuple[Party, ...], table: EncodedTable) -> None:
    held = [name for party in parties for name in party.columns]
    assert sorted(held) == sorted(table.columns)
    assert np.array_equal(reassembled(parties, table), table.values)
    first = parties[0]
    for party in parties:
        assert np.array_equal(party.train.ids, first.train.ids)  # aligned rows
        assert party.train.features.shape == (len(first.train.ids), len(party.columns))


shares_strategy = (
    st.lists(st.integers(0, 10), min_size=1, max_size=5)
    .filter(any)
    .map(lambda weights: {f"p{i}": weight / sum(weights) for i, weight in enumerate(weights)})
)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    shares=shares_strategy,
    n_extra=st.integers(0, 8),
    kind=st.sampled_from(["table", "shuffled", "together", "apart"]),
    test_share=st.sampled_from([0.0, 0.2, 0.5]),
    stratified=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_parties_hold_the_table_once_and_whole(
    shares: dict[str, float], n_extra: int, kind: str, test_share: float, stratified: bool, seed: int
) -> None:
    holders = [party for party, share in shares.items() if share > 0]
    idle = [party for party, share in shares.items() if share == 0]
    if len(idle) > 1:
        shares = {party: share for party, share in shares.items() if party not in idle[1:]}
    labels_at = idle[0] if idle else holders[-1]
    table = table_of(12, len(holders) + n_extra)
    partitions: dict[str, VerticalPartition] = {
        "table": ByRatio(shares),
        "shuffled": ByRatio(shares, order="shuffled"),
        "together": ByCorrelation(shares),
        "apart": ByCorrelation(shares, correlated="apart"),
    }
    parties = split_vertical(
        table,
        partitions[kind],
        labels_at=labels_at,
        test_share=test_share,
        stratified=stratified,
        rng=np.random.default_rng(seed),
    )
    check_whole(parties, table)
    assert [party.name for party in parties] == list(shares)
    assert all(bool(party.columns) == (shares[party.name] > 0) for party in parties)
    n_test = 0 if parties[0].test is None else len(parties[0].test.ids)
    assert n_test == round(12 * test_share)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(shares=shares_strategy, n_items=st.integers(5, 200))
def test_counts_follow_the_shares(shares: dict[str, float], n_items: int) -> None:
    counts = apportion(n_items, shares, "columns")
    assert sum(counts.values()) == n_items
    assert all((counts[party] == 0) == (share == 0) for party, share in shares.items())
    if all(share * n_items >= 1 for share in shares.values() if share > 0):
        assert all(abs(counts[party] - share * n_items) < 1 + 1e-9 for party, share in shares.items())


def test_exact_shares_give_exact_counts() -> None:
    assert apportion(30, {"bank": 0.4, "fintech": 0.6}, "columns") == {"bank": 12, "fintech": 18}
    assert apportion(3, {"a": 0.98, "b": 0.01, "c": 0.01}, "columns") == {"a": 1, "b": 1, "c": 1}


def test_labels_are_at_the_active_party_alone(rng: np.random.Generator) -> None:
    table = table_of(10, 4)
    bank, fintech = split_vertical(
        table, ByRatio({"bank": 0.5, "fintech": 0.5}), labels_at="fintech", test_share=0.3, rng=rng
    )
    assert (bank.role, fintech.role) == (Role.PASSIVE, Role.ACTIVE)
    assert bank.train.labels is None
    assert bank.test is not None
    assert bank.test.labels is None
    assert table.labels is not None
    assert fintech.train.labels is not None
    assert np.array_equal(fintech.train.labels, table.labels[fintech.train.ids])
    assert not set(bank.train.ids) & set(bank.test.ids)
    assert list(bank.train.ids) == sorted(bank.train.ids)


def test_ids_are_row_numbers_of_the_source(rng: np.random.Generator) -> None:
    frame = pd.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": [5, 6, 7, 8], "y": [0, 1, 1, 0]})
    table = encode(from_pandas(frame, "y"), EncodingOptions(scaling="none", missing="drop"))
    parties = split_vertical(table, ByColumns({"one": ("b",), "two": ("a",)}), labels_at="one", rng=rng)
    assert parties[0].train.ids.tolist() == [0, 2, 3]
    assert parties[0].train.features.ravel().tolist() == [5, 7, 8]


def test_columns_by_name_in_the_order_given(rng: np.random.Generator) -> None:
    table = with_categories()
    parties = split_vertical(table, ByColumns({"shop": ("pay", "job"), "bank": ("age",)}), labels_at="bank", rng=rng)
    assert parties[0].columns == ("pay", "job=x", "job=y", "job=z")
    check_whole(parties, table)


def test_a_party_with_labels_alone(rng: np.random.Generator) -> None:
    table = with_categories()
    holder, shop = split_vertical(
        table, ByColumns({"holder": (), "shop": ("age", "job", "pay")}), labels_at="holder", rng=rng
    )
    assert holder.columns == ()
    assert holder.train.features.shape == (3, 0)
    assert holder.train.labels is not None
    check_whole((holder, shop), table)


def test_unassigned_columns_only_on_request(rng: np.random.Generator) -> None:
    table = with_categories()
    with pytest.raises(DataError, match=r'no party holds "job", "pay". .*unassigned = "drop"'):
        split_vertical(table, ByColumns({"bank": ("age",)}), labels_at="bank", rng=rng)
    (bank,) = split_vertical(table, ByColumns({"bank": ("age",)}, unassigned="drop"), labels_at="bank", rng=rng)
    assert bank.columns == ("age",)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"bank": ("age", "pay"), "shop": ("job", "pay")}, r"'pay' is given to 'bank' and 'shop'"),
        ({"bank": ("age", "age"), "shop": ("job", "pay")}, r"'age' is given to 'bank' twice"),
        ({"bank": ("agee", "pay"), "shop": ("job",)}, r"columns of party 'bank' .*; got 'agee'. Did you mean \"age\""),
        ({"bank": ("zzzz", "pay"), "shop": ("job",)}, r'Known: "age", "job", "pay"'),
        ({"bank": ("age", "pay", "y"), "shop": ("job",)}, r"'y' is the target"),
        ({"bank": ("age", "pay", "job"), "shop": ()}, r"party 'shop' must hold at least one column"),
    ],
)
def test_wrong_columns(columns: dict[str, tuple[str, ...]], message: str, rng: np.random.Generator) -> None:
    with pytest.raises(DataError, match=message):
        split_vertical(with_categories(), ByColumns(columns), labels_at="bank", rng=rng)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({}, r"at least one party"),
        ({"a": 0.5, "b": 0.6}, r"must sum to 1; got 1.1 \(a 0.5, b 0.6\)"),
        ({"a": 1.5, "b": -0.5}, r"share of party 'a' must be from 0 to 1; got 1.5"),
        ({"a": float("nan")}, r"must be from 0 to 1; got nan"),
    ],
)
def test_wrong_shares(shares: dict[str, float], message: str) -> None:
    for partition in (ByRatio, ByCorrelation):
        with pytest.raises(DataError, match=message):
            partition(shares)


def test_more_parties_than_columns(rng: np.random.Generator) -> None:
    equal = {f"p{i}": 0.25 for i in range(4)}
    with pytest.raises(DataError, match=r"4 parties with a share must have columns for each; got 3"):
        split_vertical(table_of(4, 3), ByRatio(equal), labels_at="p0", rng=rng)


def test_a_passive_party_with_share_zero(rng: np.random.Generator) -> None:
    with pytest.raises(DataError, match=r"party 'b' must hold at least one column, or the labels"):
        split_vertical(table_of(4, 3), ByRatio({"a": 1.0, "b": 0.0}), labels_at="a", rng=rng)


def test_who_holds_the_labels(rng: np.random.Generator) -> None:
    table, halves = table_of(4, 2), ByRatio({"bank": 0.5, "shop": 0.5})
    with pytest.raises(DataError, match=r'labels_at must be a party; got .bnak.. Did you mean "bank"'):
        split_vertical(table, halves, labels_at="bnak", rng=rng)
    with pytest.raises(DataError, match=r"labels_at must name the party that holds the labels, one of bank, shop"):
        split_vertical(table, halves, labels_at=None, rng=rng)
    unlabelled = encode(from_arrays(np.eye(2)), EncodingOptions(task="none"))
    with pytest.raises(DataError, match=r"labels_at must be left out"):
        split_vertical(unlabelled, halves, labels_at="bank", rng=rng)
    parties = split_vertical(unlabelled, halves, labels_at=None, rng=rng)
    assert {party.role for party in parties} == {Role.PASSIVE}


@pytest.mark.parametrize("order", ["sorted", "randm"])
def test_wrong_modes(order: str, rng: np.random.Generator) -> None:
    with pytest.raises(DataError, match=r"order must be one of"):
        split_vertical(table_of(4, 2), ByRatio({"a": 1.0}, order=order), labels_at="a", rng=rng)  # type: ignore[arg-type]


def test_shuffling_follows_the_generator() -> None:
    table, halves = table_of(4, 20), ByRatio({"a": 0.5, "b": 0.5}, order="shuffled")
    first, again, other = (
        split_vertical(table, halves, labels_at="a", rng=np.random.default_rng(seed))[0].columns for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def correlated_table() -> EncodedTable:
    """Four pairs of nearly proportional columns, the pairs independent."""
    rng = np.random.default_rng(11)
    base = rng.standard_normal((200, 4))
    twins = base[:, [3, 1, 0, 2]] * -2 + 0.01 * rng.standard_normal((200, 4))
    values = np.column_stack([base, twins])
    names = ["a", "b", "c", "d", "d'", "b'", "a'", "c'"]
    return encode(from_arrays(values, np.arange(200) % 2, names), EncodingOptions())


def test_correlated_columns_stay_together_or_part(rng: np.random.Generator) -> None:
    table = correlated_table()
    shares = {"p": 0.25, "q": 0.75}
    together = split_vertical(table, ByCorrelation(shares), labels_at="p", rng=rng)
    apart = split_vertical(table, ByCorrelation(shares, correlated="apart"), labels_at="p", rng=rng)
    owners = [{name: party.name for party in parties for name in party.columns} for parties in (together, apart)]
    split_pairs = [sum(owner[name] != owner[name + "'"] for name in "abcd") for owner in owners]
    assert split_pairs == [0, 2]  # with two columns, p can part two pairs at most


def test_a_constant_column_correlates_with_nothing() -> None:
    values = np.column_stack([np.arange(5.0), np.full(5, 0.1), -np.arange(5.0)])
    correlation = absolute_correlation(encode(from_arrays(values), EncodingOptions(task="none", scaling="none")))
    assert np.allclose(correlation, [[1, 0, 1], [0, 0, 0], [1, 0, 1]])


def test_correlation_of_raw_columns_takes_their_strongest_encoded_pair() -> None:
    rng = np.random.default_rng(2)
    job = rng.integers(0, 3, 300)
    frame = pd.DataFrame({"job": np.array(["x", "y", "z"])[job], "is_z": (job == 2) * 1.0, "noise": rng.random(300)})
    table = encode(from_pandas(frame), EncodingOptions(task="none", categorical="one-hot"))
    correlation = absolute_correlation(table)
    assert correlation.shape == (3, 3)
    assert correlation[0, 1] == pytest.approx(1)
    assert correlation[0, 2] < 0.3
    expected = abs(np.corrcoef(table.values[:, 3], table.values[:, 4])[0, 1])
    assert correlation[1, 2] == pytest.approx(expected)


def test_a_single_column_by_correlation(rng: np.random.Generator) -> None:
    (only,) = split_vertical(table_of(4, 1), ByCorrelation({"a": 1.0}), labels_at="a", rng=rng)
    assert only.columns == ("x0",)
