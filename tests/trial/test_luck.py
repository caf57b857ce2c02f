"""How rarely luck is called a leak, and that correction hides none that is real."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest

from fedleak.core.attack import Status
from fedleak.core.finding import Outcome, Severity
from fedleak.metrics.learnt_means import chance_as_near
from fedleak.metrics.row_tests import RowTest
from fedleak.metrics.tails import tail
from fedleak.trial.luck import decide_together, holm, luck_of, over_runs
from synthetic import found

DRAWS = 120
SIZES = (2, 3, 5, 12, 50)  # rows
LIMIT = 0.05 * DRAWS + 3 * (0.05 * 0.95 * DRAWS) ** 0.5  # at most 5 %, within three standard errors


def normal(n, d, draw):
    return draw.standard_normal(d) + draw.standard_normal((n, d))


def skewed(n, d, draw):
    return np.exp(draw.standard_normal((n, d)) + 0.5 * draw.standard_normal(d))


def correlated(n, d, draw):
    return draw.standard_normal((n, 1)) + 0.5 * draw.standard_normal((n, d))


def mostly_equal(n, d, draw):
    cells = draw.standard_normal((n, d))
    return np.where(np.abs(cells) > 1.645, cells, 1.0)


def rare(n, d, draw):
    return (draw.random((n, d)) < 0.1).astype(float)


def scaled(n, d, draw):
    cells = np.exp(draw.standard_normal((n, d)))
    return (cells - cells.min(axis=0)) / np.ptp(cells, axis=0)


@pytest.mark.parametrize("table", [normal, skewed, correlated, mostly_equal, rare, scaled], ids=lambda t: t.__name__)
def test_a_table_of_other_people_is_rarely_a_leak(table):
    leaks = 0
    for seed in range(DRAWS):
        draw, n, d = np.random.default_rng(seed), SIZES[seed % len(SIZES)], 1 + 3 * (seed % 2)
        leaks += found(table(n, d, draw), table(n, d, draw)).outcome is Outcome.LEAK
    assert leaks <= LIMIT


def test_a_correlation_of_a_half_is_found_among_a_hundred_rows():
    hits = 0
    for seed in range(20):
        draw = np.random.default_rng(seed)
        true, guess = draw.standard_normal((2, 100, 5))
        guess[:, 0] = true[:, 0] + 3**0.5 * guess[:, 0]
        finding = found(true, guess)
        hits += finding.leaking_columns == ("c0",)
    assert hits >= 16, "18 of these 20; the rest is what five columns and four measures cost"


def test_adding_twenty_attacks_that_know_nothing_hides_no_exact_leak():
    draw = np.random.default_rng(0)
    true = draw.standard_normal((40, 2))
    exact = found(true, true, status=Status.RECOVERED)
    null = [found(true, draw.standard_normal(true.shape)) for _ in range(20)]
    first, *others = decide_together([exact, *null])
    assert (first.outcome, first.severity) == (Outcome.LEAK, Severity.HIGH)
    assert first.p_value <= first.p_corrected <= 0.025
    assert not any(one.outcome is Outcome.LEAK for one in others)
    assert all(one.p_corrected >= one.p_value for one in others)


def test_a_leak_that_may_be_one_of_many_chances_is_none_unless_it_is_proved_or_perfect():
    draw = np.random.default_rng(1)
    true = draw.standard_normal((40, 1))
    lucky = replace(found(true, true + draw.standard_normal((40, 1))), p_value=0.02)
    assert lucky.outcome is Outcome.LEAK
    null = [replace(lucky, outcome=Outcome.NO_LEAK, p_value=0.5)] * 3
    corrected = decide_together([lucky, *null])[0]
    assert (corrected.outcome, corrected.severity) == (Outcome.NO_LEAK, Severity.NONE)
    assert (corrected.p_value, corrected.p_corrected) == (0.02, 0.08)
    assert "4 attacks" in corrected.why
    assert corrected.leaking_columns == ()
    proved = replace(lucky, certificate="the one solution")
    assert decide_together([proved, *null])[0].outcome is Outcome.LEAK
    perfect = replace(found(true, true, status=Status.RECOVERED), p_value=0.02)
    assert decide_together([perfect, *null])[0].outcome is Outcome.LEAK


def test_attacks_on_other_secrets_or_by_others_are_another_matter():
    true = np.random.default_rng(2).standard_normal((40, 1))
    leak = replace(found(true, true), p_value=0.02)
    elsewhere = [replace(leak, adversary=("clinic",)), replace(leak, defense="noise")]
    assert [one.p_corrected for one in decide_together([leak, *elsewhere])] == [0.02, 0.02, 0.02]
    silent = replace(leak, outcome=Outcome.ERRORED, p_value=None)
    assert decide_together([leak, silent])[1].p_corrected is None


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_columns_and_measures_are_corrected_for():
    a = [RowTest("a", "hits", 0.001), RowTest("a", "mean", 1.0)]
    tests = [*a, RowTest("b", "hits", 0.02), RowTest(None, "hits", 1.0)]
    luck = luck_of([tests])
    assert luck.columns == {"a": 0.002, "b": 0.02}
    assert luck.leaking == {"a"}
    assert luck.p_value == pytest.approx(0.006)


def test_more_than_half_of_the_runs_must_show_it():
    def runs(*chances):
        return over_runs([RowTest(None, "hits", chance) for chance in chances])

    assert runs(0.01, 0.01, 0.01, 1.0, 1.0) == pytest.approx(0.01 * 5 / 3)
    assert runs(0.01, 0.01, 1.0, 1.0, 1.0) == 1.0
    assert runs(0.01, 0.01, 0.01) == 0.01, "the same luck each time"
    gains = [RowTest(None, "hits", 0.001, gain) for gain in (1.0, -1.0, 1.0, -1.0, 1.0)]
    assert over_runs(gains) > 0.2


def test_to_come_near_by_luck_is_as_likely_as_any_falling_density_allows():
    assert chance_as_near(0.1, 1.0) == pytest.approx(log(1.1 / 0.9) / 2)
    assert chance_as_near(0.9, 1.0) == chance_as_near(0.1, 0.0) == 1.0
    draw, reached = np.random.default_rng(3), []
    for scale in (0.2, 1.0, 5.0):
        guesses = scale * draw.standard_normal(20_000)
        reached.append(np.mean([chance_as_near(abs(guess - 1.0), 1.0) <= 0.05 for guess in guesses]))
    assert max(reached) <= 0.05


def test_a_tail_is_the_share_of_draws_and_goes_on_beyond_them():
    drawn = np.random.default_rng(4).gamma(4.0, size=400)
    assert tail(4.0, drawn) == (1 + (drawn >= 4.0).sum()) / 401
    far = tail(20.0, drawn)
    assert 1e-8 < far < 1e-4, "of a gamma distribution it is 2e-6"
    assert tail(20.0, drawn, least=0.001) == 0.001
    assert tail(1.0, np.ones(400) * 0.5) == 1.0, "nothing to shuffle"
