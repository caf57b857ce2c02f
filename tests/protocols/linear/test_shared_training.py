"""Training on secret shares: the ideal functionality's weights bit for bit, plaintext descent's up to rounding."""

from __future__ import annotations

import numpy as np
import pytest
from test_approximations import plaintext_weights

from federations import rescaled, run, sealed, vertical
from fedleak.core.errors import InputError, PlaintextRangeError
from fedleak.core.transcript import EVERYONE
from fedleak.crypto.fixed_point import encode
from fedleak.crypto.ring_arithmetic import IdealRing, signed, words
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.models.sigmoid import Approximation
from fedleak.protocols.linear.shared_training import Arithmetic, Held, counted, descent_step, public_rate
from fedleak.protocols.linear.vocabulary import VerticalLogisticFacts

WIDTHS = {"bank": 3, "fintech": 4}


def shared(widths=WIDTHS, **changes):
    return vertical(widths, sealed(gradients="secret-shared", initialisation="normal", learning_rate=1.0, **changes))


def opened(result, name="weight-share"):
    """The sum of what all parties keep, after the last round."""
    last = [[r for r in records if r.name == name][-1].value.values for records in result.locals.values()]
    return signed(np.sum(last, axis=0, dtype=np.uint64))


def ideal_weights(federation, result):
    """The same program by one who knows all numbers."""
    settings = federation.settings
    bits = settings.share_fraction_bits
    table = words(np.hstack([encode(party.train.features, bits) for party in federation.parties]))[None]
    first = [next(r for r in result.locals[p.name] if r.name == "weights").value.values for p in federation.parties]
    signs = words(2 * federation.party("bank").train.labels - 1)[None]
    weights = words(encode(np.concatenate(first), bits))[None]
    how = Arithmetic(Approximation(settings.approximation), bits, settings.learning_rate)
    for message in result.transcript.messages:
        if message.receiver == EVERYONE and message.step == "train.batch":
            batch = message.payload.values - 100
            held = Held(weights, signs, np.zeros((1, len(batch)), dtype=np.uint64))
            _, weights = descent_step(IdealRing(table), held, batch, how)
    return signed(weights[0])


@pytest.mark.parametrize("approximation", list(Approximation))
@pytest.mark.parametrize("widths", [WIDTHS, {**WIDTHS, "shop": 2}, {"bank": 0, "fintech": 4}], ids=str)
def test_shares_open_to_the_ideal_weights_bit_for_bit(approximation, widths):
    federation = shared(widths, approximation=approximation, batch_size=7)
    result = run(federation)
    np.testing.assert_array_equal(opened(result), ideal_weights(federation, result))
    expected = plaintext_weights(federation, result, approximation)
    np.testing.assert_allclose(np.ldexp(opened(result).astype(float), -20), expected, atol=3e-5)


def test_the_facts_foretell_what_the_run_counts():
    for approximation in Approximation:
        result = run(shared(approximation=approximation, batch_size=7))
        known = result.transcript.facts.of(VerticalLogisticFacts)
        assert f"{known.shared_rounds:,} rounds" in result.notes[0]
        assert f"{known.shared_bytes:,} bytes from each" in result.notes[0]
        assert f"{known.dealt_bytes:,} bytes to each" in result.notes[0]
        sent = [m for m in result.transcript.messages if m.step == "train.opening" and m.sender == "bank"]
        assert len(sent) == known.shared_rounds
        assert sum(m.payload.values.nbytes for m in sent) == known.shared_bytes
        dealt = [r.value.values.nbytes for r in result.locals["bank"] if r.name == "dealt"]
        assert sum(dealt) == known.dealt_bytes


def test_the_cost_of_any_size_is_told_at_once():
    """A stranger's scenario may declare millions of rows and epochs; ``check`` lays none of them out."""
    how = Arithmetic(Approximation.PIECEWISE, 20, 1.0)
    once = counted(how, 10_000_000, 5, 3, 1)
    assert counted(how, 10_000_000, 5, 3, 10**9).n_rounds == 1 + 10**9 * (once.n_rounds - 1)
    assert counted(how, 7, 5, 100, 1) == counted(how, 7, 5, 7, 1), "one batch of fewer rows than it may have"


def test_no_party_keeps_a_gradient_or_a_trained_weight():
    result = run(shared())
    for records in result.locals.values():
        names = {record.name for record in records if record.round >= 0}
        assert names == {"dealt", "gradient-share", "weight-share"}


def test_another_run_of_the_same_key_has_other_shares_of_the_same_weights():
    first, second = run(shared()), run(shared())
    np.testing.assert_array_equal(opened(first), opened(second))
    one, other = ([r for r in x.locals["bank"] if r.name == "weight-share"][-1].value.values for x in (first, second))
    assert not np.any(one == other)


def test_noise_on_scores_reaches_the_weights():
    federation, defense = shared(), GaussianNoise(sigma=1.0)
    noised = run(federation, hooks=defense.hooks(federation), defense=defense)
    assert np.abs(opened(noised) - opened(run(federation))).max() > 1 << 10


def test_numbers_that_do_not_fit_are_refused_before_a_round_is_sent():
    with pytest.raises(PlaintextRangeError, match="fewer share_fraction_bits"):
        run(rescaled(shared(share_fraction_bits=24), 1e6))
    with pytest.raises(InputError, match="share_fraction_bits must be from 8 to 28; got 40"):
        sealed(share_fraction_bits=40)


@pytest.mark.parametrize("rate", [1e-9, 0.0015625, 0.1, 1.0, 7.5])
def test_the_public_rate_is_the_learning_rate(rate):
    factor, places = public_rate(rate)
    assert factor / 2**places == pytest.approx(rate, rel=2**-19)


def test_what_is_computed_on_shares_is_no_ideal_functionality():
    for changes in ({}, {"approximation": "piecewise"}):
        assert sealed(**changes).ideal_choices == sealed(gradients="secret-shared", **changes).ideal_choices == ()
