"""The cut network: what is sent is the gradient of the whole network, and training learns."""

from __future__ import annotations

import weakref
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from federations import run
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import InputError
from fedleak.core.payload import Array, Tree
from fedleak.core.steps import Role
from fedleak.core.transcript import Transcript
from fedleak.core.whole.federation import Party, Slice
from fedleak.core.whole.hooks import Hook, HookKind
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Captured, Sink
from fedleak.models.layered import layered_of
from fedleak.models.layered_torch import arrays_of, tensors_of, vertical_gradients
from fedleak.models.parameter_steps import ParameterSteps
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.networks import vocabulary as networks
from network_runs import cut_pictures, cut_table

torch = pytest.importorskip("torch")


def messages(result, step, sender=None):
    return [m for m in result.transcript.messages if m.step == step.name and sender in (None, m.sender)]


def networks_of(message):
    bottoms = {name: layered_of(spec) for name, spec in message.payload.items[networks.BOTTOMS].items.items()}
    return bottoms, layered_of(message.payload.items[networks.TOP])


def arrays(tree: Tree) -> dict:
    return {name: item.values for name, item in tree.items.items()}


THREE = cut_table({"bank": 2, "fintech": 3, "shop": 4})


@pytest.mark.parametrize("federation", [cut_table(), cut_pictures(), THREE], ids=["table", "pictures", "three"])
def test_what_is_uploaded_is_the_gradient_of_the_joint_network(federation):
    result = run(federation)
    (sent,) = messages(result, networks.NETWORKS)
    bottoms, top = networks_of(sent)
    batches = messages(result, networks.BATCH)
    assert len(batches) == 4
    for batch in batches:
        rows = batch.payload.values - 100
        inputs = {
            party.name: torch.tensor(bottoms[party.name].inputs_of(party.train.features[rows]).astype(np.float32))
            for party in federation.parties[:-1]
        }
        labels = torch.tensor(federation.parties[0].train.labels[rows])
        expected, expected_top = vertical_gradients(
            bottoms,
            top,
            {name: tensors_of(one.parameters, wanted=True) for name, one in bottoms.items()},
            tensors_of(top.parameters, wanted=True),
            inputs,
            labels,
        )
        for name in bottoms:
            (found,) = [m for m in messages(result, networks.LAYER_GRADIENTS, name) if m.round == batch.round]
            assert list(found.payload.items) == list(bottoms[name].parameter_order)
            assert found.receiver == "server"
            for parameter, values in arrays(found.payload).items():
                assert values.dtype == np.float32
                assert values == pytest.approx(arrays_of(expected[name])[parameter], abs=1e-7)
        (found_top,) = [m for m in messages(result, networks.TOP_GRADIENTS) if m.round == batch.round]
        assert arrays(found_top.payload)["0.bias"] == pytest.approx(arrays_of(expected_top)["0.bias"], abs=1e-7)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_parameters_step_by_what_the_server_received(optimiser):
    result = run(cut_table(trained=True, optimiser=optimiser))
    sent = messages(result, networks.NETWORKS)
    assert [message.round for message in sent] == [0, 1, 2, 3]
    steps = ParameterSteps(optimiser, 0.1)
    for before, after in pairwise(sent):
        old, new = networks_of(before)[0]["fintech"], networks_of(after)[0]["fintech"]
        (gradient,) = [m for m in messages(result, networks.LAYER_GRADIENTS, "fintech") if m.round == before.round]
        for name, values in steps.step(old.parameters, arrays(gradient.payload)).items():
            assert np.array_equal(new.parameters[name], values)


def test_adam_is_torchs():
    rng = np.random.default_rng(0)
    value = rng.standard_normal((3, 2)).astype(np.float32)
    theirs = torch.nn.Parameter(torch.tensor(value))
    optimiser, ours = torch.optim.Adam([theirs], lr=0.01), ParameterSteps("adam", 0.01)
    parameters = {"w": value}
    for _ in range(5):
        gradient = rng.standard_normal((3, 2)).astype(np.float32)
        theirs.grad = torch.tensor(gradient)
        optimiser.step()
        parameters = ours.step(parameters, {"w": gradient})
    assert parameters["w"] == pytest.approx(theirs.detach().numpy(), abs=1e-6)


def test_a_fixed_network_is_sent_once_and_a_trained_one_learns():
    fixed = run(cut_table(n_rows=60, rounds=60, batch_size=20))
    assert len(messages(fixed, networks.NETWORKS)) == 1
    learnt = run(cut_table(n_rows=60, rounds=300, batch_size=20, trained=True, optimiser="adam", learning_rate=0.02))
    assert learnt.utility["train_accuracy"] > learnt.baselines["train_accuracy"] + 0.2
    assert fixed.utility["train_accuracy"] < learnt.utility["train_accuracy"]


def test_a_network_with_batch_norm_is_judged_as_it_was_trained():
    bottom = ("linear 6", "batch-norm", "activation relu", "linear 3")
    changes = {"rounds": 300, "batch_size": 20, "trained": True, "optimiser": "adam", "learning_rate": 0.02}
    learnt = run(cut_table(n_rows=60, bottom=bottom, **changes))
    assert learnt.utility["train_accuracy"] > learnt.baselines["train_accuracy"] + 0.2


