"""Folders from strangers: each mutation is one FileFormatError, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import FileFormatError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownCells, KnownColumn, PublicSample
from fedleak.core.oracle import Answer, Exchange, OracleSpec, ReplayOracle
from fedleak.core.payload import Array, CipherArray, IntegerArray, ModelSpec, Scalar, Table, Texts, Tree
from fedleak.core.steps import Role
from fedleak.core.transcript import Message, Record, Transcript
from fedleak.core.view import View
from fedleak.core.whole.run import Captured
from fedleak.core.whole.truth import SecretValues, Served, Truth
from fedleak.protocols.linear.vocabulary import LinearFacts
from fedleak.storage import Limits, load_view, save_view
from fedleak.storage.capture_and_truth import load_capture, load_truth, save_capture, save_truth

HEADER, INDEX, SEGMENT = "header.json", "index.jsonl", "segments/0000.npy"


def small_view() -> View:
    """Something of everything, in a few hundred bytes."""
    spec = OracleSpec("scores", "rows", "scores", 3)
    answer = Answer((Message("predict", 0, "passive", "active", Array(np.ones(2))),))
    numbers = Tree(
        {
            "array": Array(np.arange(6, dtype="<f8").reshape(2, 3)),
            "flags": Array(np.array([True, False])),
            "cipher": CipherArray("k", "paillier", np.ones((2, 4), dtype=np.uint8), (2,), 16),
            "texts": Texts(("age", "sex")),
            "integers": IntegerArray.from_ints([5, 6], 4),
            "table": Table(("c",), np.arange(2), np.ones((2, 1))),
            "model": ModelSpec("linear", {"bias": 0.5, "big": 2**80}, {"weights": np.ones(3)}),
        }
    )
    return View(
        ("active",),
        Secret(SecretKind.FEATURES, "passive"),
        Facts("p", (PartyFacts("active", Role.ACTIVE, 3),), learning_rate=0.1, own=LinearFacts(epsilon=float("inf"))),
        (Message("train", 0, "passive", "active", numbers), Message("end", 1, "active", "*", Scalar(None))),
        {"active": (Record("train", 0, "gradient", Array(np.ones(3, dtype="<f4"))),)},
        Knowledge(
            (KnownCells("passive", np.arange(2), np.arange(2), np.ones(2)),),
            (KnownColumn("passive", "c", ColumnKind.BINARY, 0.0, 1.0),),
            (PublicSample("passive", Table(("c",), np.arange(2), np.ones((2, 1)))),),
        ),
        {"scores": ReplayOracle(spec, (Exchange(Scalar("query"), answer),))},
    )


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "view"
    save_view(small_view(), path)
    return path


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "view"))


@pytest.fixture(scope="module")
def scratch(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy whose files are changed and restored many times."""
    return Path(shutil.copytree(original, tmp_path_factory.mktemp("scratch") / "view"))


def read_all(path: Path, limits: Limits | None = None) -> None:
    """Load, and look at everything that was loaded."""
    view = load_view(path, limits=limits or Limits())
    for message in view.messages:
        assert isinstance(message, Message)
    for party in view.locals:
        assert len(list(view.locals[party])) == len(view.locals[party])
    assert all(oracle.log is not None for oracle in view.oracles.values())


def refused(path: Path, reason: str, limits: Limits | None = None) -> None:
    with pytest.raises(FileFormatError, match=reason) as caught:
        read_all(path, limits)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def edit_header(path: Path, keys: str, value: object) -> None:
    header = json.loads((path / HEADER).read_text())
    _set(header, keys, value)
    (path / HEADER).write_text(json.dumps(header))


def edit_line(path: Path, line: int, keys: str, value: object) -> None:
    lines = (path / INDEX).read_text().splitlines()
    entry = json.loads(lines[line])
    _set(entry, keys, value)
    lines[line] = json.dumps(entry)
    (path / INDEX).write_text("\n".join(lines) + "\n")


def replace_line(path: Path, line: int, text: bytes) -> None:
    lines = (path / INDEX).read_bytes().splitlines()
    lines[line] = text
    (path / INDEX).write_bytes(b"\n".join(lines) + b"\n")


DELETE = object()


def _set(value: object, keys: str, new: object) -> None:
    *way, last = keys.split("/")
    for key in way:
        value = value[int(key)] if isinstance(value, list) else value[key]  # type: ignore[index]
    if new is DELETE:
        del value[last]  # type: ignore[attr-defined]
    else:
        value[last] = new  # type: ignore[index]


def test_the_untouched_folder_loads(folder: Path) -> None:
    read_all(folder)


