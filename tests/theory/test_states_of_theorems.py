"""When theorems hold, fail or stay open: of packed sums, boosted trees, missing parties, one gradient, embeddings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fedleak.core.adversary import Capability
from fedleak.core.attack import Verdict
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.protocols.averaging.vocabulary import Dropout, HorizontalLogisticFacts
from fedleak.protocols.boosting.vocabulary import BoostingFacts
from fedleak.protocols.linear.linear_settings import OF_A_MEMBER
from fedleak.protocols.networks.vocabulary import NetworkFacts
from fedleak.theory.boosted_trees import (
    MembersOfNodes,
    OpenGradients,
    SumsOfBins,
    ThresholdQuestions,
    least_batches,
    printed_batches,
)
from fedleak.theory.condition import Assessment, State
from fedleak.theory.countermeasures import COUNTERMEASURES
from fedleak.theory.embedding_signs import EmbeddingSigns
from fedleak.theory.missing_parties import MissingParties, somebody_missing
from fedleak.theory.one_gradient import OneGradient, balances
from fedleak.theory.packed_equations import PackedEquations, enough_slots

BANK, FINTECH = PartyFacts("bank", Role.ACTIVE, 10), PartyFacts("fintech", Role.PASSIVE, 3)
PACKED = Facts(
    "vertical-logistic",
    (BANK, FINTECH),
    n_rows=1000,
    batch_size=80,
    n_epochs=1,
    learning_rate=0.1,
    initialisation="zero",
    approximation="taylor",
    max_row_norm=1.0,
    key_bits=2048,
    fraction_bits=40,
).seen_by(("fintech",), OF_A_MEMBER)


def state_of(assessment: Assessment, statement: str) -> tuple[State, str]:
    (found,) = [one for one in assessment.conditions if one.statement == statement]
    return found.state, found.detail


@pytest.mark.parametrize(
    ("n_rows", "state"),
    [(81, State.HOLDS), (82, State.HOLDS), (93, State.HOLDS), (94, State.UNKNOWN), (1000, State.FAILS)],
)
def test_slots_are_as_long_as_values_may_be(n_rows: int, state: State) -> None:
    """Of 2047 bits: 62 + 7 + 1 + 2 for any value of up to 127 rows, 28 a column; 64 for short ones, 31."""
    facts = replace(PACKED, batch_size=n_rows, n_rows=1000 if n_rows != 94 else 1000 + 2)
    assert enough_slots(facts).state is state
    assert f"{n_rows} values, {28 * 3 if n_rows < 128 else 27 * 3} slots of any length" in enough_slots(facts).detail


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({"learning_rate": 8.0}, State.HOLDS),
        ({"learning_rate": 8.1}, State.UNKNOWN),  # eta R^2 / 4 > 2
        ({"initialisation": "xavier"}, State.HOLDS),
        ({"initialisation": "somehow"}, State.UNKNOWN),
        ({"approximation": "piecewise"}, State.UNKNOWN),
        ({"max_row_norm": None}, State.UNKNOWN),
        ({"key_bits": None}, State.UNKNOWN),
        ({"batch_size": None}, State.UNKNOWN),
        ({"fraction_bits": 52}, State.UNKNOWN),  # 52 + 10 bits and more: no slot is short then
    ],
)
def test_short_slots_hold_while_values_stay_short(change: dict[str, object], state: State) -> None:
    assert enough_slots(replace(PACKED, **{"batch_size": 90, **change})).state is state


def test_a_third_party_makes_values_longer() -> None:
    """62 + 80 + 2 + 2 bits, and 7 + 1 + 2 for sums: 13 a column of 2047 bits."""
    three = replace(PACKED, parties=(BANK, FINTECH, PartyFacts("shop", Role.PASSIVE, 3)), batch_size=39)
    assert enough_slots(three).state is State.HOLDS
    assert "39 values, 39 slots of any length, 39 short ones" in enough_slots(three).detail
    assert enough_slots(replace(three, batch_size=40, n_rows=80)).state is State.FAILS
    assert PackedEquations.assess(three).conditions[0].state is State.HOLDS


def boosted(**own: object) -> Facts:
    given: dict[str, object] = {
        "objective": "logistic", "row_share": 1.0, "goss": False, "reveal_feature": True, "prediction": "routing",
        "label_epsilon": 0.0,
    }  # fmt: skip
    facts = Facts("secureboost", (BANK, FINTECH), n_rows=100, own=BoostingFacts(**{**given, **own}))
    seen = {Capability.LABELS, Capability.CANDIDATE_SUMS, Capability.NODE_ROWS, Capability.ENROLLED_RECORDS}
    return facts.seen_by(("bank",), frozenset(seen))


@pytest.mark.parametrize(
    ("own", "state"),
    [
        ({}, State.HOLDS),
        ({"row_share": 0.9}, State.UNKNOWN),
        ({"goss": True}, State.UNKNOWN),
        ({"row_share": None}, State.UNKNOWN),
        ({"goss": None}, State.UNKNOWN),
    ],
)
def test_rows_that_are_sampled_may_have_no_weight(own: dict[str, object], state: State) -> None:
    found, detail = state_of(SumsOfBins.assess(boosted(**own)), "every row counts in every tree")
    assert found is state
    assert detail == ("all rows" if state is State.HOLDS else detail)
    assert detail in ("all rows", "rows are sampled", "how rows are sampled is not known")


@pytest.mark.parametrize(
    ("objective", "state"),
    [("logistic", State.HOLDS), ("softmax", State.HOLDS), ("squared", State.FAILS), (None, State.UNKNOWN)],
)
def test_only_classes_gather_in_nodes(objective: str | None, state: State) -> None:
    found = MembersOfNodes.assess(boosted(objective=objective))
    assert state_of(found, "labels are classes") == (state, objective or "the objective is not known")


@pytest.mark.parametrize(("objective", "state"), [("squared", State.HOLDS), (None, State.UNKNOWN)])
def test_open_gradients_are_read_where_the_loss_is_known(objective: str | None, state: State) -> None:
    found = OpenGradients.assess(boosted(objective=objective))
    assert state_of(found, "the loss is known") == (state, objective or "the objective is not known")


@pytest.mark.parametrize(
    ("shown", "state"), [("routing", State.HOLDS), ("score", State.UNKNOWN), (None, State.UNKNOWN)]
)
def test_thresholds_are_bracketed_where_hops_are_shown(shown: str | None, state: State) -> None:
    found, detail = state_of(ThresholdQuestions.assess(boosted(prediction=shown)), "the service shows hops")
    assert found is state
    assert ("not known" in detail) is (shown is None)


def test_batches_of_questions() -> None:
    assert [printed_batches(2, steps, 11) for steps in (10, 100, 1000, 1001)] == [2, 4, 6, 8]
    assert least_batches(10, 9, [1]) == 1  # ten parts, ten values
    assert least_batches(11, 9, [1, 1]) == 2
    assert least_batches(100, 3, [2]) == 4  # C(100, 2) = 4950 ways, 10 of them a batch
    assert least_batches(10, 3, [0, 10]) == 0  # nothing to tell apart
    with pytest.raises(ValueError, match="3 or more"):
        printed_batches(1, 10, 2)


def summed(dropouts: tuple[Dropout, ...] | None) -> Facts:
    parties = tuple(PartyFacts(name, Role.ACTIVE, 4) for name in ("hospital", "clinic", "lab"))
    facts = Facts("horizontal-logistic", parties, n_rows=8, own=HorizontalLogisticFacts(dropouts=dropouts))
    return facts.seen_by(("hospital",), frozenset({Capability.SENDERS}))


@pytest.mark.parametrize(
    ("dropouts", "state", "detail", "verdict"),
    [
        (None, State.UNKNOWN, "who is missing when is not known", Verdict.UNKNOWN),
        ((), State.FAILS, "nobody is", Verdict.IMPOSSIBLE),
        ((Dropout("hospital", 1),), State.FAILS, "nobody is", Verdict.IMPOSSIBLE),
        ((Dropout("lab", 2), Dropout("clinic", 1), Dropout("lab", 3)), State.HOLDS, "clinic, lab", Verdict.UNKNOWN),
    ],
)
def test_somebody_outside_has_to_be_missing(
    dropouts: tuple[Dropout, ...] | None, state: State, detail: str, verdict: Verdict
) -> None:
    facts = summed(dropouts)
    found = somebody_missing(facts)
    assert (found.state, found.detail) == (state, detail)
    assert found in MissingParties.assess(facts).conditions
    assert MissingParties.if_fails(facts) is verdict


def networked(defense: str | None = None, **own: object) -> Facts:
    given: dict[str, object] = {"bottom": ("linear 8", "activation sigmoid"), "top": (), "n_classes": 2}
    facts = Facts("horizontal-network", (BANK,), batch_size=8, own=NetworkFacts(**{**given, **own}))
    seen = {Capability.NETWORK, Capability.LAYER_GRADIENTS, Capability.EMBEDDING_GRADIENTS}
    return replace(facts, defense=defense).seen_by(("server",), frozenset(seen))


SMOOTH = "activations from the first fully connected layer on are smooth"
FEW = "K <= outputs of the first fully connected layer"


@pytest.mark.parametrize(
    ("facts", "statement", "state"),
    [
        (networked(), FEW, State.HOLDS),
        (replace(networked(), batch_size=9), FEW, State.FAILS),
        (networked(bottom=None), FEW, State.UNKNOWN),
        (networked(), SMOOTH, State.HOLDS),
        (networked(bottom=("activation relu", "linear 8")), SMOOTH, State.HOLDS),
        (networked(bottom=("linear 8", "activation relu")), SMOOTH, State.UNKNOWN),
        (networked(bottom=None), SMOOTH, State.UNKNOWN),
        (networked(), "no batch norm, no dropout", State.HOLDS),
        (networked(), "gradients are sent as they are", State.HOLDS),
        (networked("gaussian-noise"), "gradients are sent as they are", State.UNKNOWN),
    ],
)
def test_one_gradient_of_a_smooth_network(facts: Facts, statement: str, state: State) -> None:
    found = OneGradient.assess(facts)
    assert state_of(found, statement)[0] is state
    assert found.state is (State.FAILS if state is State.FAILS else State.UNKNOWN)  # the rank shows in the run


def test_equations_against_unknowns_by_hand() -> None:
    from fedleak.models.layers import layer_of_line

    layers = [layer_of_line(line) for line in ("linear 8", "activation sigmoid", "linear 2")]
    (rows,) = balances((3,), layers, 4)
    assert (rows.unknowns, rows.equations) == (12, 8 * 4 + 8 * 2 + 2)


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        (networked(), State.HOLDS),
        (networked("marvell"), State.UNKNOWN),
        (networked(n_classes=3), State.FAILS),
        (networked(top=("linear 4",)), State.FAILS),
        (networked(top=None), State.UNKNOWN),
        (networked(n_classes=None), State.UNKNOWN),
    ],
)
def test_signs_of_embeddings_behind_a_linear_top(facts: Facts, state: State) -> None:
    assert EmbeddingSigns.assess(facts).state is state


def test_no_remedy_stands_twice() -> None:
    assert len(set(COUNTERMEASURES)) == len(COUNTERMEASURES)
