"""One curious party against two passive ones, which it sees as one victim of all their columns."""

from __future__ import annotations

import numpy as np
import pytest

import federations
from fedleak.attacks import ATTACKS
from fedleak.attacks.inversion.rotation_solve import Answer, Inversion
from fedleak.auditing.planner import targets
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownCells, KnownColumn
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.linear.vertical_arbiter import VerticalLinearArbiterSettings, VerticalLogisticArbiterSettings
from random_cases import seeds

SETTINGS = {
    "vertical-linear-arbiter": VerticalLinearArbiterSettings,
    "vertical-logistic-arbiter": VerticalLogisticArbiterSettings,
}
WIDTHS = {"fintech": 3, "shop": 2}
NOTHING = Knowledge()


def federation(protocol: str, seed: int = 0, *, binary: bool = False, **changes) -> Federation:
    """14 rows; the bank has 8 columns, fintech 3 and shop 2."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((14, 13))
    if binary:
        rows[:, 8:] = rng.random((14, 5)) < 0.5
    labels = rows.sum(axis=1) + rng.standard_normal(14)
    if protocol == "vertical-logistic-arbiter":
        labels = (labels > 0).astype(np.float64)
    ids = np.arange(50, 64)
    parties = [
        Party("bank", Role.ACTIVE, tuple(f"b{i}" for i in range(8)), Slice(ids, rows[:, :8], labels)),
        Party("fintech", Role.PASSIVE, ("f0", "f1", "f2"), Slice(ids, rows[:, 8:11])),
        Party("shop", Role.PASSIVE, ("s0", "s1"), Slice(ids, rows[:, 11:])),
        Party("referee", Role.ARBITER, (), Slice(ids, np.zeros((14, 0)))),
    ]
    given = {
        "batch_size": 7,
        "epochs": 20,
        "learning_rate": 0.1,
        "initialisation": "normal",
        "cipher": "sealed",
        "key_bits": 1024,
        "loss": False,
        "prediction_service": True,
    }
    return Federation(protocol, tuple(parties), SETTINGS[protocol](**{**given, **changes}))


def attacked(name: str, setup: Federation, secret: Secret, knowledge=NOTHING, *, seed: int = 1):
    protocol = PROTOCOLS.get(setup.protocol)
    run = federations.run(setup, seed=seed, protocol=protocol())
    facts = run.transcript.facts
    seen = facts.seen_by(("bank",), protocol.reveals(setup.settings, facts.parties, ("bank",)))
    view = run.view(("bank",), secret, seen, knowledge=knowledge)
    return ATTACKS.get(name)().run(view, rng=np.random.default_rng(seed)), run.truth.of(secret).values


def cells(setup: Federation, counts: dict[str, int], seed: int = 3) -> Knowledge:
    rng, found = np.random.default_rng(seed), []
    for party in setup.parties:
        values = party.train.features
        picks = rng.permutation(values.size)[: counts.get(party.name, 0)]
        rows, columns = np.unravel_index(picks, values.shape)
        if len(picks):
            found.append(KnownCells(party.name, party.train.ids[rows], columns, values[rows, columns]))
    return Knowledge(cells=tuple(found))


def test_the_plan_has_the_sum_once_and_the_tables_one_by_one():
    parties = federation("vertical-linear-arbiter").party_facts
    assert targets(SecretKind.GRAM, parties, ("bank",)) == [Secret(SecretKind.GRAM, "fintech+shop")]
    assert targets(SecretKind.PARTIAL_SCORES, parties, ("bank", "shop")) == [
        Secret(SecretKind.PARTIAL_SCORES, "fintech")
    ]
    assert [secret.owner for secret in targets(SecretKind.FEATURES, parties, ("bank",))] == ["fintech", "shop"]


@pytest.mark.parametrize("protocol", SETTINGS)
def test_scores_and_inner_products_of_both_come_out_as_one_sum(protocol):
    guess, truth = attacked("score-recovery", federation(protocol), Secret(SecretKind.PARTIAL_SCORES, "fintech+shop"))
    assert guess.status is Status.RECOVERED
    assert np.abs(guess.values - truth).max() < 2e-11
    guess, truth = attacked("gram-recovery", federation(protocol), Secret(SecretKind.GRAM, "fintech+shop"))
    assert guess.status is Status.RECOVERED
    assert np.linalg.norm(guess.values - truth) < 1e-8 * np.linalg.norm(truth)


def test_a_single_partys_scores_and_products_are_told_in_part():
    for name, kind in (("score-recovery", SecretKind.PARTIAL_SCORES), ("gram-recovery", SecretKind.GRAM)):
        setup = federation("vertical-linear-arbiter")
        guess, _ = attacked(name, setup, Secret(kind, "shop"))
        whole, _ = attacked(name, setup, Secret(kind, "fintech+shop"))
        assert guess.status is Status.PARTIAL
        assert "shop is given its share of the columns, 2 of 5" in guess.why
        np.testing.assert_allclose(guess.values, 0.4 * whole.values)


@pytest.mark.parametrize("owner", WIDTHS)
@pytest.mark.parametrize("protocol", SETTINGS)
def test_a_dozen_cells_and_the_weights_give_each_table(protocol, owner):
    setup = federation(protocol)
    known = cells(setup, {"fintech": 8, "shop": 6})
    guess, truth = attacked("gram-inversion", setup, Secret(SecretKind.FEATURES, owner), known)
    assert guess.status is Status.RECOVERED, guess.why
    assert guess.values.shape == truth.shape
    assert np.abs(guess.values - truth).max() < 1e-6


@pytest.mark.parametrize("seed", seeds(3))
def test_nothing_wrong_is_called_recovered(seed):
    rng = np.random.default_rng(seed)
    setup = federation(rng.choice(list(SETTINGS)), seed, epochs=int(rng.integers(10, 22)))
    known = cells(setup, {"fintech": int(rng.integers(0, 9)), "shop": int(rng.integers(0, 9))}, seed)
    owner = str(rng.choice(list(WIDTHS)))
    guess, truth = attacked("gram-inversion", setup, Secret(SecretKind.FEATURES, owner), known, seed=seed)
    if guess.status is Status.RECOVERED:
        assert np.abs(guess.values - truth).max() < 1e-4, (seed, guess.why)


def test_cells_of_one_party_show_that_the_others_columns_are_open():
    setup = federation("vertical-linear-arbiter")
    known = cells(setup, {"shop": 12})
    guess, _ = attacked("gram-inversion", setup, Secret(SecretKind.FEATURES, "fintech"), known)
    assert guess.status is Status.NOT_IDENTIFIABLE
    guess, _ = attacked("gram-inversion", setup, Secret(SecretKind.FEATURES, "shop"), known)
    assert guess.status is Status.UNDETERMINED  # the family turns fintech's columns alone


def test_values_of_the_columns_close_the_joint_rotation():
    setup = federation("vertical-linear-arbiter", binary=True)
    columns = tuple(
        KnownColumn(party.name, column, ColumnKind.BINARY, 0.0, 1.0)
        for party in setup.parties
        if party.role is Role.PASSIVE
        for column in party.columns
    )
    for owner in WIDTHS:
        secret = Secret(SecretKind.FEATURES, owner)
        guess, truth = attacked("rotation-matching", setup, secret, Knowledge(columns=columns))
        assert guess.status is Status.RECOVERED, guess.why
        assert np.abs(guess.values - truth).max() < 1e-6
        unnamed, _ = attacked("rotation-matching-unnamed", setup, secret, Knowledge(columns=columns))
        assert unnamed.status is Status.UNDETERMINED
        assert "whose is which" in unnamed.why


def test_tables_that_differ_elsewhere_are_one_answer_only_after_a_whole_search():
    first, second = np.zeros((3, 2)), np.array([[0.0, 1.0]] * 3)
    found = Inversion(Answer.SEVERAL, (first, second), 2, 5, 0.0, 1.0, 0, "two", complete=True)
    assert found.of_columns(slice(0, 1), 1e-6).answer is Answer.UNIQUE
    assert found.of_columns(slice(1, 2), 1e-6).answer is Answer.SEVERAL
    cut = Inversion(Answer.SEVERAL, (first, second), 2, 5, 0.0, 1.0, 0, "two", complete=False)
    assert cut.of_columns(slice(0, 1), 1e-6).answer is Answer.BUDGET