@pytest.mark.parametrize(
    ("keys", "value", "reason"),
    [
        ("preamble/schema_version", 3, "schema_version must be at most 2; got 3. Install a newer fedleak"),
        ("preamble/schema_version", 10**18, "schema_version must be at most 2"),
        ("preamble/schema_version", 0, "schema_version must be from 1 to 2; got 0"),
        ("preamble/schema_version", "1", "must be an integer"),
        ("preamble/schema_version", True, "must be an integer"),
        ("preamble/format", "pickle", "format must be fedleak"),
        ("preamble/kind", "model", "kind must be view"),
        ("preamble/n_entries", 10**9, "n_entries must be 0 to 10000000"),
        ("preamble/n_entries", -1, "n_entries must be 0"),
        ("preamble/n_entries", 1, "must have 1 lines, as header.json says; got more"),
        ("preamble/n_entries", 100, "must have 100 lines, as header.json says; got 7"),
        ("preamble/n_segments", 10**9, "n_segments must be 0 to"),
        ("preamble/n_segments", 2, "0001.npy must be a readable file; got: No such file"),
        ("preamble/n_segments", 0, "segment must be one of 0; got 0"),
        ("preamble/surprise", 1, "keys must be of .*; got 'surprise'"),
        ("preamble/kind", DELETE, "key 'kind' must be given"),
        ("preamble", [], "value must be an object; got a list of 0"),
        ("surprise", 1, "header must be an object with the keys preamble and content"),
        ("content/facts/parties/0/role", "boss", "must be one of active, passive"),
        ("content/facts/parties/0/n_features", 0.5, "must be an integer"),
        ("content/facts/learning_rate", "fast", "must be a number"),
        ("content/facts/learning_rate", {"float": "NaN"}, "nan, inf or -inf"),
        ("content/facts/options", {}, "keys must be of .*; got 'options'"),
        ("content/facts/own/kind", "os.system", "own: kind must be one of vertical-linear"),
        ("content/facts/own/kind", ["vertical-linear"], "own: kind must be one of vertical-linear"),
        ("content/facts/own/kind", DELETE, "own: kind must be one of vertical-linear"),
        ("content/facts/own/kind", "vertical-prediction", "own: keys must be of .*; got "),
        ("content/facts/own/epsilon", "small", "own.epsilon: value must be a number"),
        ("content/facts/own/surprise", 1, "own: keys must be of .*; got 'surprise'"),
        ("content/facts/capabilities", ["everything"], "capabilities.item0: value must be one of"),
        ("content/facts/protocol", None, "must be a text"),
        ("content/facts/protocol", "\ud800", "surrogate"),
        ("content/facts/protocol", "x" * 5000, "at most 1024 characters"),
        ("content/target/kind", "soul", "must be one of labels"),
        ("content/coalition", "active", "must be a list"),
        ("content/coalition", ["arbiter"], "line 1: message must be to or from the coalition"),
        ("content/locals", [], "line 3: party must be in"),
        ("content/oracles", {}, "line 7: oracle must be one that the header describes; got 'scores'"),
    ],
)
def test_headers(folder: Path, keys: str, value: object, reason: str) -> None:
    edit_header(folder, keys, value)
    refused(folder, reason)


VALUES = "payload/items/array/values"


