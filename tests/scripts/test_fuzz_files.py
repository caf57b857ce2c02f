"""A part of the mutants that the nightly target tries."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import pytest

import fuzz_files
from fedleak.core.errors import FileFormatError

N_MUTANTS = 15  # of each seed


@pytest.mark.parametrize("seed", fuzz_files.seeds(), ids=lambda path: path.name)
def test_a_seed_is_read_and_its_mutants_are_read_or_refused(seed, tmp_path, monkeypatch):
    fuzz_files.reader_of(seed)(seed)
    monkeypatch.setattr(fuzz_files, "_give_seconds", lambda working, waiting: None)
    found = [fuzz_files.tried(seed, number, tmp_path) for number in range(N_MUTANTS)]
    assert [what for what in found if what not in ("read", "refused")] == []
    assert "refused" in found


def test_a_reader_that_breaks_is_noticed(monkeypatch):
    def broken(_):
        raise IndexError("out of range")

    monkeypatch.setitem(fuzz_files.READERS, "table", broken)
    seed = next(path for path in fuzz_files.seeds() if path.name.startswith("table"))
    counted, faults, _ = fuzz_files.block((seed, 0, 3))
    assert counted == {"fault": 3}
    assert "IndexError" in faults[0].what


def test_a_reader_that_works_for_ever_is_ended():
    """In a process of its own: signals of tests are the test runner's."""
    code = (
        "import signal, fuzz_files as f; from pathlib import Path; from tempfile import mkdtemp\n"
        "def endless(_):\n    while True: pass\n"
        "f.SECONDS_A_FILE = 0.2; f.READERS['table'] = endless\n"
        "signal.signal(signal.SIGPROF, f._too_long)\n"
        "seed = next(path for path in f.seeds() if path.name.startswith('table'))\n"
        "print(f.tried(seed, 0, Path(mkdtemp())).splitlines()[-1])"
    )
    scripts = str(Path(fuzz_files.__file__).parent)
    command = [sys.executable, "-c", code]
    told = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": scripts}, capture_output=True, text=True, check=True
    )
    assert "TooLong" in told.stdout


def test_a_hang_is_noticed_where_a_reader_takes_any_error_for_the_files_fault(monkeypatch, tmp_path):
    """As readers of archives and the planner do; so hangs in them passed for files that were refused."""

    def patient(_):
        try:
            fuzz_files._too_long()
        except Exception as error:
            raise FileFormatError("no such thing") from error

    monkeypatch.setitem(fuzz_files.READERS, "table", patient)
    seed = next(path for path in fuzz_files.seeds() if path.name.startswith("table"))
    assert "TooLong" in fuzz_files.tried(seed, 0, tmp_path)


def test_a_time_binds(monkeypatch, capsys):
    """A pool takes jobs in advance, so that a clock where they are made was looked at once."""
    monkeypatch.setattr(sys, "argv", ["fuzz_files", "--count", "100000", "--seconds", "0"])
    monkeypatch.setattr(fuzz_files.multiprocessing, "Pool", lambda *_: nullcontext(InTurn()))
    assert fuzz_files.main() == 0
    assert capsys.readouterr().out.startswith("50 mutants: ")


class InTurn:
    """A pool that has taken every job before the first is done."""

    def imap_unordered(self, _, todo):
        return iter([(Counter(read=50), [], 0) for _ in list(todo)])


def test_a_mutant_follows_from_its_number(tmp_path):
    from random import Random

    seed = next(path for path in fuzz_files.seeds() if path.is_file())
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        made.append(fuzz_files.place_mutant(seed, tmp_path / name, Random("7")).read_bytes())
    assert made[0] == made[1] != seed.read_bytes()
