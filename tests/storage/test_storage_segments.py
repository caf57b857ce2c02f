"""How arrays lie in segments, and the format as it was first published."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fedleak.core.arrays import AnyArray
from fedleak.core.errors import FileFormatError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.payload import Array, Table, Tree
from fedleak.core.steps import Role
from fedleak.core.transcript import Message, Record, Transcript
from fedleak.core.whole.run import Captured
from fedleak.protocols.averaging.vocabulary import Dropout, HorizontalLinearFacts, HorizontalLogisticFacts
from fedleak.protocols.linear.vocabulary import ArbiterFacts, LinearResidual, VerticalLogisticFacts
from fedleak.protocols.prediction.vocabulary import PredictionFacts
from fedleak.storage import Limits
from fedleak.storage.capture_and_truth import load_capture, save_capture

FACTS = Facts("p", ())


def _save(path: Path, *arrays: AnyArray, limits: Limits) -> None:
    sent = [Message("step", 0, "active", "passive", Array(array)) for array in arrays]
    save_capture(Captured(Transcript(FACTS, sent), {}), path, limits=limits)


def _refs(path: Path) -> list[dict[str, object]]:
    return [json.loads(line)["payload"]["values"] for line in (path / "index.jsonl").read_text().splitlines()]


def test_numpy_opens_a_segment_by_itself(tmp_path: Path) -> None:
    _save(tmp_path / "run", np.arange(3, dtype="<f4"), np.arange(5, dtype=">i8"), limits=Limits())
    flat = np.load(tmp_path / "run" / "segments" / "0000.npy", mmap_mode="r", allow_pickle=False)
    assert flat.dtype == np.uint8
    for ref, expected in zip(_refs(tmp_path / "run"), (np.arange(3.0), np.arange(5)), strict=True):
        assert ref["offset"] % 64 == 0
        found = np.frombuffer(flat, ref["dtype"], count=len(expected), offset=ref["offset"])
        np.testing.assert_array_equal(found, expected)


def test_a_new_segment_begins_when_one_is_full(tmp_path: Path) -> None:
    limits = Limits(segment_bytes=1024)  # 896 bytes of data: 14 arrays of 64 bytes
    _save(tmp_path / "run", *[np.full(8, float(number)) for number in range(30)], limits=limits)
    assert [ref["segment"] for ref in _refs(tmp_path / "run")] == [0] * 14 + [1] * 14 + [2] * 2
    assert max(path.stat().st_size for path in (tmp_path / "run" / "segments").iterdir()) == 1024
    loaded = load_capture(tmp_path / "run", limits=limits).transcript.messages
    assert [message.payload.values[0] for message in loaded] == list(range(30))


def test_a_large_array_has_a_segment_to_itself(tmp_path: Path) -> None:
    limits = Limits(segment_bytes=1024)
    small, large = np.ones(2), np.arange(1000.0)
    _save(tmp_path / "run", small, large, small, large, large, limits=limits)
    assert [ref["segment"] for ref in _refs(tmp_path / "run")] == [0, 1, 2, 3, 4]
    loaded = load_capture(tmp_path / "run", limits=limits).transcript.messages
    np.testing.assert_array_equal(loaded[4].payload.values, large)


def test_a_large_segment_with_more_than_one_array_is_refused(tmp_path: Path) -> None:
    _save(tmp_path / "run", np.ones(200), np.ones(200), limits=Limits())
    with pytest.raises(FileFormatError, match="must hold one array only"):
        load_capture(tmp_path / "run", limits=Limits(segment_bytes=1024))


def test_without_arrays_there_are_no_segments(tmp_path: Path) -> None:
    _save(tmp_path / "run", limits=Limits())
    assert list((tmp_path / "run" / "segments").iterdir()) == []
    (tmp_path / "run" / "segments").rmdir()
    assert len(load_capture(tmp_path / "run").transcript.messages) == 0


# Written out by hand: files of schema version 1 stay readable, whatever becomes of the Python types.
VERSION_1_HEADER = """
{
 "preamble": {"format": "fedleak", "schema_version": 1, "kind": "capture", "fedleak_version": "0.1.0",
              "n_entries": 2, "n_segments": 1},
 "content": {
  "facts": {"protocol": "vertical-logistic", "parties": [{"name": "bank", "role": "active", "n_features": 2}],
            "n_rows": 4, "learning_rate": 0.1,
            "options": {"modulus": {"int": "10000000000000000"}, "shuffle": false, "gradients": "ideal-oracle",
                        "residual_slope": 0.25, "target_scale": 4.0, "target_shift": -2.0},
            "capabilities": ["own-features", "labels"]},
  "locals": ["bank"]
 }
}
"""
VERSION_1_INDEX = (
    '{"entry":"message","step":"train.batch","round":0,"sender":"bank","receiver":"*","payload":{"type":"tree",'
    '"items":{"rows":{"type":"array","values":{"dtype":"<i8","shape":[3],"segment":0,"offset":0}},'
    '"key":{"type":"cipher-array","key_id":"k","scheme":"paillier","data":{"dtype":"|u1","shape":[2,3],"segment":0,'
    '"offset":64},"shape":[2],"fraction_bits":16},"big":{"type":"integer-array","data":{"dtype":"|u1","shape":[1,2],'
    '"segment":0,"offset":128},"shape":[1]},"note":{"type":"scalar","value":{"float":"nan"}},"tree":{"type":"model",'
    '"kind":"linear","config":{"bias":1.5},"arrays":{"weights":{"dtype":"<f4","shape":[1],"segment":0,"offset":192}}}'
    "}}}\n"
    '{"entry":"record","party":"bank","record":{"step":"setup.own-data","round":-1,"name":"data","value":'
    '{"type":"table","columns":["age"],"ids":{"dtype":"<i4","shape":[1],"segment":0,"offset":256},'
    '"values":{"dtype":">f8","shape":[1,1],"segment":0,"offset":320}}}}\n'
)


def test_version_1_stays_readable(tmp_path: Path) -> None:
    flat = np.zeros(328, dtype=np.uint8)
    flat[0:24] = np.frombuffer(np.array([7, 8, 9], dtype="<i8").tobytes(), dtype=np.uint8)
    flat[64:70] = range(6)
    flat[128:130] = (1, 2)
    flat[192:196] = np.frombuffer(np.array([0.5], dtype="<f4").tobytes(), dtype=np.uint8)
    flat[256:260] = (42, 0, 0, 0)
    flat[320:328] = np.frombuffer(np.array([33.25], dtype=">f8").tobytes(), dtype=np.uint8)
    (tmp_path / "segments").mkdir()
    np.save(tmp_path / "segments" / "0000.npy", flat)  # as another tool would write it
    (tmp_path / "header.json").write_text(VERSION_1_HEADER)
    (tmp_path / "index.jsonl").write_text(VERSION_1_INDEX)

    captured = load_capture(tmp_path)
    known, (message,), (record,) = captured.transcript.facts, captured.transcript.messages, captured.locals["bank"]
    assert known.parties == (PartyFacts("bank", Role.ACTIVE, 2),)
    assert (known.n_rows, known.batch_size, known.defense) == (4, None, None)
    residual = LinearResidual(0.25, 4.0, -2.0)
    assert known.own == VerticalLogisticFacts(shuffle=False, residual=residual, gradients="ideal-oracle")
    assert isinstance(message, Message)
    assert isinstance(message.payload, Tree)
    items = message.payload.items
    assert items["rows"].values.tolist() == [7, 8, 9]
    assert items["key"].data.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert items["big"].to_ints() == [0x0102]
    assert np.isnan(items["note"].value)
    assert items["tree"].arrays["weights"].tolist() == [0.5]
    assert isinstance(record, Record)
    assert isinstance(record.value, Table)
    assert (record.value.ids.tolist(), record.value.values.tolist()) == ([42], [[33.25]])


@pytest.mark.parametrize(
    ("protocol", "options", "own"),
    [
        (
            "horizontal-logistic",
            {"update": "synchronised", "rounds": 6, "batch_size": 0, "rate_decay": 0.0, "shuffled": "", "dropouts": ""},
            HorizontalLogisticFacts(rounds=6, shuffled=(), update="synchronised", rate_decay=0.0, dropouts=()),
        ),
        (
            "horizontal-logistic",
            {"rounds": 6, "shuffled": "clinic,lab", "dropouts": "clinic:3,west:1:2", "update_noise": 0.5},
            HorizontalLogisticFacts(
                rounds=6,
                shuffled=("clinic", "lab"),
                dropouts=(Dropout("clinic", 3), Dropout("west:1", 2)),
                update_noise=0.5,
            ),
        ),
        (
            "horizontal-linear",
            {"rounds": 2, "shuffled": "a", "secure_aggregation": False},
            HorizontalLinearFacts(rounds=2, shuffled=("a",), secure_aggregation=False),
        ),
        (
            "vertical-linear-arbiter",
            {"shuffle": True, "l2": 0.1, "decay": False, "loss": True, "prediction_service": False, "epsilon": 0.5},
            ArbiterFacts(shuffle=True, epsilon=0.5, l2=0.1, decay=False, loss=True, prediction_service=False),
        ),
        (
            "vertical-prediction",
            {"model": "tree", "unit_box": True, "n_classes": None, "confidence_digits": 0, "top_label": True},
            PredictionFacts(model="tree", unit_box=True, confidence_digits=0, top_label=True),
        ),
        ("somebody else's", {"rounds": 3}, None),
    ],
)
def test_options_of_version_1_become_the_protocols_own_facts(protocol, options, own, tmp_path: Path) -> None:
    _write_version_1(tmp_path, {"protocol": protocol, "parties": [], "options": options})
    assert load_capture(tmp_path).transcript.facts == Facts(protocol, (), own=own)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "options must be an object"),
        ({"shuffled": 3}, "lists of parties as texts; got 3"),
        ({"dropouts": "clinic"}, "dropouts as party:round; got 'clinic'"),
        ({"rounds": "many"}, "own.rounds: value must be an integer"),
    ],
)
def test_wrong_options_of_version_1_are_refused(options, reason: str, tmp_path: Path) -> None:
    _write_version_1(tmp_path, {"protocol": "horizontal-logistic", "parties": [], "options": options})
    with pytest.raises(FileFormatError, match=reason):
        load_capture(tmp_path)


def _write_version_1(folder: Path, facts: dict[str, object]) -> None:
    preamble = {"format": "fedleak", "schema_version": 1, "kind": "capture", "fedleak_version": "0.1.0"}
    preamble |= {"n_entries": 0, "n_segments": 0}
    (folder / "header.json").write_text(json.dumps({"preamble": preamble, "content": {"facts": facts, "locals": []}}))
    (folder / "index.jsonl").write_text("")
