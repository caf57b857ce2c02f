"""Equations against unknowns of one gradient, counted by hand and told by the theorem."""

from __future__ import annotations

import pytest

from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.models.layers import layer_of_line
from fedleak.protocols.networks.vocabulary import NetworkFacts
from fedleak.theory.condition import State
from fedleak.theory.one_gradient import OneGradient, balances

CONVOLVED = (
    "convolution 16 5 stride=2 padding=2",
    "activation sigmoid",
    "convolution 32 5 stride=2 padding=2",
    "flatten",
    "linear 256",
)
FULL_RANK = "the equations' Jacobian has full rank at the solution"


def counted(n_features, *, pictures, lines, batch_size=8, n_classes=10):
    party = PartyFacts("client", Role.ACTIVE, n_features, pictures=pictures)
    own = NetworkFacts(bottom=lines, n_classes=n_classes)
    facts = Facts("horizontal-network", (party,), batch_size=batch_size, own=own)
    return next(one for one in OneGradient.assess(facts).conditions if one.statement == FULL_RANK)


def test_a_table_by_hand():
    rows, *pixels = balances((6,), [layer_of_line(line) for line in ("linear 20", "linear 3")], 4)
    assert (rows.unknowns, rows.equations) == (4 * 3, 20 * 4 + 3 * 21)
    assert not pixels
    found = counted(6, pictures=False, lines=("linear 20",), batch_size=4, n_classes=3)
    assert found.state is State.UNKNOWN
    assert "12 unknowns, 143 equations" in found.detail


def test_pixels_behind_convolutions_stand_beside_it():
    """24,576 pixels of eight pictures meet 8 x 2,048 inputs and 14,048 parameters."""
    found = counted(3072, pictures=True, lines=CONVOLVED)
    assert "24576 unknowns, 30432 equations" in found.detail
    assert found.state is State.UNKNOWN


def test_more_rows_than_equations_fail():
    assert counted(6, pictures=False, lines=("linear 2",), batch_size=40, n_classes=2).state is State.FAILS


@pytest.mark.parametrize(("n_features", "pictures"), [(None, False), (6, None), (3000, True)])
def test_pixels_of_no_known_shape_are_not_counted(n_features, pictures):
    found = counted(n_features, pictures=pictures, lines=CONVOLVED)
    assert found.state is State.UNKNOWN
    assert "56 unknowns" in found.detail
    assert "pixels" not in found.detail


def test_unknown_layers_are_not_counted():
    assert "unknowns" not in counted(6, pictures=False, lines=None).detail


def test_without_classes_equations_are_a_least_number():
    found = counted(6, pictures=False, lines=("linear 2",), batch_size=40, n_classes=None)
    assert found.state is State.UNKNOWN
    assert "1560 unknowns, at least 86 equations" in found.detail
