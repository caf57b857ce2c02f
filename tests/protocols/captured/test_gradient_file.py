"""One gradient from elsewhere: written from torch, read strictly, audited as its server's view."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import fedleak
from fedleak.auditing.captured_audit import plan_captured
from fedleak.cli.main import app
from fedleak.core.adversary import Capability, Secret, SecretKind
from fedleak.core.errors import DataError, FileFormatError, InputError, UnreadableModelError
from fedleak.protocols.captured.captured import opened
from fedleak.protocols.captured.gradient_file import read_gradient
from fedleak.protocols.captured.truth_file import read_truth
from fedleak.protocols.networks import vocabulary as networks

torch = pytest.importorskip("torch")
nn = torch.nn


def module() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.Sigmoid(), nn.Flatten(), nn.Linear(32, 3))


def with_gradient() -> nn.Sequential:
    net = module()
    pixels, labels = torch.rand((2, 1, 4, 4)), torch.tensor([0, 2])
    nn.functional.cross_entropy(net(pixels), labels).backward()
    return net


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    fedleak.save_gradient(with_gradient(), tmp_path / "gradient.npz", input_shape=(1, 4, 4))
    return tmp_path / "gradient.npz"


def arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as found:
        return dict(found)


def changed(path: Path, **changes: object) -> Path:
    """The same file with other arrays; None leaves one out."""
    found = {**arrays(path), **changes}
    target = path.with_name("changed.npz")
    np.savez(target, **{name: value for name, value in found.items() if value is not None})
    return target


def test_what_torch_left_is_what_is_read(saved):
    net, found = with_gradient(), read_gradient(saved)
    assert list(found.gradients) == ["0.weight", "0.bias", "3.weight", "3.bias"]
    for own, tensor in zip(found.gradients, net.parameters(), strict=True):
        assert np.array_equal(found.network.parameters[own], tensor.detach().numpy())
        assert found.gradients[own] == pytest.approx(tensor.grad.numpy(), abs=1e-7)
    assert sorted(arrays(saved)) == [
        "arch",
        *(f"grad/{name}" for name in sorted(found.gradients)),
        *(f"param/{name}" for name in sorted(found.gradients)),
        "param_order",
    ]


def test_gradients_that_were_received_go_in_by_name(tmp_path):
    net = with_gradient()
    received = {name: 2 * tensor.grad for name, tensor in net.named_parameters()}
    net.zero_grad()
    fedleak.save_gradient(net, tmp_path / "g.npz", input_shape=(1, 4, 4), gradients=received, batch_size=2)
    found = read_gradient(tmp_path / "g.npz")
    assert found.batch_size == 2
    assert np.array_equal(found.gradients["3.bias"], received["3.bias"].numpy())


def test_names_are_the_writers(saved):
    found = arrays(saved)
    theirs = ["conv.w", "conv.b", "head.w", "head.b"]
    ours = found["param_order"].tolist()
    renamed = {"arch": found["arch"], "param_order": np.array(theirs)}
    for their, own in zip(theirs, ours, strict=True):
        renamed |= {f"param/{their}": found[f"param/{own}"], f"grad/{their}": found[f"grad/{own}"]}
    path = saved.with_name("renamed.npz")
    np.savez(path, **renamed)
    assert np.array_equal(read_gradient(path).gradients["3.weight"], found["grad/3.weight"])


def test_it_is_a_round_as_its_server_sees_it(saved):
    found = opened(str(saved)).captured
    assert [message.step for message in found.transcript.messages] == [
        networks.PARTICIPANTS.name,
        networks.NETWORK.name,
        networks.LAYER_GRADIENTS.name,
    ]
    facts = found.transcript.facts
    assert facts.party("client").pictures is True
    assert facts.of(networks.NetworkFacts).n_classes == 3
    (run,) = plan_captured(saved, attacks=("residual-sign",)).runs
    server = next(task for task in run.tasks if task.adversary.parties == ("server",))
    assert server.capabilities == {Capability.NETWORK, Capability.LAYER_GRADIENTS}


def test_an_audit_takes_the_file_in_place_of_a_scenario(saved, tmp_path):
    report = fedleak.audit(saved, attacks=["residual-sign"], out=tmp_path / "out")
    assert {finding.outcome for finding in report.findings} == {"skipped"}
    assert (tmp_path / "out" / "report.html").exists()
    with pytest.raises(InputError, match="transcript must stand alone"):
        fedleak.audit(saved, defenses=["gaussian-noise"])


def test_the_command_line_takes_it_too(saved, tmp_path):
    np.savez(tmp_path / "batch.npz", x=np.zeros((2, 4, 4, 1), np.uint8), y=np.array([0, 2]))
    out = ["--out", str(tmp_path / "out")]
    asked = ["audit", str(saved), "--truth", str(tmp_path / "batch.npz"), "--attack", "residual-sign", *out]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 0
    assert f"Report: {tmp_path / 'out' / 'report.html'}" in found.stdout.replace("\n", " ")
    assert "what every party had" not in found.stdout, "the run stays where it was"
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert f"--truth {tmp_path / 'batch.npz'}" in report["environment"]["command"]


JUNK = "x" * 5


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"grad/3.bias": None}, "the array 'grad/3.bias' must be there; it is not"),
        ({"param/0.weight": None}, "the array 'param/0.weight' must be there"),
        ({"arch": None}, "the array 'arch' must be there"),
        ({"grad/3.bias": np.zeros(4, np.float32)}, r"'grad/3.bias' must be of shape \(3,\), as its parameter is"),
        ({"grad/0.bias": np.array([np.nan, 1], np.float32)}, "'grad/0.bias' must hold finite numbers; got NaN"),
        ({"param/0.bias": np.array([np.inf, 1], np.float32)}, "'0.bias' must hold finite numbers"),
        ({"param/3.weight": np.zeros((3, 31), np.float32)}, r"'3.weight' must be of shape \(3, 32\)"),
        ({"grad/3.bias": np.zeros(3, np.int64)}, "'grad/3.bias' must hold floating-point numbers; got int64"),
        ({"grad/9.bias": np.zeros(3)}, "'grad/9.bias' must be a gradient of a parameter of param_order"),
        ({"param_order": np.array(["0.weight"])}, "must name the 4 trained parameters of arch, each once"),
        ({"param_order": np.zeros(4)}, "param_order must be a list of texts; got float64"),
        ({"arch": np.array(JUNK)}, "arch must be JSON"),
        ({"arch": np.zeros(3)}, "arch must be one text; got float64"),
        ({"batch_size": np.array(2.5)}, "batch_size must be one whole number"),
        ({"batch_size": np.array(0)}, "batch_size must be 1 or more; got 0"),
    ],
)
def test_files_that_are_refused_in_one_line(saved, changes, why):
    path = changed(saved, **changes)
    with pytest.raises(FileFormatError, match=why) as caught:
        read_gradient(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_layer_that_is_not_supported_is_named(saved):
    arch = json.loads(str(arrays(saved)["arch"]))
    arch["layers"][1] = {"layer": "attention", "heads": 2}
    with pytest.raises(FileFormatError, match=r"layer 1 of arch: a layer must be one of .*; got 'attention'"):
        read_gradient(changed(saved, arch=np.array(json.dumps(arch))))


def test_pickled_objects_and_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "evil.npz", arch=np.array([{"a": 1}], dtype=object))
    (tmp_path / "text.npz").write_text("no archive")
    for name in ("evil.npz", "text.npz", "missing.npz"):
        with pytest.raises(DataError, match=name):
            read_gradient(tmp_path / name)


def test_a_gradient_of_zeros_was_never_computed(saved):
    zeros = {name: np.zeros_like(value) for name, value in arrays(saved).items() if name.startswith("grad/")}
    with pytest.raises(FileFormatError, match="must not all be zero"):
        read_gradient(changed(saved, **zeros))


def test_what_a_module_lacks_is_told(tmp_path):
    with pytest.raises(InputError, match=r"one for each parameter; '0.weight' has none"):
        fedleak.save_gradient(module(), tmp_path / "g.npz", input_shape=(1, 4, 4))
    with pytest.raises(InputError, match=r"got 'conv.weight'"):
        fedleak.save_gradient(module(), tmp_path / "g.npz", input_shape=(1, 4, 4), gradients={"conv.weight": 1})
    with pytest.raises(UnreadableModelError, match="got TransformerEncoderLayer"):
        fedleak.save_gradient(nn.TransformerEncoderLayer(4, 2), tmp_path / "g.npz", input_shape=(4,))
    with pytest.raises(InputError, match="must come after flatten"):
        fedleak.save_gradient(nn.Sequential(nn.Linear(4, 2)), tmp_path / "g.npz", input_shape=(1, 4, 4))
    assert not list(tmp_path.iterdir())


def test_the_truth_of_a_gradient_is_its_batch(saved, tmp_path):
    captured = opened(str(saved)).captured
    pixels = np.arange(32, dtype=np.uint8).reshape(2, 4, 4, 1)
    np.savez(tmp_path / "batch.npz", x=pixels, y=np.array([0, 2]))
    truth = read_truth(tmp_path / "batch.npz", captured)
    assert np.array_equal(truth.of(Secret(SecretKind.IMAGES, "client")).values, pixels / 255)
    assert truth.of(Secret(SecretKind.LABELS, "client")).values.ravel().tolist() == [0, 2]
    assert truth.of(Secret(SecretKind.IMAGES, "client")).ids.tolist() == [0, 1]
    np.savez(tmp_path / "gaps.npz", x=np.full((2, 5), np.nan))
    with pytest.raises(DataError, match="x must have a number in every cell"):
        read_truth(tmp_path / "gaps.npz", captured)
    np.savez(tmp_path / "large.npz", x=np.ones((2, 5, 5)))
    with pytest.raises(DataError, match=r"rows of client must be of shape \(4, 4, 1\), as its network takes them"):
        read_truth(tmp_path / "large.npz", captured)


def test_the_truth_of_a_table(tmp_path):
    net = nn.Sequential(nn.Linear(5, 2))
    nn.functional.cross_entropy(net(torch.rand((2, 5))), torch.tensor([0, 1])).backward()
    fedleak.save_gradient(net, tmp_path / "g.npz", input_shape=(5,))
    np.savez(tmp_path / "rows.npz", x=np.ones((2, 5)))
    captured = opened(str(tmp_path / "g.npz")).captured
    table = read_truth(tmp_path / "rows.npz", captured).of(Secret(SecretKind.FEATURES, "client"))
    assert table.columns == ("x0", "x1", "x2", "x3", "x4")
    assert captured.transcript.facts.party("client").pictures is False