@pytest.mark.parametrize(
    ("line", "keys", "value", "reason"),
    [
        (0, "entry", "pickle", "line 1: entry must be one of message"),
        (0, "entry", ["message"], "entry must be one of message"),
        (0, "entry", DELETE, "entry must be one of message"),
        (0, "payload/type", "object", "payload: type must be one of array"),
        (0, "payload/surprise", 1, "got 'surprise'"),
        (0, "payload/items", [], "payload.items: value must be an object"),
        (0, "round", 1.5, "round: value must be an integer"),
        (0, "sender", 7, "sender: value must be a text"),
        (0, f"{VALUES}/dtype", "|O", "array.values: dtype must be one of"),
        (0, f"{VALUES}/dtype", "O", "dtype must be one of"),
        (0, f"{VALUES}/dtype", "f8", "dtype must be one of"),
        (0, f"{VALUES}/dtype", "<f16", "dtype must be one of"),
        (0, f"{VALUES}/dtype", "<U4", "dtype must be one of"),
        (0, f"{VALUES}/dtype", "<c16", "dtype must be one of"),
        (0, f"{VALUES}/dtype", "[('a', '<f8')]", "dtype must be one of"),
        (0, f"{VALUES}/shape", [2**62, 2**62], "array must take at most"),
        (0, f"{VALUES}/shape", [2**62, 2**62, 0], "array must take at most"),
        (0, f"{VALUES}/shape", [2**32, 2**32], "array must take at most"),
        (0, f"{VALUES}/shape", [-1, -6], "no negative length"),
        (0, f"{VALUES}/shape", [1] * 33, "at most 32 dimensions"),
        (0, f"{VALUES}/shape", [True, 6], "must be an integer"),
        (0, f"{VALUES}/shape", [1000], "must lie inside segment 0"),
        (0, f"{VALUES}/shape", [2, 2**30], "must lie inside segment 0"),
        (0, f"{VALUES}/segment", 1, "segment must be one of 1; got 1"),
        (0, f"{VALUES}/segment", -1, "segment must be 0 to"),
        (0, f"{VALUES}/segment", 10**9, "segment must be 0 to"),
        (0, f"{VALUES}/segment", "../../etc/passwd", "must be an integer"),
        (0, f"{VALUES}/offset", 2**62, "must lie inside segment 0"),
        (0, f"{VALUES}/offset", -64, "multiple of 64, 0 or more"),
        (0, f"{VALUES}/offset", 1, "multiple of 64"),
        (0, f"{VALUES}/offset", 64, "without overlap"),
        (0, "payload/items/table/values/offset", 0, "without overlap"),
        (0, "payload/items/flags/values/offset", 0, "without overlap"),
        (0, "payload/items/cipher/shape", [3], "CipherArray data must be bytes of shape"),
        (0, "payload/items/cipher/shape", [-1, -2], "lengths of 0 or more"),
        (0, "payload/items/cipher/shape", [2**62] * 100_000, "at most 32 lengths"),
        (0, "payload/items/cipher/data/dtype", "|i1", "cipher.data: array must be of type uint8; got .i1"),
        (0, "payload/items/cipher/data/shape", [8], "CipherArray data"),
        (0, "payload/items/table/ids/shape", [], "Table ids must have one dimension"),
        (0, "payload/items/table/columns", ["a", "b"], "Table values must have shape"),
        (0, "payload/items/model/config/bias", {}, "config.bias: value must be a scalar"),
        (0, "payload/items/model/config/bias", [], "config.bias: value must be a scalar"),
        (0, "payload/items/model/config/big", {"int": "zz"}, "hexadecimal"),
        (0, "payload/items/model/config/big", {"int": "-"}, "hexadecimal"),
        (0, "payload/items/model/config/big", {"int": "1_0"}, "hexadecimal"),
        (0, "payload/items/model/config/big", {"int": "f" * 100_000}, "integer must have at most"),
        (0, "payload/items/model/config/big", {"object": "y"}, "must be a scalar"),
        (2, "party", "passive", "party must be in the coalition"),
        (2, "record/surprise", 1, "record: keys must be of"),
        (3, "values/shape", [1], "KnownCells ids, columns and values"),
        (3, "ids/dtype", "<f8", "ids: array must be of type int64; got <f8"),
        (4, "kind", "gaussian", "kind: value must be one of numeric"),
        (5, "rows/type", "scalar", "rows: type must be one of table"),
        (6, "oracle", "other", "oracle must be one that the header describes"),
        (2, "record/value/values/dtype", "|b1", "booleans must be stored as 0 or 1"),
    ],
)
def test_entries(folder: Path, line: int, keys: str, value: object, reason: str) -> None:
    edit_line(folder, line, keys, value)
    refused(folder, reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(b"", "must be JSON", id="empty"),
        pytest.param(b"null", "must be an object", id="no object"),
        pytest.param(b'{"entry": "message"', "must be JSON", id="unclosed"),
        pytest.param(b'{"entry": "message"} {}', "must be JSON", id="two values"),
        pytest.param(b'{"entry": "x", "entry": "y"}', "got 'entry' more than once", id="duplicate key"),
        pytest.param(b'{"entry": "\xff"}', "must be UTF-8; got byte 0xff", id="not UTF-8"),
        pytest.param(b'\xef\xbb\xbf{"entry": "message"}', "must be JSON", id="byte order mark"),
        pytest.param(b'{"round": NaN}', "NaN and infinities must be written as", id="NaN"),
        pytest.param(b'{"round": -Infinity}', "NaN and infinities must be written as", id="infinity"),
        pytest.param(b'{"round": 1e999}', "must fit in a double", id="float overflow"),
        pytest.param(b'{"round": 0.' + b"1" * 10_000 + b"}", "must fit in a double", id="long float"),
        pytest.param(b'{"round": 1' + b"0" * 5000 + b"}", "integers must fit in 64 bits", id="long integer"),
        pytest.param(b'{"round": 9223372036854775808}', "integers must fit in 64 bits", id="65 bits"),
        pytest.param(b"[" * 100_000, "nested this deep", id="deep lists"),
        pytest.param(b'{"entry":' * 100_000, "nested this deep", id="deep objects"),
        pytest.param(b"[" * 500 + b"]" * 500, "must be an object", id="half deep lists"),
        pytest.param(
            b'{"entry":"message","step":"s","round":0,"sender":"active","receiver":"*","payload":'
            + b'{"type":"tree","items":{"x":' * 70
            + b'{"type":"scalar","value":1}'
            + b"}}" * 70
            + b"}",
            "nest at most 64 deep",
            id="deep trees",
        ),
    ],
)
def test_lines(folder: Path, text: bytes, reason: str) -> None:
    replace_line(folder, 1, text)
    refused(folder, reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(b"[" * 100_000, "nested this deep", id="deep"),
        pytest.param(b"\xff", "must be UTF-8", id="not UTF-8"),
        pytest.param(b'{"preamble": {}, "preamble": {}}', "'preamble' more than once", id="duplicate key"),
        pytest.param(b"[]", "header must be an object", id="no object"),
    ],
)
def test_whole_headers(folder: Path, text: bytes, reason: str) -> None:
    (folder / HEADER).write_bytes(text)
    refused(folder, reason)


