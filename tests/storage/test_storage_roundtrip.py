"""What is stored comes back: every type, every bit."""

from __future__ import annotations

import tempfile
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import FileFormatError, InputError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.oracle import Answer, LiveOracle, OracleSpec
from fedleak.core.payload import Array, Payload, Scalar, Table, Tree, digest
from fedleak.core.steps import Role
from fedleak.core.transcript import Message, Record, Transcript
from fedleak.core.view import View
from fedleak.core.whole.run import Captured
from fedleak.core.whole.truth import Truth
from fedleak.protocols.averaging.vocabulary import HorizontalFacts, HorizontalLogisticFacts
from fedleak.storage import Limits, load_view, save_view
from fedleak.storage.capture_and_truth import load_capture, load_truth, save_capture, save_truth
from stored_values import FACT_STRATEGIES, facts, messages, payloads, records, same, truths, views

FACTS = Facts("vertical-logistic", (PartyFacts("active", Role.ACTIVE, 3),))
examples = settings(derandomize=True, deadline=None, max_examples=60)


def _captured(*sent: Message) -> Captured:
    return Captured(Transcript(FACTS, sent), {})


def _stored(payload: Payload, folder: Path, limits: Limits | None = None) -> Payload:
    save_capture(_captured(Message("step", 0, "active", "passive", payload)), folder / "run", limits=limits or Limits())
    return load_capture(folder / "run").transcript.messages[0].payload


@examples
@given(payloads)
def test_payload(payload: Payload) -> None:
    with tempfile.TemporaryDirectory() as folder:
        loaded = _stored(payload, Path(folder))
        assert same(payload, loaded)
        assert digest(payload) == digest(loaded)


