"""A capture from somebody's own loop: what goes in comes out, what is wrong is told, and a failure leaves nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fedleak as fedleak_package
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import FileFormatError, InputError, RunError, UnknownNameError
from fedleak.core.payload import Array, CipherArray, Scalar, Table, Texts, Tree
from fedleak.recorder import EVERYONE, Ciphertexts, Recorder
from fedleak.storage.capture_and_truth import load_capture, load_truth

PARTIES = {"bank": "active", "north, south": "passive"}
REFUSED = ("pandas", "scipy", "sklearn", "torch", "click", "rich", "cryptography", "gmpy2", "jinja2", "flint")


def recorder(tmp_path: Path, **options: object) -> Recorder:
    return Recorder(tmp_path / "capture", PARTIES, **options)


def test_it_imports_numpy_and_the_standard_library_alone(tmp_path):
    script = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {REFUSED!r}:
            raise ImportError(f"{{name}} is refused")
sys.meta_path.insert(0, Refuse())
import numpy as np
from fedleak.recorder import Ciphertexts, EVERYONE, Recorder
with Recorder({str(tmp_path / "c")!r}, {{"bank": "active", "fintech": "passive"}}, truth={str(tmp_path / "t")!r}) as r:
    r.record("bank", "features", np.ones((2, 3)), ids=[4, 5])
    r.message("train.batch", "bank", EVERYONE, np.array([4, 5]), round=0)
    r.message("train.encrypted-score", "bank", "fintech", Ciphertexts([1, 2], key="k"), round=0)
    r.truth("bank", np.ones((2, 3)), ids=[4, 5], labels=[0, 1])
ours = {{"fedleak", "numpy"}} | set(sys.stdlib_module_names)
foreign = {{name.partition(".")[0] for name in sys.modules}} - ours
print(sorted(name for name in foreign if not name.startswith("_") and name != "sitecustomize"))
"""
    source = str(Path(fedleak_package.__file__).parents[1])
    found = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {[source, *sys.path]!r}\n{script}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == "[]"
    assert len(load_capture(tmp_path / "c").transcript.messages) == 2


def test_plain_values_become_payloads(tmp_path):
    with recorder(tmp_path, own_steps=("mine",), own_records=("notes",)) as r:
        r.message("train.batch", "bank", EVERYONE, np.array([3, 1]), round=0)
        r.message("mine", "bank", "north, south", {"loss": 0.5, "layers": {"first": np.zeros((2, 2))}}, round=0)
        r.message("mine", "bank", None, "a text", round=np.int64(1))
        r.record("bank", "notes", 3)
        r.record("bank", "labels", [0, 1], ids=[3, 1])
    captured = load_capture(tmp_path / "capture")
    batch, tree, text = captured.transcript.messages
    assert isinstance(batch.payload, Array)
    assert batch.payload.values.tolist() == [3, 1]
    assert isinstance(tree.payload, Tree)
    assert tree.payload.items["loss"] == Scalar(0.5)
    assert isinstance(tree.payload.items["layers"], Tree)
    assert (text.payload, text.receiver, text.round) == (Scalar("a text"), EVERYONE, 1)
    notes, labels = captured.locals["bank"]
    assert (notes.value, notes.round) == (Scalar(3), -1)
    assert isinstance(labels.value, Table)
    assert labels.value.columns == ("label",)


def test_ciphertexts_keep_their_bytes_key_and_shape(tmp_path):
    large = (1 << 2047) + 12345
    sent = Ciphertexts(np.array([[large, 7], [0, 255]], dtype=object), key="bank's", fraction_bits=40)
    with recorder(tmp_path) as r:
        r.message("train.encrypted-score", "bank", "north, south", sent, round=0)
    (message,) = load_capture(tmp_path / "capture").transcript.messages
    assert isinstance(message.payload, CipherArray)
    assert (message.payload.key_id, message.payload.shape, message.payload.fraction_bits) == ("bank's", (2, 2), 40)
    assert [int.from_bytes(row.tobytes(), "big") for row in message.payload.data] == [large, 7, 0, 255]


