"""Horizontal linear regression by averaging, and what its averages give away."""

from __future__ import annotations

import numpy as np
import pytest

from federations import run
from fedleak.attacks import ATTACKS
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.errors import InputError
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.protocols.averaging.horizontal_linear import HorizontalLinear, HorizontalLinearSettings


def federation(counts: dict[str, int], n_columns: int = 4, seed: int = 0, **changes) -> Federation:
    rng = np.random.default_rng(seed)
    columns = tuple(f"x{i}" for i in range(n_columns))
    parties = []
    for name, count in counts.items():
        rows = rng.standard_normal((count, n_columns))
        labels = rows.sum(axis=1) + rng.standard_normal(count)
        parties.append(Party(name, Role.ACTIVE, columns, Slice(np.arange(count), rows, labels)))
    parties.append(Party("hub", Role.SERVER, (), Slice(np.zeros(0, dtype=np.int64), np.zeros((0, 0)))))
    defaults = {"rounds": 80, "batch_size": 5, "shuffled": ("a",), "learning_rate": 0.1}
    return Federation(HorizontalLinear.name, tuple(parties), HorizontalLinearSettings(**{**defaults, **changes}))


def payloads(result, step: str) -> list[np.ndarray]:
    return [m.payload.values for m in result.transcript.messages if m.step == step]


def test_the_average_is_that_of_plain_gradient_descent():
    setup = federation({"a": 12, "b": 7, "c": 5}, shuffled=(), rounds=5)
    result = run(setup)
    weights = payloads(result, "setup.first-model")[0]
    for mean in payloads(result, "train.averaged-weights"):
        local = []
        for name in "abc":
            part = setup.party(name).train
            local.append(weights - 0.1 * part.features.T @ (part.features @ weights - part.labels) / len(part.ids))
        weights = np.mean(local, axis=0)
        np.testing.assert_allclose(mean, weights, atol=1e-11)
    assert result.utility["train_r2"] < 1.0


def test_masks_hide_single_models_and_plain_sums_do_not():
    counts = {"a": 12, "b": 7}
    hidden, plain = run(federation(counts)), run(federation(counts, secure_aggregation=False))
    for one, other in zip(
        payloads(hidden, "train.averaged-weights"), payloads(plain, "train.averaged-weights"), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    decoded = np.array(payloads(plain, "train.sent-weights")).astype(np.int64) / 2.0**40
    assert np.abs(decoded).max() < 100
    masked = np.array(payloads(hidden, "train.sent-weights")).astype(np.int64) / 2.0**40
    assert np.median(np.abs(masked)) > 1e5  # uniform words, not weights


def test_wrong_input_is_told():
    with pytest.raises(InputError, match="two or more active parties"):
        run(federation({"a": 5}))
    with pytest.raises(InputError, match="shuffled must name active parties"):
        run(federation({"a": 5, "b": 5}, shuffled=("z",)))
    with pytest.raises(InputError, match="learning_rate must be above 0"):
        HorizontalLinearSettings(learning_rate=float("nan"))


def attack(setup: Federation, coalition: tuple[str, ...], n_known: int):
    result = run(setup)
    secret = Secret(SecretKind.FEATURES, "b")
    values = result.truth.of(secret).values
    picks = np.random.default_rng(3).permutation(values.size)[:n_known]
    rows, columns = np.unravel_index(picks, values.shape)
    knowledge = Knowledge(cells=(KnownCells("b", rows, columns, values[rows, columns]),))
    view = result.view(coalition, secret, result.transcript.facts.seen_by(coalition, None), knowledge=knowledge)
    return ATTACKS.get("average-inversion")().run(view, rng=np.random.default_rng(0)), values


@pytest.mark.parametrize(("n_rows", "n_known"), [(2, 4), (4, 13), (7, 25)])
def test_the_partners_rows_from_the_averages(n_rows, n_known):
    """Fewer rows than columns, as many, and more."""
    guess, values = attack(federation({"a": 20, "b": n_rows}), ("a",), n_known)
    assert guess.status is Status.RECOVERED, guess.why
    assert np.abs(guess.values - values).max() < 1e-6


def test_everybody_on_all_rows_costs_digits():
    counts = {"a": 20, "b": 8}
    apart, _ = attack(federation(counts, n_columns=8), ("a",), 50)
    together, _ = attack(federation(counts, n_columns=8, shuffled=()), ("a",), 50)
    name = "condition of the averages"
    assert together.evidence[name] > 100 * apart.evidence[name]


def test_too_few_rounds_are_said():
    guess, _ = attack(federation({"a": 20, "b": 8}, n_columns=8, rounds=3), ("a",), 50)
    assert guess.status is Status.NOT_IDENTIFIABLE
    assert "independent equations for 44 unknowns" in guess.why


def test_a_third_party_hides_the_victim_unless_the_server_sees_single_models():
    counts = {"a": 20, "b": 4, "c": 6}
    guess, _ = attack(federation(counts), ("a", "hub"), 13)
    assert guess.status is Status.NOT_IDENTIFIABLE
    assert "hides b among c" in guess.why
    guess, values = attack(federation(counts, secure_aggregation=False), ("a", "hub"), 13)
    assert guess.status is Status.RECOVERED
    assert np.abs(guess.values - values).max() < 1e-6
    guess, values = attack(federation(counts), ("a", "c"), 13)
    assert guess.status is Status.RECOVERED
    assert np.abs(guess.values - values).max() < 1e-6
