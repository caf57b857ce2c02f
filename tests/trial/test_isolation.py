"""An attack in a process of its own: what comes back, whatever it does there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import hostile
import numpy as np
import pytest

from federations import sealed, vertical
from fedleak.attacks.predictions.path_restriction import PathRestriction, Pick
from fedleak.attacks.residuals.own_weights import OwnWeights
from fedleak.attacks.residuals.residual_recovery import ResidualRecovery
from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.core.adversary import JOINT, Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.errors import InputError
from fedleak.core.whole.randomness import Randomness
from fedleak.models import convert
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.protocols.prediction.vertical_prediction import VerticalPrediction
from fedleak.storage import guess_to_bytes
from fedleak.trial import landlock
from fedleak.trial.attempt import Failure
from fedleak.trial.conversation import Limits
from fedleak.trial.isolation import Isolation, end_isolation, shared_isolation
from fedleak.trial.play import Played, play
from fedleak.trial.wire import described
from prediction_runs import unit_federation

LABELS = Secret(SecretKind.LABELS, "bank")
SEED = 5


@pytest.fixture(scope="module")
def trained() -> Played:
    return play(vertical({"bank": 3, "fintech": 8}, sealed()), Randomness.published(1))


def attempted(played: Played, attack, target: Secret = LABELS, who: str = "fintech", **options):
    return played.attempt(attack, (who,), target, **options)


def why(played: Played, attack, **options) -> str:
    result = attempted(played, attack, **options).result
    assert isinstance(result, Failure)
    return result.why


@pytest.mark.parametrize(
    ("attack", "target"),
    [
        (ResidualSign, LABELS),
        (ResidualRecovery, Secret(SecretKind.RESIDUALS, JOINT)),
        (OwnWeights, LABELS),
    ],
)
def test_the_guess_is_that_of_this_process_byte_for_byte(attack, target, trained):
    there, here = (attempted(trained, attack, target, isolated=apart) for apart in (True, False))
    assert there.isolated
    assert not here.isolated
    assert guess_to_bytes(there.guess) == guess_to_bytes(here.guess)


@pytest.mark.parametrize("pick", list(Pick))
def test_parameters_go_along(pick):
    federation = unit_federation({"bank": 3, "fintech": 2}, PredictionSettings(model="tree"), n_rows=60)
    played, target = play(federation, Randomness.published(1)), Secret(SecretKind.RANGES, "fintech")
    there, here = (attempted(played, PathRestriction(pick), target, "bank", isolated=apart) for apart in (True, False))
    assert guess_to_bytes(there.guess) == guess_to_bytes(here.guess)


def test_parameters_are_plain_values():
    with pytest.raises(InputError, match="body must be a plain value"):
        described(hostile.SendsAFrame(body=np.zeros(3)))
    loaded = ResidualSign()
    loaded.stash = 1
    with pytest.raises(InputError, match=r"must be a dataclass that holds its fields alone; got \['stash'\]"):
        described(loaded)


def test_an_attack_is_of_a_module():
    class Local(ResidualSign):
        pass

    with pytest.raises(InputError, match="Local must be a class of a module that another process can import"):
        described(Local)


@pytest.mark.parametrize("attack", [hostile.Exits, hostile.Crashes])
def test_a_crash_is_told_and_the_next_attempt_goes_well(attack, trained):
    assert why(trained, attack) == "its process ended without an answer: it crashed, or the system ended it"
    assert attempted(trained, ResidualSign).guess.status is Status.RECOVERED


def test_what_an_attack_raises_is_one_line(trained, monkeypatch, capsys):
    monkeypatch.setenv("FEDLEAK_TRACEBACK", "")
    assert why(trained, hostile.Raises) == "ValueError: no way to go on"
    assert "Traceback" not in capsys.readouterr().err
    monkeypatch.setenv("FEDLEAK_TRACEBACK", "1")
    assert why(trained, hostile.Raises) == "ValueError: no way to go on"
    assert "in run" in capsys.readouterr().err


def test_an_attack_that_lacks_something_is_skipped(trained):
    result = attempted(trained, hostile.LacksAnExtra).result
    assert isinstance(result, Failure)
    assert result.skipped
    assert result.why == "this attack needs the package sandwich; install it with: pip install 'fedleak[lunch]'"


@pytest.mark.parametrize("attack", [hostile.NeverEnds, hostile.Trickles, hostile.Floods])
def test_an_attack_that_takes_too_long_is_ended(attack, trained):
    began = time.monotonic()
    assert why(trained, attack, limits=Limits(wall_seconds=0.5)).startswith("it took longer than the 0.5 s")
    assert time.monotonic() - began < 10


def test_what_it_had_told_by_then_is_kept(trained):
    guess = attempted(trained, hostile.TellsAndNeverEnds, limits=Limits(wall_seconds=1.0)).guess
    assert guess.status is Status.UNDETERMINED
    assert guess.values.tolist() == [[0.5]]
    assert guess.why == "it took longer than the 1 s that it was given; this is what it had until then"


def test_an_attack_that_takes_too_much_memory_fails_alone(trained):
    """The limit is beyond what its process begins with, so a small one leaves others alone."""
    told = "it needed more than the 500 MB of memory that it was given"
    assert why(trained, hostile.TakesAllMemory, limits=Limits(memory_bytes=500_000_000)) == told


def test_a_limit_of_a_megabyte_binds(trained):
    """Linear algebra that finds no memory would loop for ever, or end its process: it has its own before the limit."""
    limits = Limits(wall_seconds=60.0, memory_bytes=1_000_000)
    told = "it needed more than the 1 MB of memory that it was given"
    assert why(trained, hostile.MultipliesMegabytes, limits=limits) == told
    below_its_buffer = Limits(wall_seconds=60.0, memory_bytes=16_000_000)
    assert attempted(trained, hostile.Multiplies, limits=below_its_buffer).guess.why == "4.096e+06"


def test_an_answer_about_another_secret_is_none(trained):
    assert "must answer about" in why(trained, hostile.AnswersAboutAnother)


def test_an_answer_that_is_no_guess_is_none(trained):
    assert why(trained, hostile.AnswersNothing)


def test_it_may_not_fork(trained):
    assert "may not use os.fork" in why(trained, hostile.Forks)


FRAMES = [("GUESS", "nonsense"), ("INTERIM", ""), *[("FAILURE", body) for body in ("nonsense", "[]", "3", "{}", "")]]


@pytest.mark.parametrize(("kind", "body"), FRAMES)
def test_nonsense_in_a_frame_is_a_failure_of_the_attack(kind, body, trained):
    assert why(trained, hostile.SendsAFrame(kind, body)).startswith("its answer cannot be read")


def test_nonsense_instead_of_frames_is_a_failure_of_the_attack(trained):
    assert why(trained, hostile.SendsGarbage).startswith("its answer cannot be read: FileFormatError: a frame must be")


@pytest.mark.parametrize("kind", ["READY", "STARTED", "REQUEST", "ANSWER", "REFUSAL", "QUERY"])
def test_frames_out_of_turn_change_nothing(kind, trained):
    assert attempted(trained, hostile.SendsAFrame(kind)).guess.why == "it went on"


@pytest.fixture(scope="module")
def served() -> Played:
    """A model that may be asked twice."""
    federation = unit_federation({"bank": 3, "fintech": 2}, PredictionSettings(model="opaque"), n_rows=20)
    names = tuple(name for party in federation.parties for name in party.columns)
    model = convert(lambda rows: np.full((len(rows), 3), 1 / 3), names)
    played = play(federation, Randomness.published(1), protocol=VerticalPrediction(model))
    services = {
        name: replace(service, spec=replace(service.spec, budget=2)) for name, service in played.run.services.items()
    }
    return replace(played, run=replace(played.run, services=services))


def asked(played: Played, attack) -> tuple[str, int]:
    """What the attack says of its queries, and how many the oracle here has in its log."""
    view = played.view(("bank",), Secret(SecretKind.FEATURES, "fintech"))
    guess = shared_isolation().chamber(view).attempt(attack, view, rng=np.random.default_rng(SEED))
    (oracle,) = view.oracles.values()
    return guess.why, len(oracle.log)


def test_queries_are_counted_here(served):
    told, count = asked(served, hostile.Asks)
    assert told.startswith("2 oracle ")
    assert told.endswith("the budget of 2 queries is spent")
    assert count == 2


def test_a_query_that_the_service_refuses_is_told_to_the_attack(served):
    told, count = asked(served, hostile.AsksNonsense)
    assert told.startswith("0 ")
    assert "rows of 5 numbers" in told
    assert count == 0


def test_each_attempt_has_the_whole_budget(served):
    for _ in range(2):
        assert asked(served, hostile.Asks)[1] == 2


@pytest.mark.skipif(landlock.version() < 6, reason="needs a kernel whose Landlock knows signals")
def test_an_attack_cannot_end_the_process_of_its_view(trained):
    assert attempted(trained, hostile.KillsItsParent).guess.why == "-1"


def test_a_view_whose_process_is_gone_gets_another(trained):
    _, holder = attempted(trained, hostile.TellsItsProcess).guess.why.split()
    os.kill(int(holder), signal.SIGKILL)
    _, another = attempted(trained, hostile.TellsItsProcess).guess.why.split()
    assert another != holder
    end_isolation()
    assert attempted(trained, ResidualSign).guess.status is Status.RECOVERED


def test_no_process_no_folder_and_no_descriptor_stays(trained):
    attempted(trained, ResidualSign)  # whatever is opened once for all is open now
    before = len(os.listdir("/proc/self/fd"))
    isolation = Isolation()
    view = trained.view(("fintech",), LABELS)
    chamber = isolation.chamber(view)
    told = [chamber.attempt(hostile.TellsItsProcess, view, rng=np.random.default_rng(0)).why for _ in range(3)]
    isolation.close()
    chamber.close()
    processes = {int(number) for why in told for number in why.split()}
    assert len(processes) == 4, "one for the view, one for each attempt"
    assert gone(processes)
    assert not isolation.views.exists()
    assert len(os.listdir("/proc/self/fd")) == before


def gone(processes: set[int], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while any(Path(f"/proc/{number}").exists() for number in processes) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(Path(f"/proc/{number}").exists() for number in processes)


INTERRUPTED = """
import os, sys
from federations import sealed, vertical
from fedleak.core.whole.randomness import Randomness
from fedleak.core.adversary import Secret, SecretKind
from fedleak.trial.isolation import shared_isolation
from fedleak.trial.play import play
import hostile
played = play(vertical({"bank": 3, "fintech": 8}, sealed(epochs=1)), Randomness.published(1))
def attempted(attack):
    return played.attempt(attack, ("fintech",), Secret(SecretKind.LABELS, "bank"))
print(attempted(hostile.TellsItsProcess).guess.why, shared_isolation()._process.pid, flush=True)
attempted(hostile.NeverEnds)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interruption_ends_everything(number, tmp_path):
    """The attack that runs, too; also where there is no time for last words."""
    folders = os.pathsep.join(path for path in sys.path if path)
    work = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": folders, "TMPDIR": str(tmp_path)},
    )
    assert work.stdout is not None
    _, holder, server = (int(number) for number in work.stdout.readline().split())
    running = _children(holder)
    work.send_signal(number)
    _, told = work.communicate(timeout=30)
    assert work.returncode == -number
    assert number is signal.SIGKILL or "KeyboardInterrupt" in told
    assert running
    assert gone({holder, server, *running})
    assert number is signal.SIGKILL or not list(tmp_path.iterdir())


def _children(process: int, seconds: float = 10.0) -> set[int]:
    """Of the process of a view: the attempts that run, as soon as there are any that stay."""
    until, found = time.monotonic() + seconds, set[int]()
    while not found and time.monotonic() < until:
        time.sleep(0.5)  # the one that told its number is gone by then
        found = {int(number) for number in Path(f"/proc/{process}/task/{process}/children").read_text().split()}
    return found
