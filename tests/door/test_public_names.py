"""``import fedleak``: which names there are, how they are called, and what the import costs."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.util import find_spec

import pytest

import fedleak

NAMES = [
    "Advice",
    "Check",
    "Recorder",
    "Report",
    "__version__",
    "advise",
    "attack",
    "audit",
    "audit_model",
    "check",
    "load_report",
    "save_gradient",
]
OF_A_FRAME = ["target", "parties", "labels", "protocol", "adversaries"]
PARAMETERS = {
    "advise": ["scenario", "budget", "max_audits", "jobs", "run_key", "progress"],
    "attack": ["view", "name", "seed", "wall_seconds", "memory_bytes", "in_process"],
    "audit": [
        "scenario", "transcript", "truth", "coalitions", *OF_A_FRAME, "defenses", "attacks",
        "run_key", "repeats", "jobs", "in_process", "attack_timeout", "attack_memory", "out", "redact", "keep_keys",
        "progress", "settings",
    ],
    "audit_model": [
        "model", "rows", "labels", "hidden", "columns", "population", "knowledge", "attacks", "defenses", "seed",
        "run_key",
    ],
    "check": ["scenario", *OF_A_FRAME, "defenses", "attacks", "settings"],
    "load_report": ["path"],
}  # fmt: skip


def test_the_names_are_these() -> None:
    assert fedleak.__all__ == NAMES
    assert set(NAMES) <= set(dir(fedleak))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there(name: str) -> None:
    assert getattr(fedleak, name) is getattr(fedleak, name)


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_have_these_names(name: str) -> None:
    function = getattr(fedleak, name)
    assert list(inspect.signature(function).parameters) == PARAMETERS[name]
    assert function.__doc__


def test_no_module_has_the_name_of_a_function() -> None:
    """Importing it would put the module in the function's place."""
    assert [name for name in PARAMETERS if find_spec(f"fedleak.{name}") is not None] == []


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'fedleak' has no attribute 'audits'"):
        fedleak.audits  # noqa: B018


def test_the_import_loads_nothing() -> None:
    shown = "import sys, fedleak; print(fedleak.__version__, *dir(fedleak)); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", shown], check=True, capture_output=True, text=True)
    listed, loaded = (set(line.split()) for line in done.stdout.splitlines())
    assert listed >= set(NAMES)
    assert {name for name in loaded if name.startswith("fedleak.")} == {"fedleak.core", "fedleak.core.version"}
    assert not loaded & {"numpy", "pandas", "click", "rich"}