@examples
@given(
    facts,
    st.lists(messages, max_size=4),
    st.dictionaries(st.sampled_from(["active", "passive"]), st.lists(records, max_size=3)),
)
def test_capture(known: Facts, sent: list[Message], kept: dict[str, list[Record]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        save_capture(Captured(Transcript(known, sent), kept), Path(folder) / "run")
        loaded = load_capture(Path(folder) / "run")
        assert same(known, loaded.transcript.facts)
        assert same(sent, loaded.transcript.messages)
        assert same(kept, loaded.locals)


def test_every_fact_is_drawn() -> None:
    """A new field of Facts must join the strategy, or its round trip goes untested."""
    assert FACT_STRATEGIES.keys() == {field.name for field in fields(Facts)}


@examples
@given(views)
def test_view(view: View) -> None:
    with tempfile.TemporaryDirectory() as folder:
        save_view(view, Path(folder) / "view")
        assert same(view, load_view(Path(folder) / "view"))


@examples
@given(views)
def test_saving_is_deterministic(view: View) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "first", Path(folder) / "second"
        save_view(view, first)
        save_view(load_view(first), second)
        for path in first.rglob("*"):
            assert path.is_dir() or path.read_bytes() == (second / path.relative_to(first)).read_bytes()


@examples
@given(truths())
def test_truth(truth: Truth) -> None:
    with tempfile.TemporaryDirectory() as folder:
        save_truth(truth, Path(folder) / "truth")
        assert same(truth, load_truth(Path(folder) / "truth"))


@pytest.mark.parametrize("value", [0.1, 5e-324, 1.7976931348623157e308, -0.0, 1 / 3, float("inf"), float("-inf")])
def test_floats_in_facts_are_exact(value: float, tmp_path: Path) -> None:
    known = Facts("p", (), learning_rate=value, own=HorizontalLogisticFacts(rate_decay=value))
    save_capture(Captured(Transcript(known, ()), {}), tmp_path / "run")
    loaded = load_capture(tmp_path / "run").transcript.facts
    assert repr(loaded.learning_rate) == repr(loaded.of(HorizontalLogisticFacts).rate_decay) == repr(value)


def test_numpy_scalars_become_plain(tmp_path: Path) -> None:
    known = Facts("p", (), n_rows=np.int32(7), learning_rate=np.float32(0.5), own=HorizontalFacts(rounds=np.int64(3)))  # type: ignore[arg-type]
    save_capture(Captured(Transcript(known, ()), {}), tmp_path / "run")
    loaded = load_capture(tmp_path / "run").transcript.facts
    assert (loaded.n_rows, loaded.learning_rate, loaded.of(HorizontalFacts).rounds) == (7, 0.5, 3)
    assert type(loaded.n_rows) is type(loaded.of(HorizontalFacts).rounds) is int


def test_layouts_in_memory_do_not_matter(tmp_path: Path) -> None:
    grid = np.arange(24.0).reshape(2, 3, 4)
    for number, array in enumerate((grid.transpose(), grid[:, ::2], grid[::-1], np.asfortranarray(grid[0]))):
        folder = tmp_path / str(number)
        folder.mkdir()
        loaded = _stored(Array(array), folder)
        assert isinstance(loaded, Array)
        np.testing.assert_array_equal(loaded.values, array)


def test_loaded_arrays_cannot_be_written_to(tmp_path: Path) -> None:
    loaded = _stored(Tree({"a": Array(np.arange(3)), "t": Table(("c",), np.arange(2), np.ones((2, 1)))}), tmp_path)
    assert isinstance(loaded, Tree)
    for array in (loaded.items["a"].values, loaded.items["t"].values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(Array(np.ones(2, dtype=np.longdouble)), id="long double"),
        pytest.param(Table(("c",), np.array(["x"]), np.ones((1, 1))), id="text ids"),
        pytest.param(Table(("c",), np.array([1]), np.array([[object()]])), id="objects"),
        pytest.param(Scalar("\ud800"), id="half a surrogate pair"),
        pytest.param(Scalar(1 << (1 << 18)), id="enormous integer"),
        pytest.param(Tree({"x" * 2000: Scalar(1)}), id="long name"),
        pytest.param(Scalar("x" * (2 << 20)), id="long text"),
    ],
)
def test_what_cannot_be_read_back_is_not_written(payload: Payload, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"index\.jsonl, line 1 cannot be stored"):
        _stored(payload, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("depth", [100, 5000])
def test_trees_that_are_too_deep_are_not_written(depth: int, tmp_path: Path) -> None:
    tree: Payload = Scalar(1)
    for _ in range(depth):
        tree = Tree({"inside": tree})
    with pytest.raises(FileFormatError, match="nest"):
        _stored(tree, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "limits",
    [Limits(total_bytes=100), Limits(line_bytes=50), Limits(n_entries=0), Limits(n_segments=0), Limits(header_bytes=9)],
)
def test_limits_hold_when_writing(limits: Limits, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="must"):
        _stored(Array(np.arange(100.0)), tmp_path, limits)
    assert list(tmp_path.iterdir()) == []


def _view(**changes: object) -> View:
    values = {
        "coalition": ("active",),
        "target": Secret(SecretKind.FEATURES, "passive"),
        "facts": FACTS,
        "messages": (),
        "locals": {},
    }
    return View(**{**values, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"messages": (Message("step", 0, "passive", "arbiter", Scalar(1)),)},
        {"locals": {"passive": (Record("step", 0, "secret", Scalar(1)),)}},
    ],
)
def test_a_view_holds_only_what_its_coalition_sees(changes: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="coalition"):
        save_view(_view(**changes), tmp_path / "view")
    assert list(tmp_path.iterdir()) == []


def test_live_oracles_are_attached_by_name(tmp_path: Path) -> None:
    oracle = LiveOracle(OracleSpec("scores", "rows", "scores", 1), lambda _: Answer(()))
    save_view(_view(oracles={"scores": oracle}), tmp_path / "view")
    assert load_view(tmp_path / "view", {"scores": oracle}).oracles["scores"] is oracle
    assert load_view(tmp_path / "view").oracles["scores"].spec == oracle.spec
    with pytest.raises(InputError, match='Did you mean "scores"'):
        load_view(tmp_path / "view", {"score": oracle})


def test_kinds_of_folder_are_not_confused(tmp_path: Path) -> None:
    save_view(_view(), tmp_path / "view")
    with pytest.raises(FileFormatError, match="kind must be capture; got 'view'"):
        load_capture(tmp_path / "view")
    with pytest.raises(FileFormatError, match="kind must be truth; got 'view'"):
        load_truth(tmp_path / "view")


def test_stored_sequences_behave_like_tuples(tmp_path: Path) -> None:
    sent = tuple(Message("step", number, "active", "passive", Scalar(number)) for number in range(5))
    save_capture(_captured(*sent), tmp_path / "run")
    stored = load_capture(tmp_path / "run").transcript.messages
    assert len(stored) == 5
    assert stored[-1].round == 4
    assert [message.round for message in stored[1::2]] == [1, 3]
    assert [message.round for message in stored] == [message.round for message in reversed(stored)][::-1]
    with pytest.raises(IndexError):
        stored[5]
