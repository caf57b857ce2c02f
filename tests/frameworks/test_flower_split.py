"""A split network on Flower's messages, without Flower: its layers, what is recorded, and what attacks read of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.attacks.networks.embedding_gram import EmbeddingGram
from fedleak.attacks.networks.gradient_labels import GradientClustering
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.errors import FileFormatError
from fedleak.core.view import View
from fedleak.frameworks.flower.flower_split_inside import Holder, batches_of
from fedleak.frameworks.flower.flower_split_steps import record_split
from fedleak.frameworks.flower.split_layers import Dense, Top
from fedleak.frameworks.job import CAPTURE, TRUTH, Held, Job
from fedleak.frameworks.recipe import recipe_of
from fedleak.storage.capture_and_truth import load_capture, load_truth


def job_in(folder, **options):
    rng = np.random.default_rng(7)
    ids = np.arange(40) + 10
    labels = rng.permutation(np.arange(40) % 2)
    bank = Held("bank", ("a", "b"), ids, rng.standard_normal((40, 2)), labels)
    shop = Held("shop", ("c", "d", "e"), ids, rng.standard_normal((40, 3)), None)
    chosen = {**recipe_of("flower-split").options, "rounds": 8, **options}
    return Job(folder, "1.41.0", 3, chosen, (bank, shop))


def trained(job):
    """The client's part as Flower's messages have it: embeddings go up, gradients come down."""
    holder, cells = Holder(job), job.parties[1].cells
    bottom = Dense.drawn(cells.shape[1], job.options["outputs"], np.random.default_rng(5))
    sent, back = [], []
    for rows in batches_of(job):
        sent.append(bottom.outputs(cells[rows]))
        back.append(holder.step(rows, sent[-1]))
        bottom.step(cells[rows], back[-1], job.options["learning_rate"])
    return sent, back


def view_of(job, party, secret):
    capture = load_capture(job.folder / CAPTURE)
    facts = replace(capture.transcript.facts, adversary=(party,))
    messages = capture.transcript.concerning(frozenset({party}))
    return View((party,), secret, facts, messages, {party: capture.locals[party]})


def test_the_top_s_gradient_is_that_of_its_mean_loss():
    """Against differences, in every entry of a few embeddings."""
    rng = np.random.default_rng(0)
    embeddings, labels = rng.standard_normal((4, 3)), np.array([0, 1, 1, 0])

    def top():
        return Top.drawn(3, 5, 2, np.random.default_rng(1))

    def loss(inputs):
        drawn = top()
        scores = drawn.last.outputs(np.tanh(drawn.first.outputs(inputs)))
        return float(np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(4), labels]))

    found = top().step(embeddings, labels, 0.1)
    for place in np.ndindex(embeddings.shape):
        moved = np.zeros_like(embeddings)
        moved[place] = 1e-6
        difference = (loss(embeddings + moved) - loss(embeddings - moved)) / 2e-6
        assert found[place] == pytest.approx(difference, abs=1e-8)


def test_the_label_holder_gets_the_inner_products_of_the_client_s_rows(tmp_path):
    job = job_in(tmp_path)
    record_split(job, batches_of(job), *trained(job))
    guess = EmbeddingGram().run(view_of(job, "bank", Secret(SecretKind.GRAM, "shop")), rng=np.random.default_rng(0))
    cells = job.parties[1].cells
    assert guess.status is Status.RECOVERED
    assert guess.ids.tolist() == job.parties[1].ids.tolist()
    assert np.abs(guess.values - cells @ cells.T).max() < 1e-9
    assert load_truth(tmp_path / TRUTH).of(Secret(SecretKind.LABELS, "bank")).values.shape == (40, 1)


def test_the_client_tells_classes_by_the_gradients_that_it_receives(tmp_path):
    job = job_in(tmp_path)
    record_split(job, batches_of(job), *trained(job))
    view = view_of(job, "shop", Secret(SecretKind.LABELS, "bank"))
    guess = GradientClustering().run(view, rng=np.random.default_rng(0))
    same = np.mean(guess.values[:, 0] == job.parties[0].labels)
    assert max(same, 1 - same) == 1.0  # up to the names of the classes


def test_batches_are_dealt_anew_in_every_epoch(tmp_path):
    found = batches_of(job_in(tmp_path, batch_size=16, rounds=6))
    assert [len(rows) for rows in found] == [16, 16, 8] * 2
    assert sorted(np.concatenate(found[:3])) == list(range(40))
    assert not np.array_equal(found[0], found[3])


def test_a_recording_that_lacks_a_round_is_told_and_leaves_nothing(tmp_path):
    job = job_in(tmp_path)
    sent, back = trained(job)
    with pytest.raises(FileFormatError, match="every batch must have embeddings and gradients; got 8, 8 and 7"):
        record_split(job, batches_of(job), sent, back[:-1])
    assert list(tmp_path.iterdir()) == []


def test_federations_of_one_framework_share_an_environment():
    assert recipe_of("flower-split").environment == recipe_of("flower").environment
    assert recipe_of("flower-split").environment != recipe_of("xgboost").environment
