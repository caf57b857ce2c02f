"""The cubic and the piecewise residual as training options."""

from __future__ import annotations

import numpy as np
import pytest

from federations import run, sealed, vertical
from fedleak.core.adversary import Capability
from fedleak.core.errors import InputError
from fedleak.core.transcript import EVERYONE
from fedleak.models.sigmoid import Approximation, residual
from fedleak.protocols.linear.vertical_logistic import VerticalLogistic
from fedleak.protocols.linear.vocabulary import VerticalLogisticFacts

WIDTHS = {"bank": 3, "fintech": 4}
THREE = {**WIDTHS, "shop": 2}


def plaintext_weights(federation, result, approximation):
    """The same descent without encryption, from eqs. 123 and 139."""
    rows = np.hstack([party.train.features for party in federation.parties])
    signs = 2.0 * federation.party("bank").train.labels - 1
    first = [next(r for r in result.locals[p.name] if r.name == "weights").value.values for p in federation.parties]
    weights = np.concatenate(first)
    for message in result.transcript.messages:
        if message.receiver == EVERYONE and message.step == "train.batch":
            batch = message.payload.values - 100
            found = residual(rows[batch] @ weights, signs[batch], approximation)
            weights = weights - federation.settings.learning_rate * rows[batch].T @ found / len(batch)
    return weights


@pytest.mark.parametrize(
    ("approximation", "widths", "to_within"),
    [("cubic", WIDTHS, 1e-9), ("cubic", THREE, 1e-5), ("piecewise", WIDTHS, 3e-6)],
)
@pytest.mark.parametrize("initialisation", ["zero", "normal"])
def test_weights_equal_plaintext_descent(approximation, widths, to_within, initialisation):
    federation = vertical(widths, sealed(approximation=approximation, initialisation=initialisation, learning_rate=1.0))
    result = run(federation)
    final = [[r for r in result.locals[p] if r.name == "weights"][-1].value.values for p in widths]
    expected = plaintext_weights(federation, result, Approximation(approximation))
    np.testing.assert_allclose(np.concatenate(final), expected, atol=to_within)


@pytest.mark.parametrize(("approximation", "widths"), [("piecewise", WIDTHS), ("cubic", THREE)])
def test_what_encryption_does_not_reach_is_computed_on_shares_without_ciphertexts(approximation, widths):
    federation = vertical(widths, sealed(approximation=approximation))
    result = run(federation)
    assert "on shares modulo 2^64, triples from an ideal dealer" in result.notes[0]
    assert result.transcript.facts.of(VerticalLogisticFacts).gradients == "opened-shares"
    assert {m.step for m in result.transcript.messages} == {"train.batch", "train.opening", "train.gradient-part"}
    revealed = VerticalLogistic.reveals(federation.settings, result.transcript.facts.parties, ("fintech",))
    assert Capability.CIPHERTEXTS not in revealed
    assert Capability.OWN_GRADIENT in revealed


def test_two_parties_encrypt_the_cubic_and_other_names_are_refused():
    result = run(vertical(WIDTHS, sealed(approximation="cubic")))
    assert result.transcript.facts.of(VerticalLogisticFacts).gradients == "encrypted-exchange"
    with pytest.raises(InputError, match="approximation must be one of"):
        sealed(approximation="quartic")
    with pytest.raises(InputError, match="gradients must be one of"):
        sealed(gradients="hidden")


def test_the_truth_holds_scores_and_inner_products():
    from fedleak.core.adversary import Secret, SecretKind

    federation = vertical(WIDTHS, sealed(initialisation="xavier"))
    truth = run(federation).truth
    scores = truth.of(Secret(SecretKind.PARTIAL_SCORES, "fintech"))
    assert scores.ids.shape == (2 * 24, 2)
    gram = truth.of(Secret(SecretKind.GRAM, "fintech"))
    features = federation.party("fintech").train.features
    assert gram.values.shape == (24, 24)
    np.testing.assert_allclose(gram.values[0, 1], features[0] @ features[1])