def test_a_capture_with_an_unlisted_party(tmp_path: Path) -> None:
    kept = {"active": (Record("step", 0, "x", Scalar(1)),)}
    save_capture(Captured(Transcript(Facts("p", ()), ()), kept), tmp_path / "run")
    edit_header(tmp_path / "run", "content/locals", ["passive"])
    with pytest.raises(FileFormatError, match="line 1: party must be one of the header's locals; got 'active'"):
        load_capture(tmp_path / "run")


@pytest.mark.parametrize("owners", [["active"], ["active", "active"], ["passive", "active"]])
def test_a_truth_with_other_secrets_than_listed(tmp_path: Path, owners: list[str]) -> None:
    values = SecretValues(np.arange(1), ("c",), np.ones((1, 1)), np.ones((1, 2)))
    secrets = [Secret(SecretKind.LABELS, owner) for owner in ("active", "passive")]
    save_truth(Truth(dict.fromkeys(secrets, values)), tmp_path / "truth")
    edit_header(tmp_path / "truth", "content/secrets", [{"kind": "labels", "owner": owner} for owner in owners])
    if owners == ["active", "active"]:
        edit_line(tmp_path / "truth", 1, "secret/owner", "active")
    with pytest.raises(FileFormatError, match="must hold the secrets that its header lists, each once"):
        load_truth(tmp_path / "truth")


@pytest.mark.parametrize("promised", [True, False])
def test_a_truth_with_a_served_model_that_is_not_there_or_not_promised(tmp_path: Path, promised: bool) -> None:
    rows = Table(("c",), np.arange(1), np.ones((1, 1)))
    served = Served(ModelSpec("linear", {}, {}), rows, np.ones((1, 2)))
    save_truth(Truth({}, None if promised else served), tmp_path / "truth")
    edit_header(tmp_path / "truth", "content/served", promised)
    with pytest.raises(FileFormatError, match="must hold the served model that its header promises, once"):
        load_truth(tmp_path / "truth")


@pytest.mark.parametrize("name", [HEADER, INDEX, SEGMENT])
def test_every_truncation(original: Path, tmp_path: Path, name: str) -> None:
    whole = (original / name).read_bytes()
    folder = Path(shutil.copytree(original, tmp_path / "view"))
    for length in range(0, len(whole), 7 if name == SEGMENT else 3):
        (folder / name).write_bytes(whole[:length])
        if name == HEADER and length == len(whole) - 1:
            continue  # only the final newline is missing
        refused(folder, "must")


@pytest.mark.parametrize("name", [HEADER, INDEX, SEGMENT])
def test_something_is_appended(folder: Path, name: str) -> None:
    with (folder / name).open("ab") as file:
        file.write(b"x")
    refused(folder, "must")


@settings(derandomize=True, deadline=None, max_examples=400)
@given(st.sampled_from([HEADER, INDEX, SEGMENT]), st.data())
def test_flipped_bits(scratch: Path, name: str, data: st.DataObject) -> None:
    """A valid folder or a FileFormatError: never another exception."""
    whole = bytearray((scratch / name).read_bytes())
    flips = data.draw(st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 7)), min_size=1, max_size=4))
    for position, bit in flips:
        whole[position] ^= 1 << bit
    _loads_or_is_refused(scratch, name, bytes(whole))


