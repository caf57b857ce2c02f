"""How many batches separate all rows, and which conditions of CAFE's theorems hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.attacks.networks.batch_indicators import Batches
from fedleak.core.adversary import Capability
from fedleak.core.attack import Verdict
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.protocols.networks.vocabulary import DRAWN, SHUFFLED, NetworkFacts
from fedleak.theory.batch_separation import (
    BatchesOfKnownRows,
    IndependentRowGradients,
    SeparableBatches,
    batches_for_spans,
    batches_for_sums,
    predicted_separation,
)
from fedleak.theory.condition import State

FACTS = Facts(
    "vertical-network",
    (PartyFacts("bank", Role.ACTIVE, 40), PartyFacts("server", Role.SERVER)),
    n_rows=800,
    batch_size=40,
    own=NetworkFacts(
        bottom=("linear 256", "activation sigmoid"), top=(), n_batches=120, batches=SHUFFLED, trained=False
    ),
    adversary=("server",),
    capabilities=frozenset({Capability.BATCH_IDS, Capability.LAYER_GRADIENTS}),
)


def dealt_out(n_rows, size, n_batches, rng):
    found = []
    while len(found) < n_batches:
        found += np.array_split(rng.permutation(n_rows), n_rows // size)
    return found[:n_batches]


def test_the_paper_s_setting_needs_841_batches_by_sums_and_100_by_spans() -> None:
    assert batches_for_sums(800, 40, shuffled=True) == 841
    assert batches_for_sums(800, 40, shuffled=False) == 800
    assert batches_for_spans(800, 40, shuffled=True) == 100


@pytest.mark.parametrize(("n_rows", "size"), [(60, 12), (60, 6), (40, 20)])
def test_so_many_shuffled_batches_have_full_rank_and_one_less_has_not(n_rows, size) -> None:
    needed = batches_for_sums(n_rows, size, shuffled=True)
    drawn = dealt_out(n_rows, size, needed, np.random.default_rng(5))
    assert np.linalg.matrix_rank(Batches.of(drawn).counts) == n_rows
    assert np.linalg.matrix_rank(Batches.of(drawn).counts[:-1]) == n_rows - 1


def test_so_many_batches_leave_no_row_in_a_shadow() -> None:
    rng = np.random.default_rng(5)
    shadowed = [
        Batches.of(dealt_out(200, 10, batches_for_spans(200, 10, shuffled=True), rng)).shadowed.sum() for _ in range(20)
    ]
    assert np.mean(shadowed) < 1.0
    fewer = [Batches.of(dealt_out(200, 10, 40, rng)).shadowed.sum() for _ in range(20)]
    assert np.mean(fewer) > 1.0


def test_theorem_2_fails_where_rows_outnumber_outputs_and_ours_holds() -> None:
    assert IndependentRowGradients.assess(FACTS).state is State.FAILS
    assert BatchesOfKnownRows.assess(FACTS).state is State.HOLDS
    assert SeparableBatches.assess(FACTS).state is State.HOLDS
    assert predicted_separation(FACTS).verdict is Verdict.EXACT


def test_what_is_not_known_before_is_not_promised() -> None:
    def of(**changed):
        return predicted_separation(FACTS.with_own(NetworkFacts, **changed)).verdict

    assert of(trained=True) is Verdict.UNKNOWN
    assert of(bottom=("linear 256", "activation relu")) is Verdict.PARTIAL
    assert of(bottom=("linear 256 bias=false",)) is Verdict.UNKNOWN
    assert of(bottom=("linear 256", "batch-norm")) is Verdict.UNKNOWN
    assert of(batches=DRAWN) is Verdict.UNKNOWN
    assert of(batches=DRAWN, n_batches=400) is Verdict.EXACT
    assert of(bottom=("linear 20", "activation sigmoid")) is Verdict.UNKNOWN
    assert predicted_separation(replace(FACTS, batch_size=800)).verdict is Verdict.IMPOSSIBLE
    assert predicted_separation(FACTS, pictures=True).verdict is Verdict.PARTIAL
