"""Verdicts about boosted trees that once said "exact", "impossible" or "recovered" and were wrong."""

from __future__ import annotations

import numpy as np
import pytest

from boosted_runs import boosted, with_features
from fedleak.attacks import ATTACKS
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.core.knowledge import Knowledge, KnownColumn
from fedleak.core.whole.randomness import Randomness
from fedleak.deviations.marked_rows import ReverseSum
from fedleak.testing.claims import wrong_cells
from fedleak.trial.play import play

BINS, THRESHOLDS = (Secret(kind, "fintech") for kind in (SecretKind.BINS, SecretKind.THRESHOLDS))


def tried(name, federation, target, **played):
    done = play(federation, Randomness.published(1), **played)
    columns = tuple(KnownColumn("fintech", name, low=-5.0, high=5.0) for name in federation.parties[1].columns)
    knowledge = Knowledge(columns=columns) if target is THRESHOLDS else Knowledge()
    attack = ATTACKS.get(name)
    attempt = done.attempt(attack, ("bank",), target, knowledge, isolated=False)
    verdict = attack.predict(done.view(("bank",), target, knowledge).facts).verdict
    return verdict, attempt.guess, wrong_cells(attempt, done.run.truth.of(target))


def with_two_values(federation):
    features = federation.parties[1].train.features.copy()
    features[:, 0] = features[:, 0] > 0
    return with_features(federation, "fintech", features)


@pytest.mark.parametrize(
    "changes", [{}, {"row_share": 0.6, "n_trees": 1}, {"column_share": 0.4, "n_trees": 1}], ids=str
)
def test_marks_are_not_exact_where_a_column_has_one_cut_or_is_not_in_a_tree(changes):
    """Of two values the second may be no value; rows and columns that no tree has are in no sum."""
    whole = boosted({"bank": 2, "fintech": 2}, **changes)
    federation = with_two_values(whole) if not changes else whole
    verdict, guess, wrong = tried(
        "reverse-sum", federation, BINS, deviation=ReverseSum(key_bits=1024), deviating="bank"
    )
    assert "missing" in wrong
    assert (verdict, guess.status) == (Verdict.PARTIAL, Status.PARTIAL)


def test_hidden_columns_are_no_proof_that_sums_tell_nothing():
    verdict, guess, _ = tried("histogram-decoding", boosted({"bank": 2, "fintech": 1}, reveal_feature=False), BINS)
    assert (verdict, guess.status) == (Verdict.UNKNOWN, Status.UNDETERMINED)


@pytest.mark.parametrize(("reveal", "verdict"), [(True, Verdict.EXACT), (False, Verdict.UNKNOWN)])
def test_the_printed_search_is_exact_where_columns_are_told(reveal, verdict):
    federation = boosted({"bank": 2, "fintech": 2}, enrolled_records=True, reveal_feature=reveal, n_test=6)
    found, guess, wrong = tried("threshold-search-printed", federation, THRESHOLDS)
    assert (found, guess.status is Status.RECOVERED, wrong == "") == (verdict, reveal, reveal)


@pytest.mark.parametrize("name", ["threshold-search", "threshold-search-printed"])
def test_no_split_is_nothing_recovered(name):
    federation = boosted({"bank": 2, "fintech": 2}, enrolled_records=True, n_test=6)
    constant = with_features(federation, "fintech", np.ones_like(federation.parties[1].train.features))
    _, guess, wrong = tried(name, constant, THRESHOLDS)
    assert (guess.status, guess.values.size, wrong) == (Status.UNDETERMINED, 0, "")
