"""Gradients of a torch client behind the weights that it sends, without Flower: what is recorded, what is solved."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.networks.gradient_factoring import GradientFactoring
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.errors import FileFormatError
from fedleak.core.view import View
from fedleak.frameworks.flower.flower_torch_inside import descend, module_of
from fedleak.frameworks.flower.flower_torch_steps import gradient_of, record_gradients
from fedleak.frameworks.job import CAPTURE, Held, Job
from fedleak.frameworks.recipe import recipe_of
from fedleak.storage.capture_and_truth import load_capture


def job_in(folder):
    rng = np.random.default_rng(2)

    def held(name, n_rows):
        columns = tuple("abcde")
        return Held(name, columns, np.arange(n_rows) + 70, rng.standard_normal((n_rows, 5)), np.arange(n_rows) % 2)

    return Job(folder, "1.41.0", 1, recipe_of("flower-torch").options, (held("clinic", 4), held("lab", 4)))


def arrays(module):
    return {name: value.detach().numpy().copy() for name, value in module.state_dict().items()}


def passed(job):
    found = []
    for party in job.parties:
        module = module_of(job)
        before = arrays(module)
        descend(module, party.cells, np.asarray(party.labels), job.options["learning_rate"])
        found.append((before, arrays(module)))
    return [found]


def test_the_server_solves_one_step_of_a_client_for_its_rows(tmp_path):
    job = job_in(tmp_path)
    record_gradients(job, passed(job))
    capture = load_capture(tmp_path / CAPTURE)
    view = View(
        ("server",),
        Secret(SecretKind.FEATURES, "clinic"),
        capture.transcript.facts,
        capture.transcript.concerning(frozenset({"server"})),
        {},
    )
    guess = GradientFactoring().run(view, rng=np.random.default_rng(0))
    assert guess.status in (Status.RECOVERED, Status.PARTIAL)
    apart = np.abs(guess.values[:, None, :] - job.parties[0].cells[None, :, :]).max(axis=2)
    assert sorted(apart.argmin(axis=1)) == [0, 1, 2, 3]  # each row once: their order stays unknown
    assert apart.min(axis=1).max() < 1e-3


def test_gradients_are_those_of_torch(tmp_path):
    job = job_in(tmp_path)
    module = module_of(job)
    before = arrays(module)
    descend(module, job.parties[0].cells, np.asarray(job.parties[0].labels), 0.5)
    told = gradient_of(before, arrays(module), 0.5)
    for name, parameter in module.named_parameters():
        assert np.abs(told[name] - parameter.grad.numpy()).max() < 1e-7


def test_a_client_that_is_missing_is_told_and_nothing_is_left(tmp_path):
    job = job_in(tmp_path)
    with pytest.raises(FileFormatError, match="every client must have sent parameters in round 0; got 1 of 2"):
        record_gradients(job, [passed(job)[0][:1]])
    assert list(tmp_path.iterdir()) == []
