"""The attacks of Li et al. 2021 on real runs of the protocols."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import federations
from fedleak.attacks import ATTACKS
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.core.oracle import LiveOracle
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.deviations.extra_columns import FakeFeatures
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.linear.vertical_arbiter import VerticalLinearArbiterSettings, VerticalLogisticArbiterSettings

LINEAR, LOGISTIC = "vertical-linear-arbiter", "vertical-logistic-arbiter"


def federation(protocol: str, *, n_rows=14, own=8, their=3, third=0, seed=0, **changes) -> Federation:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows, own + their + third))
    labels = rows.sum(axis=1) + rng.standard_normal(n_rows)
    if protocol == LOGISTIC:
        labels = (labels > 0).astype(np.float64)
    kind = VerticalLinearArbiterSettings if protocol == LINEAR else VerticalLogisticArbiterSettings
    defaults = {
        "batch_size": 7,
        "epochs": n_rows + 6,
        "learning_rate": 0.1,
        "initialisation": "normal",
        "cipher": "sealed",
        "key_bits": 1024,
        "l2": 0.02,
        "loss": False,
        "prediction_service": True,
    }
    ids = np.arange(50, 50 + n_rows)
    parties = [Party("bank", Role.ACTIVE, names("own", own), Slice(ids, rows[:, :own], labels))]
    parties.append(Party("fintech", Role.PASSIVE, names("their", their), Slice(ids, rows[:, own : own + their])))
    if third:
        parties.append(Party("shop", Role.PASSIVE, names("third", third), Slice(ids, rows[:, own + their :])))
    parties.append(Party("referee", Role.ARBITER, (), Slice(ids, np.zeros((n_rows, 0)))))
    return Federation(protocol, tuple(parties), kind(**{**defaults, **changes}))


def names(prefix: str, count: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{i}" for i in range(count))


def attack(
    name: str,
    setup: Federation,
    kind: SecretKind,
    *,
    cells=0,
    coalition=("bank",),
    hooks=(),
    change=None,
    seed=1,
    owner="fintech",
):
    """Run the protocol, then the attack; returns the guess and the truth."""
    protocol = PROTOCOLS.get(setup.protocol)
    run = federations.run(setup, seed=seed, hooks=hooks, protocol=protocol())
    facts = run.transcript.facts
    seen = facts.seen_by(coalition, protocol.reveals(setup.settings, facts.parties, coalition))
    secret = Secret(kind, owner)
    values = run.truth.of(Secret(SecretKind.FEATURES, "fintech")).values
    view = run.view(coalition, secret, seen, knowledge=known(values, cells, change))
    return ATTACKS.get(name)().run(view, rng=np.random.default_rng(0)), run.truth.of(secret).values


def known(values: np.ndarray, count: int, change: int | None) -> Knowledge:
    picks = np.random.default_rng(3).permutation(values.size)[:count]
    rows, columns = np.unravel_index(picks, values.shape)
    cells = values[rows, columns].copy()
    if change is not None:
        cells[change] += 0.5
    return Knowledge(cells=(KnownCells("fintech", rows + 50, columns, cells),))


@pytest.mark.parametrize("protocol", [LINEAR, LOGISTIC])
@pytest.mark.parametrize("decay", [False, True])
def test_scores_are_exact_up_to_the_victims_rounding(protocol, decay):
    guess, truth = attack("score-recovery", federation(protocol, decay=decay), SecretKind.PARTIAL_SCORES)
    assert guess.status is Status.RECOVERED
    assert np.abs(guess.values - truth).max() < 1e-11


@pytest.mark.parametrize("protocol", [LINEAR, LOGISTIC])
def test_inner_products_from_shuffled_batches_with_decay_and_l2(protocol):
    guess, truth = attack("gram-recovery", federation(protocol, decay=True), SecretKind.GRAM)
    assert guess.status is Status.RECOVERED
    assert np.linalg.norm(guess.values - truth) < 1e-6 * np.linalg.norm(truth)
    assert guess.evidence["expected relative error"] < 1e-6


def test_weights_are_named_by_n_plus_one_queries():
    guess, truth = attack("prediction-queries", federation(LINEAR), SecretKind.WEIGHTS)
    np.testing.assert_allclose(guess.values, truth, atol=1e-14)
    assert guess.evidence["queries"] == 4


@pytest.mark.parametrize("protocol", [LINEAR, LOGISTIC])
def test_the_table_from_a_few_cells(protocol):
    guess, truth = attack("gram-inversion", federation(protocol), SecretKind.FEATURES, cells=8)
    assert guess.status is Status.RECOVERED
    assert np.abs(guess.values - truth).max() < 1e-6


@pytest.mark.parametrize("shuffle", [True, False])
def test_the_table_from_fewer_epochs_than_rows(shuffle):
    """14 rows, 10 epochs: no linear solve for the inner products, and batches may recur."""
    setup = federation(LINEAR, epochs=10, shuffle=shuffle)
    guess, truth = attack("gram-inversion", setup, SecretKind.FEATURES, cells=8)
    assert guess.status is Status.RECOVERED
    assert "a search" in guess.evidence["inner products from"]
    assert np.abs(guess.values - truth).max() < 1e-5


def test_a_passive_party_of_a_linear_model_lacks_the_labels():
    setup = federation(LINEAR, own=3, their=8)
    guess, _ = attack("score-recovery", setup, SecretKind.PARTIAL_SCORES, coalition=("fintech",), owner="bank")
    assert guess.status is Status.UNDETERMINED
    assert "labels are not known" in guess.why


def test_a_wrong_cell_is_said_and_nothing_is_named():
    guess, _ = attack("gram-inversion", federation(LINEAR), SecretKind.FEATURES, cells=12, change=2)
    assert guess.status is Status.UNDETERMINED
    assert guess.values.size == 0
    assert "contradict" in guess.why or "no real solution" in guess.why


def test_no_known_cells_leave_a_family():
    setup = federation(LINEAR, their=4, prediction_service=False)
    guess, _ = attack("gram-inversion", setup, SecretKind.FEATURES)
    assert guess.status is Status.NOT_IDENTIFIABLE


def test_too_few_own_columns_hide_the_scores_and_fake_ones_show_them():
    setup = federation(LINEAR, own=3, their=3)
    guess, _ = attack("gram-inversion", setup, SecretKind.FEATURES, cells=8)
    assert guess.status is Status.NOT_IDENTIFIABLE
    assert "3 independent own columns" in guess.why
    hooks = replace(FakeFeatures(), batch_size=7).hooks("bank")
    guess, truth = attack("gram-inversion", setup, SecretKind.FEATURES, cells=8, hooks=hooks)
    assert guess.status is Status.RECOVERED
    assert np.abs(guess.values - truth).max() < 1e-5


def test_a_coalition_with_the_second_party_takes_its_scores_out():
    setup = federation(LINEAR, third=2)
    guess, truth = attack("gram-inversion", setup, SecretKind.FEATURES, cells=8, coalition=("bank", "shop"))
    assert guess.status is Status.RECOVERED
    assert np.abs(guess.values - truth).max() < 1e-5


def test_a_service_with_a_budget_leaves_weights_open():
    setup = federation(LINEAR)
    protocol = PROTOCOLS.get(LINEAR)
    run = federations.run(setup, protocol=protocol())
    service = run.services["partial-score:fintech"]
    oracle = LiveOracle(replace(service.spec, budget=2), service.serve)
    secret = Secret(SecretKind.WEIGHTS, "fintech")
    view = run.view(("bank",), secret, run.transcript.facts, oracles={service.spec.name: oracle})
    guess = ATTACKS.get("prediction-queries")().run(view, rng=np.random.default_rng(0))
    assert guess.status is Status.PARTIAL
    assert np.isfinite(guess.values).sum() == 1
    assert "partial-score:fintech" not in run.view(("fintech",), secret, run.transcript.facts).oracles
