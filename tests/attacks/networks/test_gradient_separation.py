"""The plug-ins on real runs of the cut network: what they recover, and what they say where they cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import run
from fedleak.attacks.networks.gradient_separation import GradientSeparation
from fedleak.attacks.networks.picture_separation import PictureSeparation
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.whole.federation import Slice
from fedleak.defenses.layer_blurring import LayerGradientNoise
from network_runs import cut_pictures, cut_table

pytest.importorskip("torch")

WIDE = ("linear 12", "activation sigmoid", "linear 3")
DYING = (
    "convolution 4 3 padding=1 bias=false",
    "activation relu",
    "flatten",
    "linear 16",
    "activation relu",
    "linear 3",
)


def tabled(*, owner="fintech", columns=8, **changes):
    """The server's guess of a partner's columns, and the truth in its order."""
    federation = cut_table({"bank": columns, "fintech": columns}, **{"bottom": WIDE, "rounds": 60, **changes})
    return federation, *guessed(GradientSeparation(), federation, Secret(SecretKind.FEATURES, owner))


def guessed(attack, federation, target):
    result = run(federation)
    view = result.view(("server",), target, result.transcript.facts)
    guess, truth = attack.run(view, rng=np.random.default_rng(0)), result.truth.of(target)
    return guess, truth.values[np.searchsorted(truth.ids, guess.ids)]


def test_a_table_comes_out_and_the_gradients_prove_it() -> None:
    _, guess, truth = tabled(batch_size=4)
    assert guess.status is Status.RECOVERED
    assert guess.certificate
    assert len(guess.ids) == 24
    assert guess.values == pytest.approx(truth, abs=1e-3)


def test_batches_wider_than_the_layer_are_solved_by_sums() -> None:
    """More rows in a batch than columns: the spans are everything, the sums still separate."""
    _, guess, truth = tabled(columns=3, batch_size=8)
    assert guess.evidence["from"] == "sums over batches"
    assert guess.values == pytest.approx(truth, abs=1e-3)


def test_a_layer_without_a_bias_is_refused_in_words() -> None:
    _, guess, _ = tabled(batch_size=4, bottom=("linear 12 bias=false", "activation sigmoid", "linear 3"))
    assert guess.status is Status.UNDETERMINED
    assert "has no bias" in guess.why
    assert not len(guess.values)


def test_batches_of_all_rows_separate_none() -> None:
    _, guess, _ = tabled(batch_size=24)
    assert guess.status is Status.UNDETERMINED
    assert "never apart" in guess.why


def test_while_parameters_train_nothing_is_called_recovered() -> None:
    _, guess, _ = tabled(batch_size=4, trained=True, learning_rate=0.5)
    assert guess.status is not Status.RECOVERED
    assert guess.certificate == ""
    assert "do not agree" in guess.why


def test_a_blank_part_of_a_picture_is_named_and_left_out() -> None:
    federation = cut_pictures(bottom=DYING, rounds=40, batch_size=3, initialisation="glorot")
    blank = federation.parties[1]
    pixels = np.array(blank.train.features)
    pixels[4] = 0.0
    held = replace(blank, train=Slice(blank.train.ids, pixels))
    federation = replace(federation, parties=(federation.parties[0], held, federation.parties[2]))
    guess, truth = guessed(PictureSeparation(n_steps=300), federation, Secret(SecretKind.IMAGES, "fintech"))
    untold = np.isnan(guess.values).reshape(len(guess.ids), -1).all(axis=1)
    assert guess.ids[untold].tolist() == [104]
    assert "add nothing to any gradient" in guess.why
    assert np.abs(guess.values - truth)[~untold].mean() < 0.1


def test_changed_gradients_are_told_by_sums_where_spans_break() -> None:
    federation = cut_table({"bank": 8, "fintech": 8}, bottom=WIDE, rounds=60, batch_size=4)
    target = Secret(SecretKind.FEATURES, "fintech")
    result = run(federation, hooks=LayerGradientNoise(share=0.05).hooks(federation))
    view = result.view(("server",), target, result.transcript.facts)
    guess = GradientSeparation().run(view, rng=np.random.default_rng(0))
    assert guess.evidence["from"] == "sums over batches"
    assert guess.evidence["rows determined"] == 24
    assert not guess.certificate