@pytest.mark.parametrize("name", [HEADER, INDEX])
def test_every_byte_flipped(scratch: Path, name: str) -> None:
    whole = (scratch / name).read_bytes()
    for position in range(len(whole)):
        flipped = bytes([whole[position] ^ (1 << (position % 8))])
        _loads_or_is_refused(scratch, name, whole[:position] + flipped + whole[position + 1 :])


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.sampled_from([HEADER, INDEX, SEGMENT]), st.binary(max_size=200))
def test_arbitrary_bytes(scratch: Path, name: str, content: bytes) -> None:
    _loads_or_is_refused(scratch, name, content)


def _loads_or_is_refused(folder: Path, name: str, content: bytes) -> None:
    changed, original = folder / name, folder.parent / "original"
    os.rename(changed, original)  # never written in place: a memory map may still look at it
    try:
        changed.write_bytes(content)
        read_all(folder)
    except FileFormatError as error:
        assert str(folder) in str(error)  # noqa: PT017
    finally:
        os.replace(original, changed)


@pytest.mark.parametrize("name", [HEADER, INDEX, SEGMENT])
def test_missing_files(folder: Path, name: str) -> None:
    (folder / name).unlink()
    refused(folder, f"{name} must be a readable file; got: No such file")


@pytest.mark.parametrize("name", [HEADER, INDEX, SEGMENT, "segments"])
def test_symbolic_links(folder: Path, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    (folder / name).rename(elsewhere)
    (folder / name).symlink_to(elsewhere)
    refused(folder, "got a symbolic link")


@pytest.mark.parametrize("name", [HEADER, INDEX, SEGMENT])
def test_special_files(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    refused(folder, "must be a regular file; got a special file")
    (folder / name).unlink()
    (folder / name).mkdir()
    refused(folder, "must be a regular file; got a folder")


def test_not_a_folder(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", "must be a folder with a stored view; got nothing there")
    (tmp_path / "file").write_text("{}")
    refused(tmp_path / "file", "must be a folder with a stored view; got something else")


def _npy(array: np.ndarray, folder: Path) -> None:
    np.save(folder / SEGMENT, array, allow_pickle=True)


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (lambda folder: _npy(np.array([{"a": 1}], dtype=object), folder), "flat array of dtype .u1"),
        (lambda folder: _npy(np.zeros(4000, dtype=np.int8), folder), "flat array of dtype .u1"),
        (lambda folder: _npy(np.zeros((40, 100), dtype=np.uint8), folder), "flat array of dtype .u1"),
        (lambda folder: _npy(np.zeros(3, dtype=np.uint8), folder), "must lie inside segment 0"),
        (lambda folder: (folder / SEGMENT).write_bytes(b""), "numpy file of version 1.0"),
        (lambda folder: (folder / SEGMENT).write_bytes(b"\x93NUMPY\x02\x00" + bytes(200)), "version 1.0"),
        (lambda folder: (folder / SEGMENT).write_bytes(b"\x93NUMPY\x01\x00\xff\xff" + bytes(99)), "must have a header"),
        (
            lambda folder: (folder / SEGMENT).write_bytes(
                b"\x93NUMPY\x01\x00\x76\x00" + b"__import__('os').abort()".ljust(117) + b"\n"
            ),
            "its header says otherwise",
        ),
    ],
)
def test_segments_of_another_kind(folder: Path, write: Callable[[Path], object], reason: str) -> None:
    write(folder)
    refused(folder, reason)


@pytest.mark.parametrize(
    "limits",
    [
        Limits(header_bytes=100),
        Limits(line_bytes=100),
        Limits(total_bytes=1500),
        Limits(n_entries=6),
        Limits(n_segments=0),
        Limits(n_levels=2),
        Limits(n_dimensions=1),
        Limits(name_chars=5),
        Limits(text_chars=4),
        Limits(integer_bits=64),
        Limits(segment_bytes=300),
    ],
)
def test_limits_hold_when_reading(folder: Path, limits: Limits) -> None:
    refused(folder, "must", limits)


def test_names_are_never_paths(folder: Path) -> None:
    """A name may say anything; no file is looked up by it."""
    edit_line(folder, 1, "step", "../../../etc/passwd\0")
    assert load_view(folder).messages[1].step == "../../../etc/passwd\0"


def test_an_index_that_changes_under_a_loaded_view(folder: Path) -> None:
    """The lines are checked again when they are decoded."""
    view = load_view(folder)
    with (folder / INDEX).open("r+b") as file:
        file.write(b"X")
    with pytest.raises(FileFormatError, match="line 1: text must be JSON"):
        view.messages[0]