def test_exponents_and_signs_stand_beside_ciphertexts(tmp_path):
    sent = Ciphertexts([5, 6], key="k", exponents=[-10, -11], signs=[1, -1])
    with recorder(tmp_path, own_steps=("mine",)) as r:
        r.message("mine", "bank", None, sent, round=0)
        r.message("mine", "bank", None, ["income", "age"], round=0)
        with pytest.raises(InputError, match=r"the signs of .* one for each ciphertext"):
            r.message("mine", "bank", None, Ciphertexts([5, 6], key="k", signs=[1]), round=0)
        with pytest.raises(InputError, match="signs -1, 0 or 1"):
            r.message("mine", "bank", None, Ciphertexts([5], key="k", signs=[2]), round=0)
    ciphertexts, names = load_capture(tmp_path / "capture").transcript.messages
    assert isinstance(ciphertexts.payload, CipherArray)
    assert ciphertexts.payload.exponents is not None
    assert ciphertexts.payload.signs is not None
    assert (ciphertexts.payload.exponents.tolist(), ciphertexts.payload.signs.tolist()) == ([-10, -11], [1, -1])
    assert names.payload == Texts(("income", "age"))


def test_facts_are_those_given_and_those_that_tables_show(tmp_path):
    facts = {"learning_rate": np.float64(0.1), "batch_size": 2, "approximation": "taylor"}
    with recorder(tmp_path, n_features={"north, south": 7}, **facts) as r:
        r.record("bank", "features", np.ones((5, 3)), ids=range(5), columns=["a", "b", "c"])
    found = load_capture(tmp_path / "capture").transcript.facts
    assert [(p.name, p.role.value, p.n_features) for p in found.parties] == [
        ("bank", "active", 3),
        ("north, south", "passive", 7),
    ]
    assert (found.n_rows, found.learning_rate, found.batch_size, found.approximation) == (5, 0.1, 2, "taylor")
    assert found.score_noise is None, "nobody said that there is none"


def test_the_truth_lies_in_a_folder_of_its_own(tmp_path):
    with recorder(tmp_path, truth=tmp_path / "truth") as r:
        r.truth("bank", np.array([[1.0, 2.0], [3.0, 5.0]]), ids=[8, 9], labels=[1, 0])
        r.truth("north, south", labels=[0.5, 0.25], ids=[8, 9])
    truth = load_truth(tmp_path / "truth")
    features = truth.of(Secret(SecretKind.FEATURES, "bank"))
    assert (features.ids.tolist(), features.columns, features.ranges.tolist()) == (
        [8, 9],
        ("x0", "x1"),
        [[1, 3], [2, 5]],
    )
    assert truth.of(Secret(SecretKind.LABELS, "bank")).values.tolist() == [[1], [0]]
    assert truth.of(Secret(SecretKind.LABELS, "north, south")).values.tolist() == [[0.5], [0.25]]
    assert load_capture(tmp_path / "capture").locals == {}


def test_a_loop_that_fails_leaves_nothing(tmp_path):
    def loop():
        with recorder(tmp_path, truth=tmp_path / "truth") as r:
            r.message("train.batch", "bank", EVERYONE, np.arange(3), round=0)
            r.truth("bank", labels=[1], ids=[0])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        loop()
    assert list(tmp_path.iterdir()) == []


def test_a_value_that_is_refused_does_not_end_the_loop(tmp_path):
    with recorder(tmp_path) as r:
        with pytest.raises(InputError):
            r.message("train.batch", "bank", EVERYONE, object(), round=0)
        r.message("train.batch", "bank", EVERYONE, np.arange(3), round=0)
    assert len(load_capture(tmp_path / "capture").transcript.messages) == 1


def test_after_the_end_nothing_is_recorded(tmp_path):
    with recorder(tmp_path) as r:
        pass
    with pytest.raises(RunError, match="must still be open"):
        r.record("bank", "gradient", np.zeros(2))


