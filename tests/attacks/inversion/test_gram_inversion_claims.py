"""What ``gram-inversion`` calls recovered is, where columns differ in size by orders of magnitude."""

from __future__ import annotations

import numpy as np
import pytest

import federations
from fedleak.attacks.gram.gram_recovery import GramRecovery
from fedleak.attacks.inversion.gram_inversion import GramInversion
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.linear.vertical_arbiter import VerticalLinearArbiterSettings, VerticalLogisticArbiterSettings
from random_cases import seeds

N_ROWS = 16
CLAIMED = 0.1  # of a column's standard deviation: twice what "recovered" promises for the worst cell
GIVEN = 1.0  # the same for a column that a partial answer names: twice its promise


def rescaled_run(seed, orders):
    """A run over 16 rows whose columns differ by up to 2 * orders powers of ten; its view with some known cells."""
    rng = np.random.default_rng(seed)
    own, their = int(rng.integers(8, 11)), int(rng.integers(2, 5))
    sizes = 10.0 ** rng.uniform(-orders, orders, own + their)
    rows = rng.standard_normal((N_ROWS, own + their)) * sizes
    linear = bool(rng.random() < 0.5)
    score = (rows / sizes).sum(axis=1) + rng.standard_normal(N_ROWS)
    settings = (VerticalLinearArbiterSettings if linear else VerticalLogisticArbiterSettings)(
        batch_size=int(rng.choice([4, 8])),
        epochs=N_ROWS + 6 if rng.random() < 0.7 else 12,
        learning_rate=0.3 / max(1.0, float((sizes**2).sum())),
        initialisation="normal",
        cipher="sealed",
        key_bits=1024,
        l2=float(rng.choice([0.0, 0.02])),
        loss=False,
        prediction_service=True,
    )
    ids = np.arange(50, 50 + N_ROWS)
    labels = score if linear else (score > 0).astype(np.float64)
    parties = (
        Party("bank", Role.ACTIVE, tuple(f"own{i}" for i in range(own)), Slice(ids, rows[:, :own], labels)),
        Party("fintech", Role.PASSIVE, tuple(f"their{i}" for i in range(their)), Slice(ids, rows[:, own:])),
        Party("referee", Role.ARBITER, (), Slice(ids, np.zeros((N_ROWS, 0)))),
    )
    name = "vertical-linear-arbiter" if linear else "vertical-logistic-arbiter"
    setup = Federation(name, parties, settings)
    run = federations.run(setup, seed=seed)
    known = rng.permutation(N_ROWS * their)[: int(rng.integers(4, 20))]
    where, columns = np.unravel_index(known, (N_ROWS, their))
    cells = KnownCells("fintech", ids[where], columns, rows[:, own:][where, columns])
    facts = run.transcript.facts
    seen = facts.seen_by(("bank",), PROTOCOLS.get(name).reveals(settings, facts.parties, ("bank",)))
    return run, seen, Knowledge(cells=(cells,)), rows[:, own:]


def inverted(seed, orders):
    run, facts, knowledge, truth = rescaled_run(seed, orders)
    view = run.view(("bank",), Secret(SecretKind.FEATURES, "fintech"), facts, knowledge=knowledge)
    return GramInversion().run(view, rng=np.random.default_rng(0)), truth


def column_misses(guess, truth):
    """Of every column the worst cell, in standard deviations of the column; NaN where the guess is silent."""
    if not guess.values.size:
        return np.full(truth.shape[1], np.nan)
    return np.abs(guess.values - truth).max(axis=0) / truth.std(axis=0)


def assert_holds(guess, truth):
    misses = column_misses(guess, truth)
    if guess.status is Status.RECOVERED:
        assert misses.max() < CLAIMED
    elif guess.status is Status.PARTIAL:
        assert np.isfinite(misses).any()
        assert np.nanmax(misses) < GIVEN
    assert "contradict" not in guess.why  # all known cells are true ones
    assert "no real solution" not in guess.why


@pytest.mark.parametrize("seed", seeds(8))
@pytest.mark.parametrize("orders", [0, 2, 3])
def test_recovered_means_every_cell_of_every_column(seed, orders):
    assert_holds(*inverted(seed, orders))


def test_columns_of_one_size_are_still_recovered():
    assert [inverted(seed, 0)[0].status for seed in (0, 1, 2)].count(Status.RECOVERED) >= 2


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("orders", [0, 3])
def test_the_expected_error_of_the_inner_products_is_the_real_one(seed, orders):
    """It was too small by up to 700 times: one root mean square for rounds whose errors differ by orders."""
    run, facts, _, truth = rescaled_run(seed, orders)
    view = run.view(("bank",), Secret(SecretKind.GRAM, "fintech"), facts)
    guess = GramRecovery().run(view, rng=np.random.default_rng(0))
    gram = truth @ truth.T
    recovered = guess.status is Status.RECOVERED
    real = np.linalg.norm(guess.values - gram) / np.linalg.norm(gram) if recovered else 0.0
    assert not recovered or real < 10 * guess.evidence["expected relative error"] + 1e-14
