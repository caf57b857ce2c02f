"""A protocol is run in one place, so that every result comes of the same trial."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import fedleak

SOURCE = Path(fedleak.__file__).parent
OF_A_RUN = {"hooks", "sink"}  # what ``Protocol.run`` alone takes


def runs_a_protocol(source: str) -> bool:
    return any(_is_run(call) for call in ast.walk(ast.parse(source)) if isinstance(call, ast.Call))


def _is_run(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "run" or _is_super(call.func.value):
        return False
    named = OF_A_RUN & {keyword.arg for keyword in call.keywords}
    return bool(named) or any(name.lower().endswith("protocol") for name in _names(call.func.value))


def _is_super(value: ast.expr) -> bool:
    """A protocol that runs as the one that it extends is still the one that trial runs."""
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super"


def _names(value: ast.expr) -> Iterator[str]:
    for node in ast.walk(value):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def test_a_protocol_is_run_in_trial_alone():
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if runs_a_protocol(path.read_text())}
    assert found == {"trial/play.py"}


def test_a_run_is_told_from_other_calls():
    for text in ("VerticalLogistic().run(f, rng=r, hooks=(), sink=s)", "self._protocol.run(f)", "protocol().run(f)"):
        assert runs_a_protocol(text), text
    for text in ("attack.run(view, rng=r)", "audit.run()", "super().run(f, rng=r, hooks=h, sink=s)", "rounds.run(b)"):
        assert not runs_a_protocol(text), text
