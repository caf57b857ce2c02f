"""The last bits of a difference in single precision, held against what it was computed from."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.residuals.rounding_evidence import TRUST, log_ratio, precision_of, spacing

RULED_OUT = 12.0
BOTH = pytest.mark.parametrize("precision", [np.float32, np.float64])


def differences(rng, shape, precision, size=1.0):
    """v - c, c = 0.5 or -0.5, one for each row."""
    v, c = (size * rng.standard_normal(shape)).astype(precision), rng.choice([0.5, -0.5], shape[0]).astype(precision)
    return (v - c[:, None]).astype(np.float64), c


@BOTH
def test_what_a_last_bit_rules_out_was_never_so(precision):
    found, c = differences(np.random.default_rng(1), (4000, 1), precision)
    ratio = log_ratio(found[:, 0], 0.5, -0.5, precision)
    ruled_out = np.abs(ratio) > RULED_OUT
    assert 0.1 < ruled_out.mean() < 0.3
    assert np.array_equal(np.sign(ratio[ruled_out]), np.sign(c[ruled_out]))


@BOTH
def test_many_differences_tell_the_c_that_they_share(precision):
    """Each may be far too large for its sign to tell it."""
    found, c = differences(np.random.default_rng(2), (400, 20), precision, size=2.0)
    ratio = log_ratio(found.ravel(), 0.5, -0.5, precision).reshape(found.shape).sum(axis=1)
    assert (np.sign(ratio) == np.sign(c)).mean() > 0.95


def test_ties_to_even_favour_bits_that_are_not_set():
    """From 1 to 1.5 nothing is ruled out. For c = -0.5 the grid of v is twice as fine as that of d, and half of the v
    are ties: three lengths of it give an even d, one an odd one, where c = 0.5 has two for either."""
    found = log_ratio(np.array([1.25, 1.25 + 2.0**-23]), -0.5, 0.5, np.float32)
    assert np.allclose(found, [TRUST * np.log(1.5), TRUST * np.log(0.5)])


def test_nothing_is_said_where_both_grids_are_alike():
    """Far from zero half a unit changes no grid."""
    assert np.abs(log_ratio(np.array([1000.25, -2500.75]), 0.5, -0.5, np.float32)).max() < 1e-12


@BOTH
def test_the_spacing_is_that_of_numpy(precision):
    values = np.array([0.3, -0.5, 1.0, 1.5, -123.25, 3.0e-5])
    assert np.array_equal(spacing(values, precision), np.abs(np.spacing(values.astype(precision))).astype(float))


def test_only_what_fills_a_precision_is_taken_for_it():
    rng = np.random.default_rng(3)
    found, _ = differences(rng, (200, 1), np.float32)
    assert precision_of(found[:, 0]) is np.float32
    assert precision_of(rng.standard_normal(200)) is np.float64
    for fraction_bits in (16, 32, 40):  # a fixed point
        assert precision_of(np.rint(np.ldexp(rng.standard_normal(200), fraction_bits)) * 2.0**-fraction_bits) is None
    assert precision_of(found[:4, 0]) is None
    assert precision_of(np.zeros(20)) is None
