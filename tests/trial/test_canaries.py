"""Redrawn labels: how many, which, and that what is said of them tells recovery from what any useful model predicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.attacks.residuals.own_weights import OwnWeights
from fedleak.auditing.means import Means
from fedleak.auditing.planner import plan_audit
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.core.adversary import Secret, SecretKind, Symmetry
from fedleak.core.attack import Guess, Status
from fedleak.core.finding import Finding, Outcome, Severity
from fedleak.core.knowledge import Knowledge
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Settings, Slice
from fedleak.core.whole.randomness import Randomness, RunKey
from fedleak.core.whole.run import MemorySink
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.metric import Answered
from fedleak.trial.canaries import NOT_TOLD_APART, dealt, n_canaries, parts_of, recovery, redraw
from fedleak.trial.luck import luck_of
from fedleak.trial.progress import Silent
from scenarios import KEY, changed

LABELS = Secret(SecretKind.LABELS, "bank")
N_RUNS = 4  # with redrawn labels; the audit's default


def federation(labels: np.ndarray) -> Federation:
    ids = 100 + np.arange(len(labels))
    bank = Party("bank", Role.ACTIVE, ("a",), Slice(ids, np.zeros((len(labels), 1)), labels))
    fintech = Party("fintech", Role.PASSIVE, ("b",), Slice(ids, np.zeros((len(labels), 1))))
    return Federation("vertical-logistic", (bank, fintech), Settings())


def labels_of(n_rows: int, share: float) -> np.ndarray:
    return (np.arange(n_rows) < max(1, round(share * n_rows))).astype(np.float64)


def runs(labels: np.ndarray, seed: int, n_runs: int = N_RUNS) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each run the labels and which rows are canaries."""
    found = []
    for number in range(1, n_runs + 1):
        drawn = redraw(federation(labels), [LABELS], Randomness.published(seed), number=number, n_runs=n_runs)
        bank = drawn.federation.party("bank").train
        found.append((bank.labels, np.isin(bank.ids, drawn.ids.get(LABELS, []))))
    return found


def test_a_tenth_of_the_rows_is_redrawn_and_more_of_a_small_table():
    counts = {n: n_canaries(n, N_RUNS) for n in (1, 2, 4, 10, 20, 80, 100, 455, 10_000)}
    assert counts == {1: 0, 2: 1, 4: 2, 10: 5, 20: 8, 80: 8, 100: 10, 455: 46, 10_000: 1000}


def test_only_canaries_change_and_every_row_has_its_turn():
    labels = labels_of(40, 0.3)
    found = runs(labels, seed=1)
    for redrawn, canaries in found:
        assert canaries.sum() == 8
        assert (redrawn[~canaries] == labels[~canaries]).all()
    assert sum(canaries for _, canaries in found).max() == 1, "no row twice while others wait"
    again = runs(labels, seed=1)
    assert all((a[0] == b[0]).all() and (a[1] == b[1]).all() for a, b in zip(found, again, strict=True))
    assert any((a[1] != b[1]).any() for a, b in zip(found, runs(labels, seed=2), strict=True)), "the key draws them"


def test_a_redrawn_label_knows_nothing_of_the_row():
    """Over 400 keys, canaries that were positive and canaries that were not are as often positive as all rows."""
    labels = labels_of(40, 0.3)
    drawn = [(labels[canaries], redrawn[canaries]) for seed in range(400) for redrawn, canaries in runs(labels, seed)]
    old, new = (np.concatenate(side) for side in zip(*drawn, strict=True))
    positives, negatives = new[old == 1].mean(), new[old == 0].mean()
    assert abs(positives - negatives) < 4 * np.sqrt(0.25 / (old == 1).sum() + 0.25 / (old == 0).sum())
    assert new.mean() == pytest.approx(0.25), "2 of 8 in every run"


@pytest.mark.parametrize("sizes", [(1, 99), (50, 50), (1, 1, 98), (10, 20, 30, 40)])
@pytest.mark.parametrize("count", [4, 5, 10, 33])
def test_every_class_has_its_share_and_at_least_one_row(sizes, count):
    labels = np.repeat(np.arange(len(sizes)), sizes).astype(np.float64)
    found = dealt(labels, count, np.random.default_rng(0))
    assert len(found) == count
    for one, size in enumerate(sizes):
        share = size / len(labels) * count
        assert max(1, share - len(sizes)) <= (found == one).sum() <= max(1, share + 1)


@pytest.mark.parametrize("labels", [np.ones(40), np.array([0.0, 1.0]), np.array([0.0, 1.0, 1.0])], ids=len)
def test_nothing_is_redrawn_where_that_would_tell_nothing(labels):
    for redrawn, canaries in runs(labels, seed=0):
        assert not canaries.any()
        assert (redrawn == labels).all()


def test_numbers_are_redrawn_as_numbers():
    labels = np.linspace(-3.0, 8.0, 60) ** 3
    for redrawn, canaries in runs(labels, seed=0):
        assert canaries.sum() == 8
        assert np.isin(redrawn[canaries], labels).all()
        assert (redrawn[canaries] != labels[canaries]).any()


def answered(values: np.ndarray, labels: np.ndarray, confidence: np.ndarray | None = None) -> Answered:
    ids = np.arange(len(labels))
    sure = None if confidence is None else confidence[:, None]
    guess = Guess(LABELS, Status.PARTIAL, ids, values[:, None], confidence=sure)
    return Answered(guess, SecretValues.spanning(ids, ("label",), labels[:, None]), Knowledge())


