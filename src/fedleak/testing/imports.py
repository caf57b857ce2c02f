"""Which modules an attack brings along, and whether one of them knows the truth."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from fedleak.core.attack import Attack
from fedleak.protocols import vocabulary_modules
from fedleak.trial.code_places import search_path
from fedleak.trial.shut_off import knows_the_truth

IMPORTED = """
import importlib, json, sys
importlib.import_module(sys.argv[1])
print(json.dumps({name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}))
"""
OURS = "fedleak.attacks"
DOTTED = re.compile(r"fedleak(\.\w+)+")


def check_imports(attack: type[Attack]) -> None:
    """In a fresh interpreter its module loads nothing that knows the truth, and no code of its package names it."""
    loaded = _loaded_with(attack.__module__)
    known = sorted(name for name in loaded if knows_the_truth(name))
    assert not known, f"importing {attack.__module__} must load nothing that knows the truth; it loads {known[:5]}"
    package = OURS if attack.__module__.startswith(OURS) else attack.__module__.partition(".")[0]
    for name, file in loaded.items():
        if f"{name}.".startswith(f"{package}.") and file and file.endswith(".py"):
            named = sorted({found for found in _named_in(Path(file)) if _is_forbidden(found)})
            assert not named, f"{name} must not import what knows the truth; it names {', '.join(named)}"


def _is_forbidden(name: str) -> bool:
    """A word of a vocabulary goes by its module's name and its own."""
    return knows_the_truth(name) and name.rpartition(".")[0] not in vocabulary_modules()


def _loaded_with(module: str) -> Mapping[str, str | None]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(search_path())}
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, module], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, f"{module} must be importable in a fresh interpreter; got: {done.stderr[-500:]}"
    found: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return found


def _named_in(file: Path) -> Iterator[str]:
    """Imports anywhere in the code, and texts that are the name of a module of ours."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and DOTTED.fullmatch(node.value):
            yield node.value
