"""The arbiter with a data party: scores and gradients solved together, on real runs of the protocols."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import federations
from fedleak.attacks.arbiter.arbiter_collusion import ArbiterCollusion
from fedleak.attacks.arbiter.least_norm_rows import least_norm_rows
from fedleak.attacks.arbiter.opened_training import opened_training
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.linear.vertical_arbiter import VerticalLinearArbiterSettings, VerticalLogisticArbiterSettings
from fedleak.theory.arbiter_equations import ArbiterCollusion as CollusionTheorem
from fedleak.theory.condition import State

SETTINGS = {
    "vertical-linear-arbiter": VerticalLinearArbiterSettings,
    "vertical-logistic-arbiter": VerticalLogisticArbiterSettings,
}
LINEAR, LOGISTIC = SETTINGS
WITH_BANK, WITH_SHOP = ("bank", "referee"), ("shop", "referee")


def federation(rows: np.ndarray, widths: dict[str, int], *, protocol: str = LOGISTIC, **changes) -> Federation:
    """The parties' columns from left to right; bank has the labels."""
    rng = np.random.default_rng(7)
    labels = rows.sum(axis=1) + rng.standard_normal(len(rows))
    if protocol == LOGISTIC:
        labels = (labels > 0).astype(np.float64)
    ids, edges = np.arange(50, 50 + len(rows)), np.cumsum([0, *widths.values()])
    parties = [
        Party(
            name,
            Role.ACTIVE if name == "bank" else Role.PASSIVE,
            tuple(f"{name}{i}" for i in range(width)),
            Slice(ids, rows[:, start : start + width], labels if name == "bank" else None),
        )
        for (name, width), start in zip(widths.items(), edges, strict=False)
    ]
    parties.append(Party("referee", Role.ARBITER, (), Slice(ids, np.zeros((len(rows), 0)))))
    defaults = {"cipher": "sealed", "key_bits": 1024, "learning_rate": 0.1, "loss": False}
    return Federation(protocol, tuple(parties), SETTINGS[protocol](**{**defaults, **changes}))


def gaussian(n_rows: int, n_columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n_rows, n_columns))


def collude(
    setup: Federation,
    coalition=WITH_BANK,
    target: str = "fintech",
    *,
    seed=1,
    noise: GaussianNoise | None = None,
    told=True,
) -> tuple[Guess, np.ndarray, State]:
    """The guess, the truth, and what the theorem says; ``told`` says whether noise is declared."""
    protocol = PROTOCOLS.get(setup.protocol)
    hooks = noise.hooks(setup) if noise else ()
    run = federations.run(setup, seed=seed, hooks=hooks, defense=noise if told else None)
    public = run.transcript.facts
    facts = public.seen_by(coalition, protocol.reveals(setup.settings, public.parties, coalition))
    secret = Secret(SecretKind.FEATURES, target)
    guess = ArbiterCollusion().run(run.view(coalition, secret, facts), rng=np.random.default_rng(0))
    return guess, run.truth.of(secret).values, CollusionTheorem.assess(facts).state


def breast_cancer() -> np.ndarray:
    from sklearn.datasets import load_breast_cancer

    values = load_breast_cancer().data
    order = np.random.default_rng(1).permutation(values.shape[1])
    return ((values - values.mean(axis=0)) / values.std(axis=0))[:, order]


@pytest.mark.parametrize(
    ("width", "changes", "largest"),
    [
        (4, {"batch_size": 569, "epochs": 60, "learning_rate": 0.3, "shuffle": False}, 3e-10),
        (10, {"batch_size": 569, "epochs": 100, "learning_rate": 0.3, "shuffle": False}, 1e-5),
        (4, {"batch_size": 16, "epochs": 5}, 1e-6),
    ],
    ids=["full batch", "full batch, 10 columns", "five epochs"],
)
def test_569_rows_come_out_of_their_scores(width, changes, largest):
    """One recurring batch has as many independent residual vectors as the model has columns, for 569 rows."""
    setup = federation(breast_cancer(), {"fintech": width, "bank": 30 - width}, initialisation="normal", **changes)
    guess, truth, _ = collude(setup)
    assert guess.status is Status.RECOVERED
    assert guess.evidence["solved by"] == "scores"
    assert np.abs(guess.values - truth).max() < largest
    assert "gradient equations that were not used hold" in guess.certificate


