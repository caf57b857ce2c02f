"""Layered networks in torch: the same numbers as torch's own modules, and gradients that differentiate."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.core.errors import UnreadableModelError
from fedleak.models.initial_parameters import initial_network
from fedleak.models.layered_modules import layered_from_torch, parameter_names_of
from fedleak.models.layered_torch import arrays_of, forward, gradients, tensors_of, vertical_gradients, with_statistics
from fedleak.models.layers import Activation, Dropout, Linear

torch = pytest.importorskip("torch")
nn = torch.nn


def module() -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Sequential(nn.Conv2d(1, 3, 3, stride=1, padding=1), nn.Sigmoid(), nn.AvgPool2d(2)),
        nn.Identity(),
        nn.Conv2d(3, 2, 3, padding="same", bias=False),
        nn.BatchNorm2d(2),
        nn.LeakyReLU(0.1),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8, 5),
        nn.Tanh(),
        nn.Linear(5, 4),
    )


def batch(seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand((6, 1, 8, 8), generator=generator), torch.randint(0, 4, (6,), generator=generator)


def test_gradients_are_those_of_the_module():
    net, (inputs, labels) = module(), batch()
    found = layered_from_torch(net, (1, 8, 8))
    ours = gradients(found, tensors_of(found.parameters, wanted=True), inputs, labels)
    nn.functional.cross_entropy(net(inputs), labels).backward()
    theirs = {name: tensor.grad for name, tensor in net.named_parameters()}
    names = parameter_names_of(net)
    assert sorted(names.values()) == sorted(ours)
    assert list(ours) == list(found.parameter_order)
    for name, own in names.items():
        assert torch.allclose(ours[own], theirs[name], atol=1e-7), name


def test_confidences_are_those_of_the_module_at_prediction():
    net, (inputs, _) = module(), batch()
    net(inputs)  # running statistics move
    net.eval()
    found = layered_from_torch(net, (1, 8, 8))
    expected = net(inputs).softmax(dim=1).detach().numpy()
    assert found.confidences(found.cells_of(inputs.numpy())) == pytest.approx(expected, abs=1e-6)


def test_statistics_are_those_that_one_pass_over_all_rows_leaves():
    net, (inputs, _) = module(), batch()
    norm = net[3]
    norm.momentum = 1.0  # the last batch alone
    net(inputs)
    found = with_statistics(layered_from_torch(module(), (1, 8, 8)), inputs.numpy())
    assert found.parameters["4.running_mean"] == pytest.approx(norm.running_mean.numpy(), abs=1e-6)
    assert found.parameters["4.running_var"] == pytest.approx(norm.running_var.numpy(), abs=1e-6)
    plain = initial_network((3,), (Linear(2),), "torch", np.random.default_rng(0))
    assert with_statistics(plain, np.zeros((2, 3))) is plain


def test_from_layer_to_layer():
    found = layered_from_torch(module(), (1, 8, 8))
    parameters, (inputs, _) = tensors_of(found.parameters), batch()
    place = found.first_linear
    hidden = forward(found, parameters, inputs, stop=place)
    assert hidden.shape == (6, *found.shapes[place - 1])
    assert torch.equal(forward(found, parameters, hidden, start=place), forward(found, parameters, inputs))


def test_gradients_differentiate_by_inputs_and_soft_labels():
    found = initial_network((5,), (Linear(4), Activation("sigmoid"), Linear(3)), "torch", np.random.default_rng(0))
    parameters = tensors_of(found.parameters, dtype="float64", wanted=True)
    inputs = torch.rand((2, 5), dtype=torch.float64, requires_grad=True)
    labels = torch.rand((2, 3), dtype=torch.float64, requires_grad=True)

    def of(inputs, labels):
        return tuple(gradients(found, parameters, inputs, labels, differentiable=True).values())

    assert torch.autograd.gradcheck(of, (inputs, labels))


def test_a_cut_network_is_the_whole_one():
    """Two bottoms side by side and a top, against one block-diagonal network of the same numbers."""
    rng = np.random.default_rng(1)
    bottoms = {name: initial_network((3,), (Linear(2), Activation("tanh")), "torch", rng) for name in ("a", "b")}
    top = initial_network((4,), (Linear(3),), "torch", rng)
    whole = initial_network((6,), (Linear(4), Activation("tanh"), Linear(3)), "torch", rng)
    weight = np.zeros((4, 6), np.float32)
    weight[:2, :3], weight[2:, 3:] = (bottoms[name].parameters["0.weight"] for name in ("a", "b"))
    bias = np.concatenate([bottoms[name].parameters["0.bias"] for name in ("a", "b")])
    whole = whole.with_parameters(
        {"0.weight": weight, "0.bias": bias, "2.weight": top.parameters["0.weight"], "2.bias": top.parameters["0.bias"]}
    )
    inputs, labels = torch.rand((5, 6)), torch.tensor([0, 1, 2, 1, 0])
    parts, top_found = vertical_gradients(
        bottoms,
        top,
        {name: tensors_of(one.parameters, wanted=True) for name, one in bottoms.items()},
        tensors_of(top.parameters, wanted=True),
        {"a": inputs[:, :3], "b": inputs[:, 3:]},
        labels,
    )
    one = arrays_of(gradients(whole, tensors_of(whole.parameters, wanted=True), inputs, labels))
    assert arrays_of(parts["a"])["0.weight"] == pytest.approx(one["0.weight"][:2, :3], abs=1e-7)
    assert arrays_of(parts["b"])["0.weight"] == pytest.approx(one["0.weight"][2:, 3:], abs=1e-7)
    assert arrays_of(top_found)["0.bias"] == pytest.approx(one["2.bias"], abs=1e-7)


def test_dropout_draws_from_its_generator_and_keeps_the_mean():
    found = initial_network((4000,), (Dropout(0.25),), "torch", np.random.default_rng(0))
    ones = torch.ones((2, 4000))
    first, again = (forward(found, {}, ones, generator=torch.Generator().manual_seed(5)) for _ in range(2))
    assert torch.equal(first, again)
    assert float((first == 0).float().mean()) == pytest.approx(0.25, abs=0.03)
    assert float(first.max()) == pytest.approx(1 / 0.75)
    assert torch.equal(forward(found, {}, ones, training=False), ones)


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (nn.LSTM(2, 2), "a network must be a torch Sequential of Conv2d, .*; got LSTM"),
        (nn.Softmax(dim=1), "got Softmax"),
        (nn.Conv2d(2, 2, 3, groups=2), "without groups or dilation"),
        (nn.Conv2d(2, 2, (3, 5)), "one kernel_size for both directions"),
        (nn.Conv2d(2, 2, 3, padding_mode="reflect", padding=1), "padded with zeros"),
        (nn.MaxPool2d(3, stride=2), "of squares side by side"),
        (nn.BatchNorm1d(3, affine=False), "affine and with running statistics"),
        (nn.Flatten(0), "over all but the first dimension"),
    ],
)
def test_modules_that_cannot_be_read(part, why):
    with pytest.raises(UnreadableModelError, match=why):
        layered_from_torch(nn.Sequential(part), (2, 8, 8))
