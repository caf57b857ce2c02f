"""Scores of guessed pictures: their figures by hand, their baselines, and what they decide."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.core.adversary import Secret, SecretKind, Symmetry
from fedleak.core.attack import Guess, Status
from fedleak.core.knowledge import Knowledge, PublicSample
from fedleak.core.payload import Table
from fedleak.core.whole.truth import SecretValues, Truth
from fedleak.metrics import metrics_for
from fedleak.metrics.blind import own_rows
from fedleak.metrics.metric import Answered
from fedleak.metrics.null_tables import Population
from fedleak.metrics.picture_luck import _chances, pictures_by_luck
from fedleak.metrics.picture_metrics import MOST_DECIBELS

IMAGES = Secret(SecretKind.IMAGES, "clinic")
UNIT = np.array([0.0, 1.0])


def pictures(n: int = 6, side: int = 8, channels: int = 1, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, side, side, channels)) / 255


def answered(guess: np.ndarray, true: np.ndarray, knowledge: Knowledge | None = None, **options) -> Answered:
    ids = np.arange(len(true))
    made = Guess(IMAGES, Status.PARTIAL, ids, guess)
    return Answered(made, SecretValues(ids, (), true, UNIT), knowledge or Knowledge(), **options)


def scores(found: Answered) -> dict:
    made = [metric.score(found, rng=np.random.default_rng(0)) for metric in metrics_for(SecretKind.IMAGES)]
    return {score.metric: score for score in made if score is not None}


def test_the_squared_error_decides():
    assert metrics_for(SecretKind.IMAGES)[0].name == "mse"


def test_figures_by_hand():
    true = np.full((2, 8, 8, 1), 0.4)
    guess = true.copy()
    guess[0] += 0.1  # 20 dB
    guess[1] += 0.01  # 40 dB
    found = scores(answered(guess, true))
    assert found["mse"].value == pytest.approx((0.01 + 0.0001) / 2)
    assert found["psnr"].value == pytest.approx(-10 * np.log10((0.01 + 0.0001) / 2))
    assert found["psnr-each"].value == pytest.approx(30)
    assert found["exact-pixels"].value == 0
    flat = [(2 * 0.4 * said + 1e-4) / (0.4**2 + said**2 + 1e-4) for said in (0.5, 0.41)]
    assert found["ssim"].value == pytest.approx(np.mean(flat))


def test_a_perfect_guess_has_finite_decibels():
    true = pictures()
    found = scores(answered(true.copy(), true))
    for name in ("psnr", "psnr-each"):
        assert found[name].value == MOST_DECIBELS
        assert found[name].ci == (MOST_DECIBELS, MOST_DECIBELS)
        assert found[name].beats_baseline
    assert found["exact-pixels"].value == 1
    assert found["ssim"].value == pytest.approx(1)


def test_half_a_level_is_exact_and_more_is_not():
    true = pictures()
    assert scores(answered(true + 0.49 / 255, true))["exact-pixels"].value == 1
    off = np.where(true < 0.9, true + 0.51 / 255, true - 0.51 / 255)
    assert scores(answered(off, true))["exact-pixels"].value == 0


def test_guesses_are_cut_to_the_range_of_pixels():
    true = np.ones((3, 8, 8, 1))
    true[0] = 0
    far = np.where(true > 0.5, 7.0, -7.0)
    assert scores(answered(far, true))["mse"].value == 0


def test_similarity_is_that_of_the_formula():
    true, guess = pictures(1, 12), pictures(1, 12, seed=1)
    offsets = np.arange(11) - 5
    weights = np.exp(-(offsets**2) / 4.5)
    window = np.outer(weights, weights) / weights.sum() ** 2
    found = []
    for top in range(2):
        for left in range(2):
            x, y = (one[0, top : top + 11, left : left + 11, 0] for one in (guess, true))
            mean_x, mean_y = (window * x).sum(), (window * y).sum()
            var_x, var_y = (window * (x - mean_x) ** 2).sum(), (window * (y - mean_y) ** 2).sum()
            both = (window * (x - mean_x) * (y - mean_y)).sum()
            light = (2 * mean_x * mean_y + 1e-4) / (mean_x**2 + mean_y**2 + 1e-4)
            found.append(light * (2 * both + 9e-4) / (var_x + var_y + 9e-4))
    assert scores(answered(guess, true))["ssim"].value == pytest.approx(np.mean(found))


@pytest.mark.parametrize("side", [1, 2, 4, 11, 14])
def test_pictures_of_any_size_have_a_similarity(side):
    true = pictures(3, side, 2)
    assert scores(answered(true.copy(), true))["ssim"].value == pytest.approx(1)


def test_grey_and_shuffled_pictures_beat_no_baseline():
    true = pictures(30)
    for guess in (np.full_like(true, 0.5), pictures(30, seed=5), np.roll(true, 1, axis=0)):
        assert not any(score.beats_baseline for score in scores(answered(guess, true)).values())


def test_the_mean_picture_of_a_public_sample_is_blind():
    rng = np.random.default_rng(0)
    mean = rng.random((8, 8, 1))
    true, sample = (np.clip(mean + 0.05 * rng.standard_normal((n, 8, 8, 1)), 0, 1) for n in (12, 200))
    rows = Table(tuple(f"p{i}" for i in range(64)), np.arange(1000, 1200), sample.reshape(200, -1))
    known = Knowledge(samples=(PublicSample("clinic", rows),))
    guess = np.broadcast_to(sample.mean(axis=0), true.shape)
    found = scores(answered(guess, true, known))
    assert found["mse"].baseline == pytest.approx(found["mse"].value, rel=0.03)  # or its median, pixel by pixel
    assert found["psnr"].baseline == pytest.approx(26, abs=1)
    assert not found["psnr"].beats_baseline


def test_own_pictures_of_the_same_size_are_blind_answers_too():
    true, own = pictures(4), pictures(5, seed=2)
    values = SecretValues(np.arange(4), (), true, UNIT)
    truth = Truth(
        {
            IMAGES: values,
            Secret(SecretKind.IMAGES, "lab"): SecretValues(np.arange(10, 15), (), own, UNIT),
            Secret(SecretKind.IMAGES, "shop"): SecretValues(np.arange(4), (), own[:4, :4], UNIT),
        }
    )
    (alike,) = own_rows(truth, ("lab", "shop"), IMAGES, values).alike
    assert np.array_equal(alike.values, own.reshape(5, -1))


def test_matched_pictures_are_held_against_pictures_alike():
    """The baseline of an answer up to row order is matched too: blends of the true pictures, which come nearer."""
    true = pictures(12)
    found = scores(answered(true[::-1].copy(), true, up_to=frozenset({Symmetry.ROW_ORDER})))
    assert found["psnr"].value == MOST_DECIBELS
    assert found["psnr"].beats_baseline
    guess = pictures(12, seed=9)
    assert not scores(answered(guess, true, up_to=frozenset({Symmetry.ROW_ORDER})))["mse"].beats_baseline


def test_a_population_of_wide_rows_has_their_values_and_goes_together_as_they_do():
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((40, 1))
    table = np.hstack([factor + 0.1 * rng.standard_normal((40, 600)), rng.standard_normal((40, 1))])
    drawn = np.concatenate([Population(table).draw(rng) for _ in range(30)])
    assert np.array_equal(np.unique(drawn[:, 0]), np.sort(table[:, 0]))
    assert np.corrcoef(drawn[:, 0], drawn[:, 599])[0, 1] > 0.9
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 600])[0, 1]) < 0.5


def digits() -> tuple[np.ndarray, np.ndarray]:
    from fedleak.data.images import load_images

    found = load_images("sklearn:digits")
    return found.pixels / found.peak, found.labels


def luck(guess: np.ndarray, true: np.ndarray) -> float:
    return pictures_by_luck(answered(guess, true), np.random.default_rng(1))


def test_other_digits_and_mean_digits_come_near_by_luck_alone():
    pixels, labels = digits()
    pairs = np.random.default_rng(0).integers(0, len(pixels), (200, 2))
    others = [luck(pixels[[i]], pixels[[j]]) for i, j in pairs if i != j]
    assert np.mean(np.array(others) <= 0.025) <= 0.025
    means = [pixels[:900][labels[:900] == label].mean(axis=0) for label in range(10)]
    alike = [luck(means[labels[i]][None], pixels[[i]]) for i in range(900, 1100)]
    assert np.mean(np.array(alike) <= 0.025) <= 0.025


def test_a_digit_with_little_noise_is_seen_and_a_blank_one_is_not():
    pixels, _ = digits()
    rng = np.random.default_rng(0)
    seen = [luck(one + 0.02 * rng.standard_normal(one.shape), one) for one in pixels[:40, None]]
    assert np.mean(np.array(seen) <= 0.01) > 0.95
    blank = np.zeros((1, 8, 8, 1))
    assert luck(blank.copy(), blank) == 1.0
    silent = np.full((1, 8, 8, 1), np.nan)
    assert luck(silent, pixels[:1]) == 1.0


def test_small_pictures_of_two_values_share_coefficients_by_luck():
    """Each of them may be as it is by chance, and all of a picture that is right are no chance."""
    rng = np.random.default_rng(2)
    flags = (rng.random((400, 4, 4, 1)) < 0.5).astype(np.float64)
    others = [luck(flags[i : i + 5], flags[i + 5 : i + 10]) for i in range(0, 390, 10)]
    assert np.mean(np.array(others) <= 0.025) <= 0.05
    assert np.mean([luck(flags[[i]], flags[[i]]) <= 0.01 for i in range(40)]) > 0.95


def test_similarity_is_the_same_whatever_unit_pixels_have():
    """Of bytes as of shares of the lightest."""
    true, guess = pictures(3), pictures(3, seed=1)
    as_bytes = Answered(
        Guess(IMAGES, Status.PARTIAL, np.arange(3), 255 * guess),
        SecretValues(np.arange(3), (), 255 * true, 255 * UNIT),
        Knowledge(),
    )
    assert scores(as_bytes)["ssim"].value == pytest.approx(scores(answered(guess, true))["ssim"].value, rel=1e-12)


def test_three_quarters_of_the_way_to_a_blind_answer_is_no_news():
    """Nearer, the chance is artanh of the share of the way."""
    true, off = np.zeros((1, 5)), np.full((1, 5), 2.0)
    off[0, 4] = 0.0
    found = _chances(np.array([[0.0, 1.0, 1.6, 9.0, 0.0]]), true, off)
    assert found[0].tolist() == pytest.approx([1e-12, np.arctanh(0.5), 1.0, 1.0, 1.0])
