"""Partners that answer inconsistently, numbers that do not fit, settings that cannot be: one clear error each."""

from __future__ import annotations

import numpy as np
import pytest

from boosted_runs import boosted, with_labels
from federations import run
from fedleak.core.errors import InputError, PlaintextRangeError, ProtocolError
from fedleak.core.payload import Array, Scalar, Tree
from fedleak.core.whole.hooks import Hook, HookKind
from fedleak.models.boosting.growth import Gradients
from fedleak.models.boosting.packed_gradients import Layout, Opened, layout_for, plaintexts, sums_in
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings

TWO = {"bank": 1, "fintech": 4}


def changed(step, name: str, change, party: str = "fintech") -> Hook:
    """A party sends something else in one place of a message."""

    def act(message: Tree, _local, _rng) -> Tree:
        return Tree({**message.items, name: change(message.items[name])})

    return Hook(step, HookKind.SEND, party, act)


@pytest.mark.parametrize(
    ("hook", "why"),
    [
        (
            changed(boosting.ROUTING, "left", lambda a: Array(~a.values)),
            "fintech must route rows at node 0 as the sums",
        ),
        (
            changed(boosting.ROUTING, "left", lambda a: Array(a.values[:-1])),
            "a direction for each of 60 rows; got bool",
        ),
        (changed(boosting.ROUTING, "left", lambda a: Array(a.values * 1.0)), "a direction for each of 60 rows; got fl"),
        (changed(boosting.ROUTING, "left", lambda _: Scalar(1)), "a direction for each of 60 rows; got Scalar"),
        (changed(boosting.ROUTING, "rows", lambda a: Array(a.values + 1)), "must be rows that both parties hold"),
        (changed(boosting.ROUTING, "rows", lambda a: Array(a.values * 0 + 100)), "must route the 60 rows of its nodes"),
        (changed(boosting.CANDIDATE_SUMS, "nodes", lambda a: Array(a.values + 1)), "must answer about the nodes"),
        (changed(boosting.CANDIDATE_SUMS, "sums", lambda _: Array(np.zeros(3))), "sums in a message must be cipherte"),
        (
            changed(boosting.CHOSEN_SPLIT, "candidates", lambda a: Array(a.values + 999), party="bank"),
            "offered no candidate",
        ),
        (
            changed(boosting.NODE_ROWS, "nodes", lambda a: Array(a.values[1:]), party="bank"),
            "every row must have a nod",
        ),
    ],
)
def test_an_inconsistent_partner_is_told(hook, why):
    with pytest.raises(ProtocolError, match=why):
        run(boosted(TWO), hooks=(hook,))


def test_a_partner_that_offers_fewer_sums_is_told():
    def act(message: Array, _local, _rng) -> Array:
        return Array(message.values[:-1])

    with pytest.raises(PlaintextRangeError, match="a slot overflowed"):
        run(boosted(TWO), hooks=(Hook(boosting.CANDIDATES, HookKind.SEND, "fintech", act),))


def test_routing_that_a_defense_changed_can_be_let_pass():
    flipped = changed(boosting.ROUTING, "left", lambda a: Array(~a.values))
    found = run(boosted(TWO, verify=False), hooks=(flipped,))
    assert found.utility["train_accuracy"] < 0.5  # the leaves are fitted to rows that went the other way


class TestWidths:
    def test_slots_hold_the_sum_of_all_rows(self):
        layout = layout_for(1000, 40, 1.0, 0.25, packed=True)
        assert (layout.g_bits, layout.h_bits) == (51, 48)
        full = Gradients(np.full(1000, -(1 << 40)), np.full(1000, 1 << 38), np.ones(1000, dtype=bool), 40)
        values = plaintexts(full, layout).values[0]
        modulus = (1 << 127) + 45
        opened = sums_in(Opened([sum(values) % modulus], modulus, 1, layout))
        assert (opened.g[0], opened.h[0]) == (-1000 << 40, 1000 << 38)

    def test_gradients_beyond_their_bound_are_refused(self):
        large = Gradients(np.array([1 << 20]), np.array([1]), np.ones(1, dtype=bool), 8)
        with pytest.raises(PlaintextRangeError, match="their sums could run into one another"):
            plaintexts(large, Layout(g_bits=20, h_bits=4))

    def test_a_slot_that_overflowed_is_an_error(self):
        layout = Layout(g_bits=6, h_bits=4)
        with pytest.raises(PlaintextRangeError, match="a slot overflowed"):
            sums_in(Opened([1 << 40], (1 << 61) - 1, 2, layout))
        with pytest.raises(PlaintextRangeError, match="must lie within those of all rows"):
            sums_in(Opened([1 << 40, 1], (1 << 61) - 1, 1, Layout(6, 4, packed=False)))

    def test_labels_of_any_size_are_fitted_or_refused(self):
        labels = np.random.default_rng(0).standard_normal(60)
        assert run(with_labels(boosted(TWO), 1e4 * labels)).utility["train_r2"] > 0.3
        with pytest.raises(PlaintextRangeError, match="Scale the labels or use fewer fraction bits"):
            run(with_labels(boosted(TWO), 1e6 * labels))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"n_trees": 0}, "n_trees must be 1 or more"),
        ({"bins": 1}, "bins must be 2 or more"),
        ({"depth": 17}, "depth must be at most 16"),
        ({"l2": -1.0}, "l2 must be 0 or more and finite"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"row_share": 1.5}, "row_share must be at most 1"),
        ({"goss": True, "row_share": 0.5}, "row_share must be 1 with goss"),
        ({"goss_top": 0.8, "goss_other": 0.3}, "must add up to 1 or less"),
        ({"fraction_bits": 60}, "fraction_bits must be from 8 to 52"),
        ({"objective": "hinge"}, "objective must be one of auto"),
        ({"prediction": "all"}, "prediction must be one of routing"),
        ({"record_budget": -1}, "record_budget must be 0 or more"),
        ({"key_bits": 512}, "key_bits must be even, from 1024"),
    ],
)
def test_settings_that_cannot_be(changes, why):
    with pytest.raises(InputError, match=why):
        SecureBoostSettings(**changes)
