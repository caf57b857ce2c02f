"""The experiments of Hu et al. 2022: the fast training against the protocol, and small versions of what they show."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.core.whole.randomness import Randomness, public_stream
from fedleak.papers import EXPERIMENTS
from fedleak.papers.experiment import Band
from fedleak.papers.hu2022.active import batch_sizes, measure
from fedleak.papers.hu2022.feature import Column, recover
from fedleak.papers.hu2022.multiparty import cases, success
from fedleak.papers.hu2022.safe_rounds import measure as measure_rounds
from fedleak.papers.hu2022.tables import ACTIVE, PASSIVE, Rows, federation
from fedleak.papers.hu2022.training_by_epoch import (
    NoiseOfBoth,
    epoch_rows,
    gather,
    one_seed,
    opened_epochs,
    paper_noise,
    train,
)
from fedleak.protocols.linear.vertical_logistic import VerticalLogisticSettings
from fedleak.theory.privacy_budget import NoiseLevels
from fedleak.trial.play import play
from fedleak.trial.progress import Silent


def toy(n_rows: int = 300, n_columns: int = 10, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows, n_columns))
    rows /= np.linalg.norm(rows, axis=1).max()
    labels = (rows @ rng.standard_normal(n_columns) > 0).astype(np.int64)
    return Rows("mnist", rows[:-50], labels[:-50], rows[-50:], labels[-50:], 1.0)


def test_the_fast_training_is_the_protocols():
    """Zero start and no noise: everything but the order of batches is fixed, so compare on one batch of all rows."""
    rows = toy()
    settings = VerticalLogisticSettings(batch_size=250, epochs=6, learning_rate=0.5, cipher="sealed")
    run = play(federation(rows, settings), Randomness.published(0)).run
    fast = list(
        train(
            rows, initialisation="zero", noise=None, batch_size=250, learning_rate=0.5, epochs=6, rng=public_stream(1)
        )
    )
    for party, part in ((ACTIVE, slice(0, 5)), (PASSIVE, slice(5, 10))):
        weights = [r.value.values for r in run.locals[party] if r.name == "weights"][1:]
        np.testing.assert_allclose(weights, [one.weights_after[part] for one in fast], atol=1e-10)


def test_noise_goes_to_the_partners_gradient_only():
    """Eq. 45: the active party's gradient carries the passive party's noise, and the other way round."""
    rows = toy()
    options = {"initialisation": "zero", "batch_size": 50, "learning_rate": 0.5, "epochs": 1}
    quiet, loud = (
        next(train(rows, noise=noise, rng=public_stream(3), **options))
        for noise in (None, NoiseLevels(active=3.0, passive=0.0))
    )
    moved = loud.weights_after - quiet.weights_after
    assert np.abs(moved[:5]).max() == 0
    assert np.abs(moved[5:]).min() > 0
    noise = loud.seen - loud.true
    np.testing.assert_allclose(moved[5:], -0.5 * rows.train[loud.batch][:, 5:].T @ noise / (4 * 50), atol=1e-12)


@pytest.mark.parametrize(("epsilon", "expected"), [(None, 1.0), (0.5, 0.5)])
def test_attack_by_packed_products_matches_the_shortcut(epsilon, expected):
    rows = toy(1074, 20)  # 31 x 10 own columns cover a batch of 256
    noise = paper_noise(epsilon, epochs=30)
    opened = opened_epochs(rows, "xavier", noise, epochs=2, seed=0, progress=Silent())
    shortcut = one_seed(rows, "xavier", noise, epochs=2, seed=0, passive=True)
    assert opened["success"].mean() == pytest.approx(expected, abs=0.05)
    assert shortcut["success"].mean() == pytest.approx(expected, abs=0.05)
    assert set(opened) == set(shortcut)
    assert shortcut["passive_success"].mean() == pytest.approx(opened["passive_success"].mean(), abs=0.06)
    assert (opened["passive_success"].mean() > 0.6) == (epsilon is None)


def test_noise_of_both_parties_is_declared_and_added_as_given():
    defense = NoiseOfBoth(NoiseLevels(active=2.0, passive=3.0))
    parties = federation(toy(), VerticalLogisticSettings())
    hooks = {hook.party: hook.act.keywords["sigma"] for hook in defense.hooks(parties)}
    assert hooks == {ACTIVE: 2.0, PASSIVE: 3.0}
    facts = Facts("vertical-logistic", (PartyFacts(ACTIVE, Role.ACTIVE), PartyFacts(PASSIVE, Role.PASSIVE)))
    assert defense.declare(facts).seen_by((PASSIVE,), None).outside_noise == 2.0
    assert defense.declare(facts).seen_by((ACTIVE,), None).outside_noise == 3.0


def test_bands_and_rows():
    curves = gather([{"success": np.array([1.0, 0.5])}, {"success": np.array([1.0, 0.7])}])
    rows = epoch_rows({"data": "toy"}, curves, ("success",), "note")
    assert rows[0].measured == {"success": 1.0, "success_low": 1.0, "success_high": 1.0}
    assert rows[1].measured["success"] == pytest.approx(0.6)
    assert rows[1].measured["success_low"] == pytest.approx(0.5)
    assert rows[0].bands == rows[1].bands == {"success": Band.STANDARD_ERROR}


@pytest.mark.parametrize(("start", "adversary"), [("xavier", "active"), ("zero", "active"), ("zero", "passive")])
def test_a_real_column_is_recovered_within_the_theorems_epochs(start, adversary):
    found = recover(Column("sklearn:breast_cancer", "mean area"), start, adversary, seed=0)
    assert found.whole
    assert found.error < 1e-8


def test_active_at_the_edge_of_the_packing():
    assert batch_sizes(2, quick=False) == (2, 3, 15, 62, 63)
    found, residues = measure(1, 31, "passive", seed=0)
    assert found["following_protocol"] == 0.0
    assert found["packed_products"] == found["claimed_columns"] == 1.0
    assert found["same_form_to_partner"] == found["in_range_to_partner"] == 1.0
    assert len(residues) == 1


@pytest.mark.parametrize(
    "case",
    [case for case in cases()[:7] if case.scaling != "standard"],
    ids=lambda case: f"{case.method.name}-{case.batch_size}",
)
def test_labels_with_three_parties_where_the_theorem_holds(case):
    score, majority = success(case, seed=0)
    alone_and_too_large = case.batch_size > 8 and len(case.coalition) == 1 and case.method.deviation is None
    assert score == (0.0 if alone_and_too_large else 1.0)
    assert 0.5 <= majority < 1


def test_a_large_start_hides_labels_only_where_rows_are_long():
    short, long = (case for case in cases()[:7] if case.initialisation == "normal")
    assert success(short, seed=0)[0] > 0.99
    assert success(long, seed=0)[0] < 0.8


@pytest.mark.parametrize("noise", [None, NoiseLevels(1.0, 1.0)])
def test_bounds_hold_on_a_toy_training(noise):
    found = measure_rounds(toy(600), "xavier", noise, 0.3, seed=0)
    assert found["first_failure"] > found["T_noisy"]
    assert found["largest_score_before"] < 2
    assert found["T_noisy"] <= found["T"]


def test_all_experiments_are_registered():
    names = {experiment.name for experiment in EXPERIMENTS}
    wanted = ("fig2", "fig3", "fig4", "feature", "active", "multiparty", "safe-rounds")
    assert {f"hu2022/{name}" for name in wanted} <= names
