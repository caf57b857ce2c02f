"""``fedleak audit --transcript --coalition``: parties of a captured run that pool what they have."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_command_line import fedleak

import fedleak as door
from fedleak.core.errors import ExitCode, InputError
from fedleak.frameworks.averaged_clients import FOLDER, after_own_step, keep
from fedleak.frameworks.averaged_record import record_averaging
from fedleak.frameworks.job import Held, Job

OPTIONS = {"rounds": 40, "learning_rate": 0.2, "curious_batch": 4, "model": "linear"}
N_ROWS, N_COLUMNS = 15, 4  # so few columns that luck alone would not tell: what the rounds prove does


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """Three clients and FedAvg, written as the scripts beside frameworks write it."""
    folder = tmp_path_factory.mktemp("averaged")
    rng = np.random.default_rng(3)
    parties = tuple(
        Held(
            name,
            tuple("abcd"),
            np.arange(N_ROWS) + 100 * number,
            rng.integers(0, 2, (N_ROWS, N_COLUMNS)).astype(np.float64),
            (np.arange(N_ROWS) % 2).astype(np.float64),
        )
        for number, name in enumerate(("clinic", "hospital", "lab"))
    )
    job = Job(folder, "1", 1, OPTIONS, parties)
    weights = 0.1 * rng.standard_normal(N_COLUMNS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(folder))
        for number in range(OPTIONS["rounds"]):
            stepped = [after_own_step(job, rank, number, weights) for rank in range(3)]
            for rank, own in enumerate(stepped):
                keep("model", number, rank, weights)
                keep("sent", number, rank, own)
            weights = np.mean(stepped, axis=0)
    np.save(folder / "model-last.npy", weights)
    record_averaging(job, "averaging 1", {"score_noise": 0.0, "fraction_bits": 44})
    return folder


def products(captured, tmp_path, out, *more):
    done = fedleak(
        *("audit", "--transcript", captured / "capture", "--truth", captured / "truth", "--out", out),
        *("--attack", "column-products", "--json", "-", *more),
        cwd=tmp_path,
    )
    assert done.returncode == ExitCode.DONE, done.stderr
    report = json.loads(done.stdout)
    found = {(*one["adversary"],): (one["secret"]["owner"], one["outcome"]) for one in report["findings"]}
    return found, report


def test_parties_that_collude_find_what_one_alone_does_not(captured, tmp_path):
    alone, _ = products(captured, tmp_path, "alone")
    assert alone["clinic",] == ("hospital+lab", "leak")
    assert ("clinic", "lab") not in alone
    together, report = products(captured, tmp_path, "together", "--coalition", "clinic, lab")
    assert together["clinic", "lab"] == ("hospital", "leak")
    assert together["clinic",] == alone["clinic",]
    proved = next(one for one in report["findings"] if one["adversary"] == ["clinic", "lab"])
    assert "all its entries are whole numbers" in proved["certificate"]
    assert "--coalition 'clinic, lab'" in report["environment"]["command"]


@pytest.mark.parametrize("names", ["clinic", "clinic,clinic", "clinic,hospital,lab,server", "clinic,lap"])
def test_a_coalition_is_of_parties_of_the_run(captured, tmp_path, names):
    done = fedleak("audit", "--transcript", captured / "capture", "--coalition", names, cwd=tmp_path)
    assert done.returncode == ExitCode.WRONG_INPUT
    assert done.stderr.startswith("fedleak: a coalition must be two parties or more of the captured run")
    assert len(done.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_scenario_names_its_own_adversaries(tmp_path):
    done = fedleak("audit", "--coalition", "bank,fintech", cwd=tmp_path)
    assert done.returncode == ExitCode.WRONG_INPUT
    assert "--coalition must go with a captured run" in done.stderr
    with pytest.raises(InputError, match="truth and coalitions must go with transcript"):
        door.audit(coalitions=[("bank", "fintech")])


def test_the_same_from_python(captured):
    report = door.audit(
        transcript=captured / "capture",
        truth=captured / "truth",
        coalitions=[("hospital", "lab")],
        attacks=["sent-products"],
        in_process=True,
    )
    assert ("hospital", "lab") in {finding.adversary for finding in report.findings}
    assert "coalitions=[('hospital', 'lab')]" in report.environment["command"]