class Forgetful(Sink):
    """Keeps no payload, and counts which of them somebody else keeps."""

    def __init__(self):
        self.arrays = []

    def message(self, message):
        if message.step == networks.LAYER_GRADIENTS.name:
            self.arrays += [weakref.ref(item.values) for item in message.payload.items.values()]

    def record(self, party, record):
        pass

    def finish(self, facts):
        return Captured(Transcript(facts, ()), {})


@pytest.mark.parametrize("trained", [True, False])
def test_gradients_of_past_rounds_are_not_kept(trained):
    federation, sink = cut_table(rounds=30, trained=trained), Forgetful()
    protocol = PROTOCOLS.get(federation.protocol)()
    facts = protocol.public_facts(federation, parties=federation.party_facts, n_rows=federation.n_rows)
    protocol.run(federation, facts=facts, randomness=Randomness.published(0), hooks=(), sink=sink)
    assert len(sink.arrays) == 30 * 2 * 4
    assert sum(array() is not None for array in sink.arrays) <= 2 * 4


def test_drawn_and_shuffled_batches():
    drawn = [m.payload.values for m in messages(run(cut_table(rounds=10, batch_size=8)), networks.BATCH)]
    assert all(len(set(batch)) == 8 for batch in drawn)
    assert len(set(np.concatenate(drawn[:3]))) < 24  # with replacement between batches
    dealt = [
        m.payload.values for m in messages(run(cut_table(rounds=6, batch_size=8, batches="shuffled")), networks.BATCH)
    ]
    for epoch in (dealt[:3], dealt[3:]):
        assert sorted(np.concatenate(epoch)) == list(range(100, 124))


def test_a_holder_of_labels_without_columns():
    whole = cut_table({"bank": 0, "fintech": 4, "shop": 3})
    result = run(whole)
    bottoms, top = networks_of(messages(result, networks.NETWORKS)[0])
    assert list(bottoms) == ["fintech", "shop"]
    assert top.input_shape == (6,)
    assert not messages(result, networks.LAYER_GRADIENTS, "bank")


def test_a_hook_changes_what_the_server_gets_and_trains_on():
    def zeroed(value, _local, _rng):
        return Tree({name: Array(np.zeros_like(item.values)) for name, item in value.items.items()})

    federation = cut_table(trained=True)
    hook = Hook(networks.LAYER_GRADIENTS, HookKind.SEND, "fintech", zeroed)
    result = run(federation, hooks=(hook,))
    sent = messages(result, networks.NETWORKS)
    first, last = (networks_of(message)[0] for message in (sent[0], sent[-1]))
    assert np.array_equal(first["fintech"].parameters["0.weight"], last["fintech"].parameters["0.weight"])
    assert not np.array_equal(first["bank"].parameters["0.weight"], last["bank"].parameters["0.weight"])


def test_a_hook_may_compute_with_every_rows_gradient():
    def summed(backward, _local, _rng):
        rows = list(backward.of_each_row())
        return Tree({name: Array(np.sum([row[name] for row in rows], axis=0)) for name in rows[0]})

    federation = cut_pictures()
    plain, hooked = (
        run(federation, hooks=hooks)
        for hooks in ((), (Hook(networks.LAYER_GRADIENTS, HookKind.COMPUTE, "fintech", summed),))
    )
    for one, other in zip(
        *(messages(result, networks.LAYER_GRADIENTS, "fintech") for result in (plain, hooked)), strict=True
    ):
        for name, values in arrays(one.payload).items():
            assert arrays(other.payload)[name] == pytest.approx(values, abs=1e-6)


def test_truth_is_pictures_or_columns_with_labels():
    truth = run(cut_pictures()).truth
    pictures = truth.of(Secret(SecretKind.IMAGES, "fintech"))
    assert pictures.values.shape == (12, 4, 4, 2)
    assert (pictures.lowest == 0).all()
    assert (pictures.highest == 1).all()
    assert truth.of(Secret(SecretKind.LABELS, "bank")).values.shape == (12, 1)
    assert run(cut_table()).truth.of(Secret(SecretKind.FEATURES, "fintech")).columns[0] == "fintech0"


@pytest.mark.parametrize(
    ("federation", "why"),
    [
        (cut_table(batch_size=25), "batch_size must be at most the 24 training rows; got 25"),
        (cut_pictures(bottom=("convolution 2 3",)), "bottom must end in numbers, not in a picture"),
        (replace(cut_table(), parties=cut_table().parties[:2]), "must have one server; got 0"),
        (replace(cut_table(), parties=cut_table().parties[::2]), "got 1 active and 0 passive"),
    ],
)
def test_federations_that_cannot_run(federation, why):
    with pytest.raises(InputError, match=why):
        run(federation)


def test_labels_must_be_classes():
    whole = cut_table()
    bank = whole.parties[0]
    wrong = Party("bank", Role.ACTIVE, bank.columns, Slice(bank.train.ids, bank.train.features, np.full(24, 0.5)))
    with pytest.raises(InputError, match="must be classes, whole numbers from 0 on"):
        run(replace(whole, parties=(wrong, *whole.parties[1:])))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"bottom": ("dense 3",)}, "bottom, layer 1: a layer must be one of"),
        ({"rounds": 0}, "rounds must be 1 or more"),
        ({"optimiser": "lbfgs"}, "optimiser must be one of sgd, adam"),
        ({"learning_rate": float("nan")}, "learning_rate must be above 0"),
    ],
)
def test_settings_that_are_refused(changes, why):
    with pytest.raises(InputError, match=why):
        cut_table(**changes)
