"""What ``rotation-matching`` claims without a known cell, on tables that are small, doubled or without names."""

from __future__ import annotations

import numpy as np
import pytest

import federations
from fedleak.attacks import ATTACKS
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownColumn
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.metrics.cell_metrics import CellsRecovered
from fedleak.metrics.metric import Answered
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.linear.vertical_arbiter import VerticalLinearArbiterSettings
from random_cases import seeds

NAME = "vertical-linear-arbiter"
BINARY = (ColumnKind.BINARY, 0.0, 1.0)
CODES = (ColumnKind.INTEGER, 0.0, 3.0)
NOTHING = (None, None, None)


def attacked(table, kinds, *, service=False, attack="rotation-matching", seed=0):
    """The guess about this table, and its score if there is one; ``service``: the weights can be stolen."""
    rng = np.random.default_rng(seed)
    n_rows = len(table)
    own = rng.standard_normal((n_rows, n_rows + 1))
    labels = own.sum(axis=1) + table.sum(axis=1) + rng.standard_normal(n_rows)
    settings = VerticalLinearArbiterSettings(
        batch_size=max(2, n_rows // 2),
        epochs=n_rows + 8,
        learning_rate=0.1 / max(1.0, float(np.mean(table**2))),
        initialisation="normal",
        cipher="sealed",
        key_bits=1024,
        loss=False,
        prediction_service=service,
    )
    ids = np.arange(n_rows)
    columns = tuple(f"their{i}" for i in range(table.shape[1]))
    parties = (
        Party("bank", Role.ACTIVE, tuple(f"own{i}" for i in range(n_rows + 1)), Slice(ids, own, labels)),
        Party("fintech", Role.PASSIVE, columns, Slice(ids, table)),
        Party("referee", Role.ARBITER, (), Slice(ids, np.zeros((n_rows, 0)))),
    )
    run = federations.run(Federation(NAME, parties, settings), seed=seed)
    facts = run.transcript.facts
    seen = facts.seen_by(("bank",), PROTOCOLS.get(NAME).reveals(settings, facts.parties, ("bank",)))
    known = tuple(
        KnownColumn("fintech", name, kind=kind, low=low, high=high)
        for name, (kind, low, high) in zip(columns, kinds, strict=True)
    )
    secret = Secret(SecretKind.FEATURES, "fintech")
    view = run.view(("bank",), secret, seen, knowledge=Knowledge(columns=known))
    chosen = ATTACKS.get(attack)
    guess = chosen().run(view, rng=np.random.default_rng(1))
    if not guess.values.size:
        return guess, None
    answered = Answered(guess, run.truth.of(secret), Knowledge(), chosen.up_to)
    return guess, CellsRecovered().score(answered, rng=np.random.default_rng(0))


def bits(n_rows, n_columns, seed):
    return np.random.default_rng(seed).integers(0, 2, (n_rows, n_columns)).astype(float)


@pytest.mark.parametrize("service", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_three_rows_of_three_bits_are_no_error(service, seed):
    """Such rows are dependent more often than not: no pattern on them determines a column."""
    table = bits(3, 3, seed)
    guess, score = attacked(table, [BINARY] * 3, service=service, seed=seed)
    assert guess.status is not Status.RECOVERED or score.value == 1.0


@pytest.mark.parametrize("service", [False, True])
@pytest.mark.parametrize("kinds", [[BINARY] * 4, [NOTHING] * 4])
def test_a_column_that_stands_twice_is_no_error(service, kinds):
    table = bits(12, 3, 5)
    with np.errstate(divide="raise", invalid="raise"):
        guess, _ = attacked(np.column_stack([table, table[:, 0]]), kinds, service=service)
    assert guess.status is not Status.RECOVERED


def mixed(seed):
    """Two columns that their few values determine and name, and one of numbers on both sides of zero."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, 2, 14), rng.integers(0, 4, 14), rng.standard_normal(14)]).astype(float)


@pytest.mark.parametrize("seed", range(3))
def test_the_last_columns_sign_is_open_without_the_weights(seed):
    guess, _ = attacked(mixed(seed), [BINARY, CODES, NOTHING], seed=seed)
    assert guess.status is Status.UNDETERMINED
    assert "sign" in guess.why
    one, two = guess.candidates
    assert np.abs(one[:, :2] - two[:, :2]).max() == 0
    assert np.abs(one[:, 2] + two[:, 2]).max() == 0


@pytest.mark.parametrize("seed", range(3))
def test_and_fixed_by_the_weights_or_by_a_range(seed):
    guess, score = attacked(mixed(seed), [BINARY, CODES, NOTHING], service=True, seed=seed)
    assert guess.status is Status.RECOVERED
    assert score.value == 1.0
    table = mixed(seed)
    table[:, 2] = np.abs(table[:, 2])
    guess, score = attacked(table, [BINARY, CODES, (None, 0.0, None)], seed=seed)
    assert guess.status is Status.RECOVERED
    assert score.value == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_one_kind_have_no_names_without_the_weights(seed):
    table = bits(16, 3, seed + 20)
    named, _ = attacked(table, [BINARY] * 3, seed=seed)
    assert named.status is not Status.RECOVERED
    assert "which column is which" in named.why
    guess, score = attacked(table, [BINARY] * 3, attack="rotation-matching-unnamed", seed=seed)
    assert guess.status is Status.RECOVERED
    assert score.value == 1.0
    assert score.beats_baseline


@pytest.mark.parametrize("seed", seeds(30))
def test_recovered_means_every_cell(seed):
    """Random mixtures of kinds, few rows or many, with doubled columns, with and without the weights."""
    rng = np.random.default_rng(seed)
    n_rows, width = int(rng.integers(3, 18)), int(rng.integers(2, 5))
    drawn = {
        BINARY: lambda: rng.integers(0, 2, n_rows),
        CODES: lambda: rng.integers(0, 4, n_rows),
        NOTHING: lambda: rng.standard_normal(n_rows),
        (None, 0.0, None): lambda: np.abs(rng.standard_normal(n_rows)),
        (ColumnKind.BINARY, -1.0, 1.0): lambda: 2 * rng.integers(0, 2, n_rows) - 1,
    }
    kinds = [list(drawn)[i] for i in rng.integers(0, len(drawn), width)]
    table = np.column_stack([drawn[kind]() for kind in kinds]).astype(float)
    if rng.random() < 0.2:
        table[:, -1], kinds[-1] = table[:, 0], kinds[0]
    attack = "rotation-matching" if rng.random() < 0.6 else "rotation-matching-unnamed"
    guess, score = attacked(table, kinds, service=bool(rng.random() < 0.5), attack=attack, seed=seed)
    assert guess.status is not Status.RECOVERED or score.value == 1.0, (kinds, guess.why)
