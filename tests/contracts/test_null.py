"""Null test: on a view that is independent of the secret, no attack beats the baseline."""

from __future__ import annotations

from functools import partial

import pytest
from cheaters import BendsTheYardstick, RemembersTheTruth
from harness import ATTACK_NAMES, situation

from fedleak.metrics.rank_interval import Ranking
from fedleak.testing.contracts import check_null, null_gains, significantly_positive

CASES = partial(situation, "residual-sign")


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_no_attack_scores_on_an_independent_view(name):
    check_null(partial(situation, name))


def test_a_cheater_that_knows_the_truth_is_caught():
    """Here, where it can be told; in a process of its own it has nothing to say."""

    def smuggle(real) -> None:
        RemembersTheTruth.smuggled = dict(zip(real.truth.ids.tolist(), real.truth.values[:, 0].tolist(), strict=True))

    assert significantly_positive(null_gains(CASES, RemembersTheTruth, before=smuggle, isolated=False))
    assert not null_gains(CASES, RemembersTheTruth, before=smuggle).any()


def test_a_cheater_that_bends_the_metric_is_caught(monkeypatch):
    monkeypatch.setattr(Ranking, "area", Ranking.area)  # put back afterwards
    assert significantly_positive(null_gains(CASES, BendsTheYardstick, isolated=False))


def test_the_check_fails_where_there_is_a_gain(monkeypatch):
    monkeypatch.setattr(Ranking, "area", 1.0)
    with pytest.raises(AssertionError, match="must not score on views of other secrets"):
        check_null(CASES)
