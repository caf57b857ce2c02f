from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.core.errors import DataError
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Party
from fedleak.data import (
    ByLabelSkew,
    ByPatches,
    ByRowCount,
    ByRowRatio,
    EncodedTable,
    EncodingOptions,
    HorizontalPartition,
    ImageSet,
    encode,
    from_arrays,
    split_holdout,
    split_horizontal,
    split_images,
)


def table_of(n_rows: int, n_classes: int = 3) -> EncodedTable:
    rng = np.random.default_rng(9)
    labels = np.arange(n_rows) % n_classes
    return encode(from_arrays(rng.random((n_rows, 4)), labels), EncodingOptions(task="multiclass", scaling="none"))


def images_of(n: int, height: int, width: int) -> ImageSet:
    pixels = np.random.default_rng(4).integers(0, 256, (n, height, width, 3), dtype=np.uint8)
    return ImageSet("test", pixels, np.arange(n) % 2, np.arange(100, 100 + n))


def check_rows(parties: tuple[Party, ...], table: EncodedTable) -> None:
    """Every row is at one party, once, with its values and its label."""
    assert table.labels is not None
    parts = [part for party in parties for part in (party.train, party.test) if part is not None]
    ids = np.concatenate([part.ids for part in parts])
    assert sorted(ids.tolist()) == table.ids.tolist()
    for part in parts:
        assert np.array_equal(part.features, table.values[part.ids])
        assert part.labels is not None
        assert np.array_equal(part.labels, table.labels[part.ids])


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    n_parties=st.integers(1, 5),
    kind=st.sampled_from(["ratio", "in order", "count", "skew"]),
    test_share=st.sampled_from([0.0, 0.25]),
    stratified=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_row_is_at_one_party(n_parties: int, kind: str, test_share: float, stratified: bool, seed: int) -> None:
    table = table_of(60)
    names = tuple(f"p{i}" for i in range(n_parties))
    weights = {name: (i + 1) / (n_parties * (n_parties + 1) / 2) for i, name in enumerate(names)}
    partitions: dict[str, HorizontalPartition] = {
        "ratio": ByRowRatio(weights),
        "in order": ByRowRatio(weights, order="table"),
        "count": ByRowCount(names),
        "skew": ByLabelSkew(names, concentration=1.0, min_rows=2),
    }
    parties = split_horizontal(
        table, partitions[kind], test_share=test_share, stratified=stratified, rng=np.random.default_rng(seed)
    )
    check_rows(parties, table)
    assert [party.name for party in parties] == list(names)
    assert {party.role for party in parties} == {Role.ACTIVE}
    assert all(party.columns == table.columns for party in parties)
    assert all((party.test is None) == (test_share == 0) for party in parties)


def test_counts_and_ratios(rng: np.random.Generator) -> None:
    table = table_of(10)
    counts = [len(p.train.ids) for p in split_horizontal(table, ByRowCount(("a", "b", "c")), rng=rng)]
    assert sorted(counts) == [3, 3, 4]
    in_order = split_horizontal(table, ByRowRatio({"a": 0.3, "b": 0.7}, order="table"), rng=rng)
    assert in_order[0].train.ids.tolist() == [0, 1, 2]


