"""What crosses a process boundary is the same on the other side: by pickle, and from there to the file format, byte for
byte; and nobody can write to its arrays there either."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federations import run, sealed, vertical
from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.auditing.planner import plan_check
from fedleak.auditing.scenario_file import built_in_scenario
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import read_only
from fedleak.core.attack import Guess, Prediction, Status, Verdict
from fedleak.core.errors import FedleakError
from fedleak.core.finding import Better, Claim, ColumnResult, Exhibit, Finding, Mode, Outcome, Score, Theory
from fedleak.core.knowledge import Knowledge
from fedleak.core.payload import Array, Payload, digest
from fedleak.core.report import Remedy, Report, RunSummary
from fedleak.core.transcript import Message, Record, Transcript
from fedleak.core.view import View
from fedleak.core.vocabulary import Vocabulary
from fedleak.core.whole.randomness import Randomness, RunKey
from fedleak.core.whole.run import Captured
from fedleak.core.whole.truth import Truth
from fedleak.data import DataSpec, load_images, load_table
from fedleak.defenses import DEFENSES
from fedleak.deviations import DEVIATIONS
from fedleak.door.checking import check
from fedleak.protocols import PROTOCOLS, vocabularies
from fedleak.report import json_format
from fedleak.storage import save_view
from fedleak.storage.capture_and_truth import DiskSink, save_capture, save_truth
from fedleak.storage.view_and_guess import guess_to_bytes, payload_to_bytes
from fedleak.trial.attempt import Attempt, Failure
from fedleak.trial.conversation import Limits
from fedleak.trial.decide import Question
from fedleak.trial.play import play
from fedleak.trial.spent import Spent
from stored_values import facts, knowledge, messages, payloads, records, same, secrets, truths, views

examples = settings(derandomize=True, deadline=None, max_examples=60)


def travelled(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301  (our own bytes)


def arrays_in(value: object) -> list[np.ndarray]:
    match value:
        case np.ndarray():
            return [value]
        case Mapping():
            return [array for item in value.values() for array in arrays_in(item)]
        case list() | tuple():
            return [array for item in value for array in arrays_in(item)]
        case _ if is_dataclass(value):
            return [array for field in fields(value) for array in arrays_in(getattr(value, field.name))]
    return []


def assert_same_and_read_only(value: object) -> None:
    found = travelled(value)
    assert same(value, found)
    assert not any(array.flags.writeable for array in arrays_in(found))


def folder_bytes(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def stored(save, value) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        save(value, Path(folder) / "kept")
        return folder_bytes(Path(folder) / "kept")


@examples
@given(payloads)
def test_payloads(payload: Payload) -> None:
    found = travelled(payload)
    assert payload_to_bytes(found) == payload_to_bytes(payload)
    assert digest(found) == digest(payload)
    assert_same_and_read_only(payload)


@examples
@given(st.one_of(messages, records, facts, knowledge))
def test_pieces_of_a_view(piece: object) -> None:
    assert_same_and_read_only(piece)


@examples
@given(views)
def test_views(view: View) -> None:
    list(view.records("nothing"))  # fills a cache, which must not travel
    found = travelled(view)
    assert stored(save_view, found) == stored(save_view, view)
    assert set(vars(found)) == {field.name for field in fields(View)}


@examples
@given(facts, st.lists(messages, max_size=3), st.lists(records, max_size=3))
def test_captures(known, sent: list[Message], kept: list[Record]) -> None:
    captured = Captured(Transcript(known, tuple(sent)), {"active": tuple(kept)})
    assert stored(save_capture, travelled(captured)) == stored(save_capture, captured)


@examples
@given(truths())
def test_truths(truth: Truth) -> None:
    assert stored(save_truth, travelled(truth)) == stored(save_truth, truth)
    assert_same_and_read_only(truth)


@examples
@given(secrets, st.integers(0, 2), st.data())
def test_guesses(secret: Secret, n_rows: int, data: st.DataObject) -> None:
    shape = data.draw(st.sampled_from([(2,), (2, 1), (1, 2, 3)]))
    values = np.linspace(0.0, 1.0, n_rows * int(np.prod(shape))).reshape(n_rows, *shape)
    ids = np.zeros(secret.kind.indexed_by.shape_of(n_rows), dtype=np.int64)
    intervals = np.stack([values, values + 1.0], axis=-1)
    guess = Guess(secret, Status.PARTIAL, ids, values, intervals, values, (values,), {"rank": 3}, "why", "unique")
    assert guess_to_bytes(travelled(guess)) == guess_to_bytes(guess)
    assert_same_and_read_only(guess)


LABELS = Secret(SecretKind.LABELS, "bank")
SCORE = Score("accuracy", 0.9, 0.5, Better.HIGHER, (0.8, 1.0), 10)
GUESS = Guess(LABELS, Status.RECOVERED, np.arange(2), np.ones((2, 1)))
EXHIBIT = Exhibit(np.ones((2, 4, 4)), np.zeros((2, 4, 4)))
COLUMN = ColumnResult("age", 10, 0.1, 0.3, 0.9, 0.5)
FINDING = Finding(
    *(("fintech",), Mode.PASSIVE, "residual-sign", LABELS, None, Outcome.LEAK, "why", Theory("exact", ("so",))),
    score=SCORE,
    columns=(COLUMN,),
    claim=Claim("recovered", 2, 0.5),
    exhibit=EXHIBIT,
)
REPORT = Report(
    read_only({"title": "test", "seed": 3}),
    read_only({"cipher": "sealed"}),
    (RunSummary(None, None, {}, 1.0),),
    (FINDING,),
    (Remedy("noise stops it", "gaussian-noise"),),
    run_key=str(RunKey.published(3, "test")),
)
FEDERATION = vertical({"bank": 2, "fintech": 3}, sealed())
VALUES = [
    SCORE,
    COLUMN,
    EXHIBIT,
    FINDING,
    Prediction(Verdict.EXACT, ("so",)),
    Attempt(ResidualSign, ("fintech",), LABELS, Knowledge(), GUESS, 1.0, scores=(SCORE,), spent=Spent(1.0, 0.5)),
    Attempt(ResidualSign, ("fintech",), LABELS, Knowledge(), Failure("it crashed"), 1.0),
    REPORT,
    FEDERATION,
    FEDERATION.settings,
    FEDERATION.parties[0].train,
    Randomness.published(3, "test"),
    RunKey.published(3, "test"),
    Question(("fintech",), Mode.PASSIVE, "residual-sign", LABELS, None, Theory("exact", ("so",))),
    Limits(wall_seconds=1.0, memory_bytes=5),
    built_in_scenario(),
    plan_check(built_in_scenario()),
    check(),
    load_images("sklearn:digits", max_rows=3),
    load_table(DataSpec(source="sklearn:iris", task="multiclass")),
    *(protocol.settings_type() for protocol in PROTOCOLS),
    *(defense() for defense in DEFENSES),
    *(deviation() for deviation in DEVIATIONS),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_every_other_value(value: object) -> None:
    assert_same_and_read_only(value)


@pytest.mark.parametrize("words", vocabularies(), ids=lambda words: words.facts[0].kind if words.facts else "captured")
def test_the_words_of_protocols(words: Vocabulary) -> None:
    assert travelled(words) == words
    assert [step.name for step in travelled(words).steps] == [step.name for step in words.steps]


def errors(kind: type[FedleakError] = FedleakError) -> list[type[FedleakError]]:
    return [kind, *(further for below in kind.__subclasses__() for further in errors(below))]


@pytest.mark.parametrize("kind", errors())
def test_errors(kind: type[FedleakError]) -> None:
    """What fails in a process is told by another."""
    found = travelled(kind("it failed"))
    assert (type(found), str(found)) == (kind, "it failed")


def test_a_report_has_the_same_json() -> None:
    assert json_format.dumps(travelled(REPORT)) == json_format.dumps(REPORT)


def test_a_whole_run() -> None:
    """Secrets that are computed when they are asked for are computed on the other side."""
    made = run(FEDERATION)
    found = travelled(made)
    assert stored(save_truth, found.truth) == stored(save_truth, made.truth)
    assert stored(save_capture, Captured(found.transcript, found.locals)) == stored(
        save_capture, Captured(made.transcript, made.locals)
    )


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_played_run_is_attacked_where_it_arrives(on_disk: bool, tmp_path: Path) -> None:
    played = play(FEDERATION, Randomness.published(3), sink=DiskSink(tmp_path / "run") if on_disk else None)
    here = played.attempt(ResidualSign, ("fintech",), LABELS)  # starts a process, which stays
    found = travelled(played)
    there = found.attempt(ResidualSign, ("fintech",), LABELS)
    assert there.isolated
    assert guess_to_bytes(there.guess) == guess_to_bytes(here.guess)
    assert same(there.scores, here.scores)
    assert same((found.federation, found.randomness, found.facts), (played.federation, played.randomness, played.facts))


def test_what_pickle_alone_would_make_of_an_array() -> None:
    """What the tests here look for can go wrong: numpy's own come back writable, in another byte order."""
    array = np.ones((2, 3), ">f4")[:, ::2]
    array.flags.writeable = False
    assert travelled(array).flags.writeable
    assert travelled(array).dtype.str != array.dtype.str
    assert_same_and_read_only(Array(array))
