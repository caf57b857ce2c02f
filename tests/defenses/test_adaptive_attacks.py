"""A defense is judged by the attack that knows what it declares, and averages or decodes accordingly."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.binary.binary_records import BinaryRecords
from fedleak.attacks.binary.column_products import ColumnProducts
from fedleak.core.adversary import Secret
from fedleak.core.attack import Status
from fedleak.defenses.inexact_sharing import UpdateNoise
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from horizontal import binary, federation, train, view_of


def under_noise(attack, sigma: float, *, rounds: int, seed: int):
    tables = {"hospital": binary(40, 20, 100 + seed), "clinic": binary(8, 20, seed)}
    settings = HorizontalLogisticSettings(rounds=rounds, batch_size=8, shuffled=("hospital",), learning_rate=0.02)
    fed, defense = federation(tables, settings, seed), UpdateNoise(sigma)
    result = train(fed, hooks=defense.hooks(fed), seed=seed, defense=defense)
    target = Secret(attack.produces, "clinic")
    guess = attack().run(view_of(result, ("hospital",), target), rng=np.random.default_rng(seed))
    return guess, result.truth.of(target).values


@pytest.mark.parametrize("seed", [0, 2])
def test_records_are_decoded_through_noise_that_no_product_can_be_rounded_through(seed):
    guess, truth = under_noise(BinaryRecords, 1e-4, rounds=200, seed=seed)
    assert guess.evidence["standard error"] > 0.12, "or else rounding would do"
    assert guess.status is Status.PARTIAL, guess.why
    assert not guess.certificate
    found, wanted = (sorted(map(tuple, rows[:, :-1].tolist())) for rows in (guess.values, truth))
    assert found == wanted


def test_more_rounds_take_noise_away():
    """The error of an average falls as the root of the rounds."""
    few, many = (under_noise(ColumnProducts, 1e-3, rounds=rounds, seed=1) for rounds in (60, 480))
    errors = [float(np.sqrt(np.mean((guess.values - truth) ** 2))) for guess, truth in (few, many)]
    assert errors[1] < 0.6 * errors[0]


def test_noise_that_is_large_enough_leaves_no_records():
    guess, _ = under_noise(BinaryRecords, 1e-2, rounds=60, seed=0)
    assert guess.status is Status.UNDETERMINED
    assert not np.isfinite(guess.values).any()