def test_a_low_concentration_skews_labels_and_a_high_one_does_not() -> None:
    table = table_of(3000)

    def largest_class_share(concentration: float) -> float:
        partition = ByLabelSkew(("a", "b", "c"), concentration=concentration)
        parties = split_horizontal(table, partition, rng=np.random.default_rng(1))
        shares = []
        for party in parties:
            assert party.train.labels is not None
            shares.append(np.bincount(party.train.labels, minlength=3).max() / len(party.train.ids))
        return float(np.mean(shares))

    assert largest_class_share(0.05) > 0.7
    assert largest_class_share(1000.0) < 0.4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"concentration": 0.0}, r"concentration must be above 0"),
        ({"concentration": float("inf")}, r"concentration must be above 0 and finite"),
        ({"min_rows": 0}, r"min_rows must be at least 1"),
        ({"parties": ()}, r"at least one party"),
        ({"parties": ("a", "a")}, r"party names must differ"),
    ],
)
def test_wrong_skews(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        ByLabelSkew(**{"parties": ("a", "b"), **changes})  # type: ignore[arg-type]


def test_impossible_skews(rng: np.random.Generator) -> None:
    with pytest.raises(DataError, match=r"min_rows must leave rows for all; got 6 .* 2 parties and 10 rows"):
        split_horizontal(table_of(10), ByLabelSkew(("a", "b"), min_rows=6), rng=rng)
    with pytest.raises(DataError, match=r"draws with 1e-06 did not. Raise it"):
        split_horizontal(table_of(10, 2), ByLabelSkew(("a", "b", "c"), concentration=1e-6), rng=rng)


def test_skew_and_strata_need_classes(rng: np.random.Generator) -> None:
    real = encode(from_arrays(np.eye(4), np.array([0.5, 1.5, 2.5, 3.5])), EncodingOptions(task="regression"))
    bare = encode(from_arrays(np.eye(4)), EncodingOptions(task="none"))
    with pytest.raises(DataError, match=r"label skew must have classes"):
        split_horizontal(real, ByLabelSkew(("a", "b")), rng=rng)
    with pytest.raises(DataError, match=r"label skew must have labels"):
        split_horizontal(bare, ByLabelSkew(("a", "b")), rng=rng)
    with pytest.raises(DataError, match=r"a stratified split must have classes"):
        split_horizontal(real, ByRowCount(("a", "b")), test_share=0.5, stratified=True, rng=rng)
    assert {p.role for p in split_horizontal(bare, ByRowCount(("a", "b")), rng=rng)} == {Role.PASSIVE}


def test_a_party_without_rows(rng: np.random.Generator) -> None:
    with pytest.raises(DataError, match=r"party 'b' must hold at least one row"):
        split_horizontal(table_of(6), ByRowRatio({"a": 1.0, "b": 0.0}), rng=rng)
    with pytest.raises(DataError, match=r"3 parties with a share must have rows for each; got 2"):
        split_horizontal(table_of(2, 2), ByRowCount(("a", "b", "c")), rng=rng)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    classes=st.lists(st.integers(0, 3), min_size=2, max_size=60),
    share=st.floats(0.01, 0.99),
    seed=st.integers(0, 1000),
)
def test_strata_keep_their_mix(classes: list[int], share: float, seed: int) -> None:
    rows = np.arange(len(classes)) + 10
    labels = np.array(classes)
    train, test = split_holdout(rows, share, rng=np.random.default_rng(seed), classes=labels)
    assert sorted([*train, *test]) == rows.tolist()
    assert len(train) > 0
    assert len(test) > 0
    realised = len(test) / len(rows)
    for label in set(classes):
        exact = classes.count(label) * realised
        assert abs(np.sum(labels[test - 10] == label) - exact) < 1 + 1e-9


def test_holdout_bounds(rng: np.random.Generator) -> None:
    for share in (-0.1, 1.0, float("nan")):
        with pytest.raises(DataError, match=r"test_share must be at least 0 and below 1"):
            split_holdout(np.arange(4), share, rng=rng)
    with pytest.raises(DataError, match=r"a single row"):
        split_holdout(np.arange(1), 0.5, rng=rng)


def test_images_among_parties_keep_shape_and_ids(rng: np.random.Generator) -> None:
    images = images_of(6, 4, 4)
    parties = split_horizontal(images, ByRowCount(("a", "b"), order="table"), rng=rng)
    assert parties[1].train.features.shape == (3, 4, 4, 3)
    assert parties[1].train.ids.tolist() == [103, 104, 105]
    assert parties[1].facts.n_features == 48


def test_patches_put_together_are_the_images(rng: np.random.Generator) -> None:
    images = images_of(5, 5, 6)
    workers = ("nw", "ne", "sw", "se")
    parties = split_images(images, ByPatches(workers), labels_at="se", test_share=0.4, rng=rng)
    patches = {party.name: party.train.features for party in parties}
    whole = np.concatenate(
        [
            np.concatenate([patches["nw"], patches["ne"]], axis=2),
            np.concatenate([patches["sw"], patches["se"]], axis=2),
        ],
        axis=1,
    )
    rows = parties[0].train.ids - 100
    assert np.array_equal(whole, images.pixels[rows] / 255)
    assert sorted(name for party in parties for name in party.columns) == sorted(images.columns)
    assert parties[0].columns[0] == "r0c0ch0"
    assert [party.role for party in parties] == [Role.PASSIVE] * 3 + [Role.ACTIVE]
    assert parties[3].test is not None
    assert parties[3].test.labels is not None
    assert parties[0].test is not None
    assert len(parties[0].test.ids) == 2


def test_a_label_holder_without_a_patch(rng: np.random.Generator) -> None:
    parties = split_images(images_of(3, 4, 4), ByPatches(("boss", "l", "r"), 1, 2), labels_at="boss", rng=rng)
    boss, left, right = parties
    assert boss.columns == ()
    assert boss.train.features.size == 0
    assert boss.train.labels is not None
    assert left.train.features.shape == right.train.features.shape == (3, 4, 2, 3)


def test_wrong_grids(rng: np.random.Generator) -> None:
    with pytest.raises(DataError, match=r"parties must be 4, one for each patch of 2 x 2.*; got 3"):
        ByPatches(("a", "b", "c"))
    with pytest.raises(DataError, match=r"at least one patch"):
        ByPatches(("a",), 0, 1)
    with pytest.raises(DataError, match=r"a pixel for each patch"):
        split_images(images_of(2, 1, 4), ByPatches(tuple("abcd")), labels_at="a", rng=rng)
    unlabelled = ImageSet("test", np.zeros((2, 2, 2, 1), dtype=np.uint8), None, np.arange(2))
    with pytest.raises(DataError, match=r"parties must be 4 for images without labels; got 5"):
        split_images(unlabelled, ByPatches(tuple("abcde")), labels_at=None, rng=rng)
