"""Networks and gradients in a capture are held against each other before anything runs on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from federations import run
from fedleak.core.errors import FileFormatError
from fedleak.core.payload import Array, Scalar, Tree
from fedleak.core.whole.run import Captured
from fedleak.protocols.captured.network_checks import check_networks
from fedleak.protocols.networks import vocabulary as networks
from network_runs import cut_table, row_clients

pytest.importorskip("torch")
FOLDER = Path("capture")


def captured(federation) -> Captured:
    found = run(federation)
    return Captured(found.transcript, found.locals)


def with_message(found: Captured, step, change) -> Captured:
    messages = [
        replace(message, payload=change(message.payload)) if message.step == step.name else message
        for message in found.transcript.messages
    ]
    return Captured(replace(found.transcript, messages=tuple(m for m in messages if m.payload is not None)), {})


@pytest.mark.parametrize("federation", [cut_table(trained=True), row_clients(), row_clients(update="change")])
def test_runs_of_our_own_pass(federation):
    check_networks(captured(federation), FOLDER)


def short(tree: Tree) -> Tree:
    return Tree({name: item for name, item in tree.items.items() if name != "0.bias"})


def wide(tree: Tree) -> Tree:
    return Tree({**tree.items, "0.bias": Array(np.zeros(99))})


@pytest.mark.parametrize(
    ("federation", "step", "change", "why"),
    [
        (cut_table(), networks.LAYER_GRADIENTS, short, r"'0.bias' must be \(6,\), got None"),
        (cut_table(), networks.LAYER_GRADIENTS, wide, r"'0.bias' must be \(6,\), got \(99,\)"),
        (cut_table(), networks.LAYER_GRADIENTS, lambda _: Scalar(1), "must have an array for every parameter"),
        (cut_table(), networks.NETWORKS, lambda tree: tree.items[networks.TOP], "it must be a Tree of bottoms"),
        (cut_table(), networks.NETWORKS, lambda _: None, "it must come after a network of bank; there is none"),
        (row_clients(), networks.NETWORK, lambda _: Scalar("net"), "a network must be a ModelSpec; got Scalar"),
        (
            row_clients(),
            networks.NETWORK,
            lambda spec: replace(spec, config={"version": 1, "arch": "{}"}),
            "train.network in round 0: arch must be a JSON object",
        ),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(federation, step, change, why):
    with pytest.raises(FileFormatError, match=why):
        check_networks(with_message(captured(federation), step, change), FOLDER)
