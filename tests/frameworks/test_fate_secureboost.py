"""What FATE's SecureBoost pushes, recorded as our steps: attacks on boosted trees read it."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.boosting.bare_ciphertexts import BareCiphertexts
from fedleak.attacks.boosting.member_clustering import MemberClustering
from fedleak.core.adversary import Capability, Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.errors import FileFormatError
from fedleak.core.payload import IntegerArray
from fedleak.core.view import View
from fedleak.frameworks.fate.fate_secureboost_steps import SecureBoostRecording, own_steps_of, tree_of
from fedleak.frameworks.fate.fate_steps import Pushed
from fedleak.protocols.captured.captured import opened
from fedleak.protocols.captured.inference import inferred
from fedleak.recorded_values import Ciphertexts
from fedleak.recorder import Recorder
from fedleak.storage.capture_and_truth import load_capture

IDS = np.arange(100, 106)
LABELS = np.array([1, 1, 1, 0, 0, 0])
MODULUS = (1 << 521) - 1
G = np.where(LABELS == 1, -5, 5)
TREE, LEVEL = "default.iterations-0.iterations-0", "default.iterations-0.iterations-0.iterations-{}"
FACTS = {"family": "boosting", "objective": "logistic", "n_classes": 2, "label_epsilon": 0.0, "blinding": "none"}


def bare():
    numbers = [1 + int(g) * MODULUS for g in G]
    signs = np.sign([float(number) for number in G]).astype(np.int8)
    return Ciphertexts(np.array([abs(number) for number in numbers], dtype=object), "bank", signs=signs)


def nodes(ids, lefts, at_host):
    n_nodes = len(ids)
    return {
        "nodes": np.array(ids),
        "left": np.array(lefts),
        "right": np.array(lefts) + 1,
        "leaf": np.array(lefts) < 0,
        "at_host": np.array(at_host),
        "candidates": np.full(n_nodes, 3),
        "rows": np.full(n_nodes, 1),
    }


def pushed():
    """One tree: the host splits the root, the guest the right child; the left child is a leaf."""
    guest, host = ("bank", "fintech"), ("fintech", "bank")
    first = {"rows": IDS, "next": np.array([1, 1, 1, 2, 2, 2])}
    second = {"rows": IDS, "next": np.array([-2, -2, -2, 3, 4, 4])}  # the left child is a leaf: 1
    modulus = {"modulus": IntegerArray.from_ints([MODULUS], 66)}
    away = {"rows": IDS, "here": np.zeros(6, dtype=bool), "next": np.full(6, -1)}
    messages = [
        (*guest, "tree_dim", "default", 1),
        (*guest, "en_gh", TREE, {"rows": IDS, "values": bare()}),
        (*guest, "en_kit", TREE, modulus),
        (*guest, "pack_info", TREE, {}),
        (*host, "hist", LEVEL.format(0), {"counts": np.array([[3, 1, 5]])}),
        (*guest, "sync_nodes", LEVEL.format(0), nodes([0], [1], [True])),
        (*host, "updated_data", LEVEL.format(0), {**first, "here": np.ones(6, dtype=bool)}),
        (*guest, "new_sample_pos", LEVEL.format(0), first),
        (*host, "hist", LEVEL.format(1), {"counts": np.array([[3, 1, 3], [0, 0, 2]])}),
        (*guest, "sync_nodes", LEVEL.format(1), nodes([1, 2], [-1, 3], [False, False])),
        (*host, "updated_data", LEVEL.format(1), away),
        (*guest, "new_sample_pos", LEVEL.format(1), second),
        (*guest, "need_stop", "default.predict_round-0", True),
    ]
    return [Pushed(float(at), *message) for at, message in enumerate(messages)]


def recorded(folder, messages):
    roles = {"bank": "active", "fintech": "passive"}
    with Recorder(folder, roles, protocol="fate 2.2.0", own_steps=own_steps_of(messages), **FACTS) as recorder:
        cells = np.arange(6.0)[:, None] % 2
        recorder.record("fintech", "features", cells, ids=IDS, columns=("a",))
        recorder.record("bank", "labels", LABELS[:, None], ids=IDS)
        SecureBoostRecording(recorder, "bank", "fintech", IDS).take(messages)
    return load_capture(folder)


def guess(attack, capture):
    messages = capture.transcript.concerning(frozenset({"fintech"}))
    target, own = Secret(SecretKind.LABELS, "bank"), {"fintech": capture.locals["fintech"]}
    view = View(("fintech",), target, capture.transcript.facts, messages, own)
    return attack().run(view, rng=np.random.default_rng(0))


def at(capture, step):
    return [message.payload.items for message in capture.transcript.messages if message.step == step]


def test_members_of_nodes_and_the_way_of_rows(tmp_path):
    capture = recorded(tmp_path / "capture", pushed())
    members = at(capture, "train.node-rows")
    assert [one["nodes"].values.tolist() for one in members] == [[1, 1, 1, 2, 2, 2], [1, 1, 1, 3, 4, 4]]
    (routing,) = at(capture, "train.routing")
    assert routing["left"].values.tolist() == [True, True, True, False, False, False]
    assert routing["nodes"].values.tolist() == [0] * 6
    (chosen,) = at(capture, "train.chosen-split")
    assert chosen["candidates"].values.tolist() == [3]
    assert [one["counts"].values.shape for one in at(capture, "train.candidate-sums")] == [(1, 3), (2, 3)]
    found = opened(str(tmp_path / "capture"))
    facts = found.captured.transcript.facts
    host = inferred(found.holdings, facts, ("fintech",))
    assert {Capability.NODE_ROWS, Capability.CIPHERTEXTS} <= host
    guest = inferred(found.holdings, facts, ("bank",))
    assert {Capability.NODE_ROUTING, Capability.CANDIDATE_SUMS} <= guest
    assert Capability.NODE_ROWS not in guest


def test_the_attacks_of_our_own_protocol_read_it(tmp_path):
    capture = recorded(tmp_path / "capture", pushed())
    clusters = guess(MemberClustering, capture).values[:, 0]
    assert len({*clusters[:3].tolist()}) == 1  # who shares a leaf is in one class
    assert clusters[4] == clusters[5]
    assert len({*clusters.tolist()}) == 2
    found = guess(BareCiphertexts, capture)
    assert found.status is Status.RECOVERED
    assert found.values[:, 0].tolist() == LABELS.tolist()


def test_what_has_no_step_of_ours_keeps_its_name(tmp_path):
    steps = {message.step for message in recorded(tmp_path / "capture", pushed()).transcript.messages}
    assert {"fate.tree_dim", "fate.need_stop", "fate.sync_nodes"} <= steps


@pytest.mark.parametrize(
    ("left_out", "told"),
    [("en_gh", "gradients must come before"), (None, "must hold at least one tree")],
)
def test_a_recording_with_a_gap_is_refused_and_leaves_nothing(tmp_path, left_out, told):
    messages = [one for one in pushed() if left_out is not None and one.name != left_out]
    with pytest.raises(FileFormatError, match=told):
        recorded(tmp_path / "capture", messages)
    assert list(tmp_path.iterdir()) == []


def test_trees_are_counted_over_classes():
    assert tree_of("default.iterations-2.iterations-1.iterations-0", 3) == (7, 1)
    assert tree_of("default.predict_round-0", 3) == (-1, 0)