@pytest.mark.parametrize("protocol", SETTINGS)
@pytest.mark.parametrize("cipher", ["sealed", "paillier"])
def test_any_party_with_the_arbiter_sees_every_row(protocol, cipher):
    """Without the active party, labels and all columns outside are one sum; the gradients' steps tell them apart."""
    setup = federation(
        gaussian(10, 5), {"bank": 2, "fintech": 2, "shop": 1}, protocol=protocol, batch_size=4, epochs=7, cipher=cipher
    )
    for coalition, target in ((WITH_BANK, "fintech"), (WITH_SHOP, "fintech"), (WITH_SHOP, "bank")):
        guess, truth, _ = collude(setup, coalition, target)
        assert guess.status is Status.RECOVERED
        assert np.abs(guess.values - truth).max() < 1e-8


def test_both_ciphers_open_to_the_same_scores():
    setup = federation(gaussian(8, 3), {"bank": 1, "fintech": 2}, batch_size=8, epochs=6)
    real = replace(setup, settings=replace(setup.settings, cipher="paillier"))
    np.testing.assert_array_equal(collude(setup)[0].values, collude(real)[0].values)


@pytest.mark.parametrize("l2", [0.0, 0.02])
@pytest.mark.parametrize("start", ["zero", "normal"])
def test_scores_and_gradients_together_take_half_the_epochs(start, l2):
    """10 columns, batches of 10: 11 visits or 10 epochs of gradients; together 5.5."""
    rows = gaussian(60, 15)
    for epochs, status in ((5, None), (6, Status.RECOVERED)):
        setup = federation(
            rows, {"bank": 5, "fintech": 10}, batch_size=10, epochs=epochs, initialisation=start, l2=l2, decay=True
        )
        guess, truth, _ = collude(setup)
        assert guess.status is status or status is None
        assert (guess.status is Status.RECOVERED) is (epochs == 6)
    assert guess.evidence["solved by"] == "scores and gradients together"
    assert np.abs(guess.values - truth).max() < 1e-6
    assert "equations more than unknowns hold" in guess.certificate


def test_too_few_equations_are_said_to_be_too_few():
    setup = federation(gaussian(20, 5), {"bank": 2, "fintech": 3}, batch_size=10, epochs=2, initialisation="normal")
    guess, truth, state = collude(setup)
    assert guess.status is Status.PARTIAL
    assert state is State.FAILS
    assert guess.evidence["determined cells"] == 0
    assert "52 of 80 directions are determined; the rest is filled with nothing" in guess.why
    assert np.linalg.norm(guess.values - truth) < 0.8 * np.linalg.norm(truth)
    assert not guess.certificate


@pytest.mark.parametrize("start", ["zero", "normal"])
def test_rows_of_few_equations_agree_with_their_scores(start, monkeypatch):
    """In one system or, beyond its budget, row by row: what the equations say holds of the answer as of the truth."""
    setup = federation(gaussian(20, 8), {"bank": 2, "fintech": 6}, batch_size=10, epochs=3, initialisation=start)
    result, secret = federations.run(setup), Secret(SecretKind.FEATURES, "fintech")
    training = opened_training(result.view(WITH_BANK, secret, result.transcript.facts))
    together = least_norm_rows(training)
    monkeypatch.setattr("fedleak.attacks.arbiter.least_norm_rows.MOST_UNKNOWNS", 1)
    by_row = least_norm_rows(training)
    truth = result.truth.of(secret).values
    assert 0 < by_row.rank < together.rank < training.n_unknowns
    off = [np.linalg.norm(found.values - truth) / np.linalg.norm(truth) for found in (together, by_row)]
    assert off[0] < off[1] < 1
    if start == "zero":
        for found in (together, by_row):
            scores = np.sum(found.values[training.row] * training.walked[training.round], axis=1)
            np.testing.assert_allclose(scores, training.scores, atol=1e-9)


def test_noise_that_is_declared_is_not_taken_for_a_direction():
    setup = federation(gaussian(20, 8), {"bank": 2, "fintech": 6}, batch_size=20, epochs=4, shuffle=False)
    guess, truth, _ = collude(setup, noise=GaussianNoise(0.5), told=True)
    assert guess.status is Status.PARTIAL
    assert np.linalg.norm(guess.values - truth) < 1.2 * np.linalg.norm(truth)


def test_too_few_digits_are_no_impossibility():
    """16 columns that recur, 20 fraction bits: enough equations, and nothing to be read off them."""
    setup = federation(
        gaussian(60, 20), {"bank": 4, "fintech": 16}, batch_size=60, epochs=40, shuffle=False, fraction_bits=20
    )
    guess, _, state = collude(setup)
    assert guess.status is Status.UNDETERMINED
    assert state is State.UNKNOWN
    assert "digits" in guess.why


