"""Layered networks as data: shapes, names, files, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fedleak.core.errors import InputError, UnreadableModelError
from fedleak.models.initial_parameters import SCHEMES, initial_network
from fedleak.models.interpret import interpret, load_model, save_model
from fedleak.models.layered import LayeredNetwork, arch_text, read_arch, without_parameters
from fedleak.models.layers import (
    Activation,
    BatchNorm,
    Convolution,
    Dropout,
    Flatten,
    Linear,
    Pooling,
    layer_of_line,
)

PICTURE = (3, 9, 8)
LAYERS = (
    Convolution(4, 5, stride=2, padding=2),
    Activation("sigmoid"),
    BatchNorm(),
    Pooling("max", 2),
    Flatten(),
    Linear(7, bias=False),
    Dropout(0.5),
    Activation("leaky-relu", slope=0.2),
    Linear(3),
)


def network(seed: int = 0) -> LayeredNetwork:
    return initial_network(PICTURE, LAYERS, "torch", np.random.default_rng(seed))


def test_shapes_and_names():
    found = network()
    assert found.shapes == ((4, 5, 4), (4, 5, 4), (4, 5, 4), (4, 2, 2), (16,), (7,), (7,), (7,), (3,))
    assert found.parameter_order == (
        "0.weight",
        "0.bias",
        "2.weight",
        "2.bias",
        "5.weight",
        "8.weight",
        "8.bias",
    )
    assert found.buffer_order == ("2.running_mean", "2.running_var")
    assert found.first_linear == 5
    assert found.parameters["0.weight"].shape == (4, 3, 5, 5)
    assert found.n_classes == 3


def test_channels_last_and_back():
    found = network()
    cells = np.random.default_rng(1).random((2, 9, 8, 3))
    inputs = found.inputs_of(cells)
    assert inputs.shape == (2, *PICTURE)
    assert inputs[1, 2, 3, 4] == cells[1, 3, 4, 2]
    assert np.array_equal(found.cells_of(inputs), cells)
    assert np.array_equal(found.inputs_of(cells.reshape(2, -1)), inputs)


def test_through_a_spec_and_through_a_file(tmp_path):
    found = network()
    for again in (interpret(found.to_spec()), _through_file(found, tmp_path / "model.npz")):
        assert isinstance(again, LayeredNetwork)
        assert again.layers == LAYERS
        assert again.input_shape == PICTURE
        for name, array in found.parameters.items():
            assert np.array_equal(again.parameters[name], array)
            assert again.parameters[name].dtype == np.float32


def _through_file(found: LayeredNetwork, path):
    save_model(found, path)
    return load_model(path)


def test_lines_of_a_scenario():
    assert layer_of_line("convolution 64 5 padding=2") == Convolution(64, 5, padding=2)
    assert layer_of_line("linear 10 bias=false") == Linear(10, bias=False)
    assert layer_of_line("pooling average 2") == Pooling("average", 2)
    for layer in LAYERS:
        assert layer_of_line(str(layer)) == layer


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("conv 3 3", "a layer must be one of convolution"),
        ("linear", "linear must have a value for width"),
        ("linear ten", "width of linear must be a whole number; got 'ten'"),
        ("linear 0", "width of linear must be from 1"),
        ("linear 3 true 4", "at most 2 values"),
        ("linear 3 wide=4", "linear must have no value called 'wide'"),
        ("pooling mean 2", "pooling must be one of max, average; got 'mean'"),
        ("dropout 1", "rate of dropout must be from 0 to below 1"),
        ("", "a layer must be one of"),
    ],
)
def test_lines_that_are_no_layer(line, why):
    with pytest.raises(InputError, match=why):
        layer_of_line(line)


GOOD = json.loads(arch_text((4,), (Linear(2),)))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "arch must be JSON"),
        ("[" * 5000, "arch must be JSON"),
        ("[]", "arch must be a JSON object with version, input_shape, layers; got list"),
        (json.dumps({**GOOD, "more": 1}), "arch must be a JSON object"),
        (json.dumps({**GOOD, "version": 2}), "version of arch must be 1; got '2'"),
        (json.dumps({**GOOD, "input_shape": [True]}), "input_shape of arch must be a list of whole numbers"),
        (json.dumps({**GOOD, "input_shape": [4, 4]}), "input_shape must be"),
        (json.dumps({**GOOD, "input_shape": [0]}), "input_shape must be"),
        (json.dumps({**GOOD, "layers": []}), "layers of arch must be a list of 1 to"),
        (json.dumps({**GOOD, "layers": ["linear 2"]}), "layer 0 of arch must be an object with a layer"),
        (json.dumps({**GOOD, "layers": [{"layer": "lstm"}]}), "layer 0 of arch: a layer must be one of"),
        (json.dumps({**GOOD, "layers": [{"layer": "linear", "width": 2.5}]}), "width of linear must be a whole number"),
        (json.dumps({**GOOD, "layers": [{"layer": "linear", "width": 1 << 40}]}), "width of linear must be from 1"),
        (json.dumps({**GOOD, "layers": [{"layer": "pooling", "how": "max", "size": 2}]}), "must get a picture"),
        ("x" * 100_000, "arch must be at most"),
    ],
)
def test_arch_from_strangers(text, why):
    with pytest.raises(InputError, match=why) as caught:
        read_arch(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_sizes_are_bounded_before_anything_is_made():
    wide = tuple(Linear(1 << 16) for _ in range(3))
    with pytest.raises(InputError, match="at most 268435456 parameters"):
        without_parameters((1 << 16,), wide)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"8.weight": np.zeros((3, 6), np.float32)}, r"'8.weight' must be of shape \(3, 7\); got \(3, 6\)"),
        ({"8.bias": np.array([1, np.nan, 0], np.float32)}, "'8.bias' must hold finite numbers"),
        ({"8.bias": np.zeros(3, np.int64)}, "'8.bias' must hold floating-point numbers; got int64"),
        ({"9.bias": np.zeros(3)}, "a network must have no parameter '9.bias'"),
    ],
)
def test_parameters_that_do_not_fit(change, why):
    with pytest.raises(InputError, match=why):
        network().with_parameters(change)


def test_a_parameter_that_lacks():
    found = dict(network().parameters)
    del found["5.weight"]
    with pytest.raises(InputError, match=r"must have the parameter '5.weight'"):
        LayeredNetwork(PICTURE, LAYERS, found)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_first_parameters_are_spread_as_the_scheme_says(scheme):
    wide = initial_network((400,), (Linear(300), Linear(2)), scheme, np.random.default_rng(0))
    weight, bias = wide.parameters["0.weight"], wide.parameters["0.bias"]
    deviation = {"torch": 1 / np.sqrt(3 * 400), "glorot": np.sqrt(2 / 700), "kaiming": np.sqrt(2 / 400)}
    assert weight.std() == pytest.approx(deviation.get(scheme, 1 / np.sqrt(12)), rel=0.02)
    assert bool(bias.any()) == (scheme in ("torch", "uniform"))
    assert weight.dtype == np.float32


def test_behind_a_scaler_only_where_it_can_be_folded():
    with pytest.raises(UnreadableModelError, match="must begin with a linear layer"):
        network().behind_scaler(np.zeros(1), np.ones(1))