def decided(seed: int, labels: np.ndarray, told) -> bool:
    """Whether an attack leaks by its canaries; ``told`` makes its answer of the run's labels."""
    parts = []
    for redrawn, canaries in runs(labels, seed):
        _, part = parts_of(told(redrawn, np.random.default_rng([seed, len(parts)])), np.flatnonzero(canaries))
        parts.append(part)
    found = recovery([part for part in parts if part is not None], first=None, rng=np.random.default_rng(seed))
    return bool(found) and luck_of([found.tests]).is_none


@pytest.mark.parametrize("share", [0.5, 0.05, 0.01])
@pytest.mark.parametrize("n_rows", [4, 8, 20, 100, 455])
def test_an_attack_that_is_always_right_is_a_leak_whatever_the_table(n_rows, share):
    labels = labels_of(n_rows, share)
    found = [decided(seed, labels, lambda own, _: answered(own, own)) for seed in range(20)]
    assert np.mean(found) >= 0.95


def test_an_attack_that_is_mostly_right_on_twenty_rows_is_a_leak():
    def nine_in_ten(own, rng):
        return answered(np.where(rng.random(len(own)) < 0.9, own, 1 - own), own)

    found = [decided(seed, labels_of(20, 0.5), nine_in_ten) for seed in range(100)]
    assert np.mean(found) >= 0.95


@pytest.mark.parametrize("share", [0.5, 0.05])
@pytest.mark.parametrize("n_rows", [8, 20, 200])
def test_a_model_that_predicts_all_others_is_a_leak_in_a_twentieth_at_most(n_rows, share):
    """It is sure and right on every ordinary row; of canaries it says what their columns say. Runs have luck of their
    own: in some it says 1 to nearly everything."""
    labels = labels_of(n_rows, share)

    def model(own, rng):
        score = 4 * (labels - 0.5) + rng.standard_normal(len(own)) + 3 * rng.standard_normal()
        return answered((score > 0).astype(float), own, 1 / (1 + np.exp(-np.abs(score))))

    found = [decided(seed, labels, model) for seed in range(200)]
    assert np.mean(found) <= 0.05


def test_what_is_said_up_to_a_symmetry_is_not_told_apart():
    whole = replace(answered(labels_of(20, 0.5), labels_of(20, 0.5)), up_to=frozenset({Symmetry.GLOBAL_SIGN}))
    assert parts_of(whole, np.arange(4)) == (whole, None)


def audited(text: str, *, repeats: int = 5, key: RunKey = KEY) -> dict[tuple[str, str | None], Finding]:
    scenario = parse_scenario(text)
    means = Means(repeats=repeats, isolated=False)
    work = Audit(scenario, plan_audit(scenario), lambda _: MemorySink(), Silent(), means, run_key=key)
    work.run()
    return {(found.attack, found.defense): found for found in work.report().findings if found.adversary == ("fintech",)}


SIGN_AND_WEIGHTS = (
    '[[adversary]]\nparties = ["fintech"]\n[[adversary]]\nparties = ["bank"]\n',
    '[[adversary]]\nparties = ["fintech"]\nattacks = ["residual-sign", "own-weights"]\n',
)
NOISE = "gaussian-noise(sigma=200.0)"


def test_a_useful_model_is_no_leak_and_its_predictions_are_told():
    found = audited(changed(SIGN_AND_WEIGHTS, ("sigma = 200.0", "sigma = 0.5"), ("max_rows = 100", "max_rows = 400")))
    sign = found["residual-sign", None]
    assert (sign.outcome, sign.severity, sign.recovery.value) == (Outcome.LEAK, Severity.HIGH, 1.0)
    weights = found["own-weights", "gaussian-noise(sigma=0.5)"]
    assert (weights.outcome, weights.severity) == (Outcome.NO_LEAK, Severity.NONE)
    assert weights.population.beats_baseline
    assert weights.population.value > 0.9 > weights.recovery.value
    assert weights.why.startswith("it predicts as any useful model does")


@pytest.mark.parametrize("seed", range(20))
def test_the_exact_leak_of_twenty_rows_is_found(seed):
    rows = ("max_rows = 100", "max_rows = 25")  # of which a fifth is held out
    without_defense = ('[[defense]]\nname = "gaussian-noise"\nsigma = 200.0\n', "")
    found = audited(changed(SIGN_AND_WEIGHTS, rows, without_defense), key=RunKey.published(seed))
    sign = found["residual-sign", None]
    assert (sign.outcome, sign.severity) == (Outcome.LEAK, Severity.HIGH)
    assert (sign.recovery.n, sign.population.n) == (32, 5 * 20 - 32)


def test_one_run_does_not_tell_them_apart_and_says_so():
    found = audited(changed(SIGN_AND_WEIGHTS), repeats=1)
    weights = found["own-weights", None]
    assert weights.population is None
    assert weights.recovery is None
    assert weights.why.endswith(f"({NOT_TOLD_APART}: one run)")
    assert NOT_TOLD_APART not in found["residual-sign", None].why, "an exact claim is decided by one run"


def test_an_attack_that_reads_the_bytes_of_ciphertexts_is_decided_on_the_run_that_has_them(monkeypatch):
    monkeypatch.setattr(OwnWeights, "reads_bytes", True)
    found = audited(changed(SIGN_AND_WEIGHTS), repeats=3)
    weights = found["own-weights", None]
    assert weights.why.endswith("one run)")
    assert weights.population is None
    assert found["residual-sign", None].population is not None
