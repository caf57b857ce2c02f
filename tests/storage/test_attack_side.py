"""A process that loads a view and every attack has loaded nothing of the whole run."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from fedleak.protocols import vocabulary_modules

WHOLE = ("fedleak.core.whole", "fedleak.storage.capture_and_truth")
OF_PROTOCOLS = {"fedleak.protocols", *vocabulary_modules(), *(m.rpartition(".")[0] for m in vocabulary_modules())}


def _loaded(program: str) -> list[str]:
    begins = (*WHOLE, "fedleak.protocols")
    code = textwrap.dedent(program) + f"\nimport sys\nprint(*[n for n in sys.modules if n.startswith({begins})])"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.parametrize("program", ["import fedleak.storage", "from fedleak.attacks import ATTACKS; list(ATTACKS)"])
def test_nothing_of_the_whole_is_loaded(program: str) -> None:
    """Of protocols their list and their words; the packages around them hold nothing else."""
    assert set(_loaded(program)) <= OF_PROTOCOLS


def test_a_capture_does_load_it() -> None:
    assert set(WHOLE) <= set(_loaded("import fedleak.storage.capture_and_truth"))
