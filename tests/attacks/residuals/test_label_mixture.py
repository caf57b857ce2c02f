"""Two branches of a regression, half a step apart on either side."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.residuals.label_mixture import Mixture

RNG = np.random.default_rng(3)
N_ROWS = 150
LABELS = np.where(RNG.random(N_ROWS) < 0.5, 1.0, -1.0)
COLUMNS, NOTHING = RNG.normal(size=(N_ROWS, 3)), RNG.normal(size=(N_ROWS, 10))
REST = 0.1 * RNG.normal(size=N_ROWS)
VALUES = COLUMNS @ [1.0, -0.7, 0.5] + REST - 0.5 * LABELS
NO_ODDS, EVEN = np.zeros(N_ROWS), np.ones(N_ROWS)


def beginning(share_wrong):
    wrong = np.random.default_rng(0).random(N_ROWS) < share_wrong
    return np.where(wrong, -LABELS, LABELS)


def test_branches_are_told_apart_where_signs_are_not():
    assert np.mean(np.sign(-VALUES) == LABELS) < 0.8
    found = Mixture(VALUES, 0.5, (COLUMNS, NOTHING), NO_ODDS, EVEN).best([beginning(0.3)])
    assert np.array_equal(np.sign(found.odds), LABELS)


def test_the_beginning_with_most_evidence_counts():
    """Few rows and many columns: some beginnings end elsewhere."""
    mixture = Mixture(VALUES[:20], 0.5, (NOTHING[:20], COLUMNS[:20]), NO_ODDS[:20], EVEN[:20])
    begins = [*np.random.default_rng(1).normal(size=(6, 20)), LABELS[:20]]
    each = [mixture.best([begin]).evidence for begin in begins]
    assert max(each) > min(each) + 0.1
    assert mixture.best(begins).evidence == max(each) == mixture.best(begins[::-1]).evidence


def test_odds_from_elsewhere_count():
    """A row halfway between the branches has no label of its own."""
    values = VALUES.copy()
    values[0] += 0.5 * LABELS[0] - REST[0]
    said = NO_ODDS.copy()
    for odds in (4.0, -4.0):
        said[0] = odds
        found = Mixture(values, 0.5, (COLUMNS,), said, EVEN).best([beginning(0.1)])
        assert np.sign(found.odds[0]) == np.sign(odds)


def test_without_columns_it_is_the_sign():
    values = 0.1 * RNG.normal(size=N_ROWS) - 0.5 * LABELS
    found = Mixture(values, 0.5, (np.zeros((N_ROWS, 0)),), NO_ODDS, EVEN).best([NO_ODDS + 0.1])
    assert np.array_equal(np.sign(found.odds), np.sign(-values))