def test_an_older_capture_is_replaced_only_if_asked(tmp_path):
    for _ in range(2):
        with recorder(tmp_path, overwrite=True):
            pass
    with pytest.raises(InputError, match="must not exist yet"):
        recorder(tmp_path)


WRONG = {
    "a step with a typo": (lambda r: r.message("train.bach", "bank", None, 1, round=0), 'Did you mean "train.batch"'),
    "a step of one's own": (lambda r: r.message("zzzz", "bank", None, 1, round=0), r"own_steps=\('zzzz',\)"),
    "a record with a typo": (lambda r: r.record("bank", "gradiemt", 1), 'Did you mean "gradient"'),
    "a record of one's own": (lambda r: r.record("bank", "zzzz", 1), r"own_records=\('zzzz',\)"),
    "a party with a typo": (lambda r: r.record("bnak", "gradient", np.ones(2)), 'Did you mean "bank"'),
    "a receiver that is not there": (lambda r: r.message("train.batch", "bank", "x", 1, round=0), "unknown party 'x'"),
    "a round that is no number": (lambda r: r.message("train.batch", "bank", None, 1, round="1"), "round must be"),
    "a round before setup": (lambda r: r.message("train.batch", "bank", None, 1, round=-2), "round must be"),
    "features without ids": (lambda r: r.record("bank", "features", np.ones((2, 2))), "must come with the ids"),
    "ids that repeat": (lambda r: r.record("bank", "features", np.ones((2, 2)), ids=[1, 1]), "each once"),
    "ids that are too few": (lambda r: r.record("bank", "features", np.ones((2, 2)), ids=[1]), "a row an id"),
    "columns that are too few": (
        lambda r: r.record("bank", "features", np.ones((2, 2)), ids=[1, 2], columns=["a"]),
        "2 different names",
    ),
    "a form that nobody expects": (lambda r: r.record("bank", "gradient", "text"), "must be of the form Array"),
    "objects in an array": (lambda r: r.record("bank", "gradient", np.array(["a"])), "numbers or booleans"),
    "ragged lists": (lambda r: r.record("bank", "gradient", [[1], [1, 2]]), "equal length"),
    "something else": (lambda r: r.message("train.batch", "bank", None, object(), round=0), "got object"),
    "keys that are no texts": (lambda r: r.message("train.batch", "bank", None, {1: 2}, round=0), "texts as keys"),
    "a negative ciphertext": (
        lambda r: r.message("train.batch", "bank", None, Ciphertexts([-1], key="k"), round=0),
        "from 0 on",
    ),
    "a truth without a folder": (lambda r: r.truth("bank", labels=[1], ids=[1]), "folder of its own"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told(tmp_path, name):
    call, message = WRONG[name]
    with recorder(tmp_path) as r, pytest.raises(InputError, match=message):
        call(r)


@pytest.mark.parametrize(
    ("parties", "options", "message"),
    [
        ({}, {}, "parties must be names with roles"),
        ({"bank": "aktive"}, {}, 'role of bank must be .* Did you mean "active"'),
        ({"*": "active"}, {}, "not '\\*' .everybody"),
        ({"b\n": "active"}, {}, "printable characters"),
        ({"bank": "active"}, {"learning_rat": 1}, 'unknown public fact .* Did you mean "learning_rate"'),
        ({"bank": "active"}, {"parties": ()}, "multiple values|unknown public fact"),
        ({"bank": "active"}, {"n_features": {"x": 1}}, "unknown party 'x'"),
    ],
)
def test_a_wrong_beginning_is_told_and_leaves_nothing(tmp_path, parties, options, message):
    with pytest.raises((InputError, TypeError), match=message):
        Recorder(tmp_path / "capture", parties, **options)
    assert list(tmp_path.iterdir()) == []


def test_the_truth_may_not_lie_in_the_capture(tmp_path):
    with pytest.raises(InputError, match="apart from the capture"):
        recorder(tmp_path, truth=tmp_path / "capture")


def test_a_fact_of_the_wrong_type_is_told_before_the_training_and_leaves_nothing(tmp_path):
    for wrong in (
        {"learning_rate": "fast"},
        {"n_features": {"bank": 2.5}},
        {"family": "vertical-linear", "shuffle": 3},
    ):
        with pytest.raises(FileFormatError, match=f"{list(wrong)[-1]}.* must be"):
            recorder(tmp_path, **wrong)
    assert list(tmp_path.iterdir()) == []


def test_unknown_names_are_their_own_kind_of_error(tmp_path):
    with recorder(tmp_path) as r, pytest.raises(UnknownNameError):
        r.record("bank", "zzzz", 1)


@pytest.mark.parametrize(
    "facts",
    [
        {"learning_rate": "fast"},
        {"learning_rate": float("nan")},
        {"learning_rate": 0.0},
        {"approximation": "taylr"},
        {"initialisation": "zeros"},
        {"batch_size": 0},
        {"score_noise": -1.0},
        {"max_row_norm": float("inf")},
        {"n_features": {"bank": -1}},
    ],
    ids=str,
)
def test_facts_that_cannot_be_are_told_before_the_training(tmp_path, facts):
    with pytest.raises((FileFormatError, InputError), match=next(iter(facts))):
        recorder(tmp_path, **facts)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_the_truth_cannot_have_is_told_before_the_training(tmp_path):
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "mine").write_text("kept")
    for options in ({}, {"overwrite": True}):
        with pytest.raises(InputError, match="truth must"):
            recorder(tmp_path, truth=tmp_path / "truth", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["truth"]


def test_the_truth_lies_apart_from_the_capture(tmp_path):
    with recorder(tmp_path):
        pass
    for truth in ("capture", "capture/truth", "."):
        with pytest.raises(InputError, match="apart from the capture"):
            recorder(tmp_path, truth=tmp_path / truth, overwrite=True)


def test_a_truth_that_cannot_be_written_costs_no_capture(tmp_path):
    r = recorder(tmp_path, truth=tmp_path / "truth")
    r.truth("bank", labels=[0, 1], ids=[3, 1])
    (tmp_path / "truth").mkdir()
    with pytest.raises(InputError, match="truth must not exist yet"):
        r.finish()
    assert load_capture(tmp_path / "capture").transcript.facts.parties[0].name == "bank"


@pytest.mark.parametrize("name", ["", " ", "bank ", "*", "a\nb", "x" * 65])
def test_names_that_no_report_could_show_are_refused(tmp_path, name):
    with pytest.raises(InputError, match="a party's name must be 1 to 64 printable characters"):
        Recorder(tmp_path / "capture", {name: "active"})


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        (np.array([1.0, np.nan]), "must hold finite numbers; got nan in round 3"),
        (np.array([-np.inf]), "must hold finite numbers; got -inf in round 3"),
        (float("inf"), "must hold finite numbers; got inf in round 3"),
        ({"layer": {"weights": np.array([[np.nan]])}}, "must hold finite numbers; got nan in round 3"),
    ],
)
def test_a_training_that_diverged_is_told_when_it_is_recorded(payload, told, tmp_path):
    with recorder(tmp_path, own_steps=("mine",), own_records=("notes",)) as r:
        with pytest.raises(InputError, match=f"the payload of mine {told}"):
            r.message("mine", "bank", EVERYONE, payload, round=3)
        with pytest.raises(InputError, match=f"notes of bank {told}"):
            r.record("bank", "notes", payload, round=3)


def test_a_batch_without_rows_is_told_when_it_is_recorded(tmp_path):
    with (
        recorder(tmp_path) as r,
        pytest.raises(InputError, match=r"train\.batch must name at least one row; got none in"),
    ):
        r.message("train.batch", "bank", EVERYONE, np.array([], dtype=int), round=3)


def test_a_service_that_refuses_a_row_may_say_so_by_no_number(tmp_path):
    with recorder(tmp_path) as r:
        r.message("predict.confidences", "bank", "north, south", np.array([[np.nan, np.nan]]), round=0)
    assert len(load_capture(tmp_path / "capture").transcript.messages) == 1