@pytest.mark.parametrize("told", [True, False])
def test_noise_on_scores_makes_the_residuals_of_a_recurring_batch_independent(told):
    """So that the gradients, which are of the noisy residuals, give the rows; without noise they would not."""
    setup = federation(gaussian(16, 5), {"bank": 2, "fintech": 3}, batch_size=16, epochs=24, shuffle=False)
    guess, truth, state = collude(setup, noise=GaussianNoise(0.5), told=told)
    assert guess.status is Status.RECOVERED
    assert "gradients" in guess.evidence["solved by"]
    assert np.abs(guess.values - truth).max() < 1e-6
    assert state is not State.FAILS


def test_noisy_scores_with_few_rounds_are_not_taken_for_exact():
    setup = federation(gaussian(16, 5), {"bank": 2, "fintech": 3}, batch_size=16, epochs=10, shuffle=False)
    for told in (True, False):
        guess, _, _ = collude(setup, noise=GaussianNoise(0.5), told=told)
        assert guess.status is Status.UNDETERMINED
        assert not np.isfinite(guess.values).any()


def test_equal_columns_move_as_one_and_need_the_gradients():
    rows = gaussian(30, 5)
    rows[:, 4] = rows[:, 3]
    widths = {"bank": 2, "fintech": 3}
    recurring, truth, _ = collude(federation(rows, widths, batch_size=30, epochs=20, shuffle=False))
    assert recurring.status is Status.PARTIAL
    assert np.isfinite(recurring.values).all(axis=0).tolist() == [True, False, False]
    assert np.nanmax(np.abs(recurring.values - truth)) < 1e-8
    shuffled, truth, _ = collude(federation(rows, widths, batch_size=6, epochs=20))
    assert shuffled.status is Status.RECOVERED
    assert np.abs(shuffled.values - truth).max() < 1e-6


def random_case(number: int) -> tuple[bool, bool]:
    """One federation at random; what is named is right. Whether all of it was, and whether the theorem said so."""
    rng = np.random.default_rng([11, number])
    widths = {"bank": int(rng.integers(1, 6)), "fintech": int(rng.integers(1, 8))}
    if rng.random() < 0.4:
        widths["shop"] = int(rng.integers(1, 4))
    n_rows = int(rng.integers(4, 36))
    rows = gaussian(n_rows, sum(widths.values()), seed=number) * 10 ** rng.uniform(-0.5, 0.5, sum(widths.values()))
    if rng.random() < 0.2:
        rows = np.round(rows / 2)  # few values, constant and equal columns among them
    if rng.random() < 0.2:
        rows += 3.0  # far from centred
    rows /= np.linalg.norm(rows, axis=1).mean() / 2
    setup = federation(
        rows,
        widths,
        protocol=str(rng.choice(list(SETTINGS))),
        batch_size=int(rng.integers(1, n_rows + 1)),
        epochs=int(rng.integers(1, 16)),
        learning_rate=float(rng.choice([0.02, 0.1])),
        initialisation=str(rng.choice(["zero", "normal", "xavier"])),
        shuffle=bool(rng.random() < 0.5),
        l2=float(rng.choice([0.0, 0.05])),
        decay=bool(rng.random() < 0.5),
        fraction_bits=int(rng.choice([12, 24, 40, 52])),
    )
    noise = GaussianNoise(float(rng.choice([1e-6, 1e-3, 0.5]))) if rng.random() < 0.25 else None
    insider = str(rng.choice(list(widths)))
    target = str(rng.choice([name for name in widths if name != insider]))
    guess, truth, state = collude(
        setup, (insider, "referee"), target, seed=number, noise=noise, told=bool(rng.random() < 0.5)
    )
    in_part = "rank" in guess.evidence  # the rest is filled: no cell is said to be right
    if in_part and noise is None:
        assert np.linalg.norm(guess.values - truth) <= np.linalg.norm(truth)
    named = np.isfinite(guess.values) & (not in_part)
    largest = np.where(named, np.abs(guess.values - truth), 0.0).max(axis=0)
    share = 0.01 if named.all() else 0.02  # a spread that is seen of a few cells only may be too large
    assert np.all(largest <= share * np.std(truth, axis=0) + 1e-6 * np.abs(truth).max()), f"case {number}: {largest}"
    assert (guess.status is Status.RECOVERED) == bool(named.all())
    return guess.status is Status.RECOVERED, state is State.HOLDS


def test_what_is_named_is_right():
    found = [random_case(number)[0] for number in range(40)]
    assert 10 <= sum(found) <= 35, "some are recovered, and some are not"
