"""One attack on one view, as an audit runs it, without a truth to hold the answer against."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from fedleak.attacks import ATTACKS
from fedleak.core.attack import Attack, Guess
from fedleak.core.errors import InputError, RunError, in_one_line, show_traceback
from fedleak.core.view import View
from fedleak.storage.view_and_guess import guess_from_bytes, guess_to_bytes, load_view
from fedleak.trial.conversation import AttackFailedError, Limits
from fedleak.trial.isolation import can_isolate, shared_isolation
from fedleak.trial.spent import timed_run


def attack(
    view: View | str | os.PathLike[str],
    name: str | Attack | type[Attack],
    *,
    seed: int = 0,
    wall_seconds: float | None = None,
    memory_bytes: int | None = None,
    in_process: bool = False,
) -> Guess:
    """What the attack makes of the view: a ``View``, or the folder of one that was saved.

    ``name`` is one that ``fedleak list attacks`` shows, a class, or an attack with its parameters. It runs in a process
    that holds the view alone; ``in_process`` runs it here, for a debugger, and so do systems that cannot isolate it.
    ``seed`` is of what the attack draws. An attack that fails, or lacks something, raises ``RunError`` with the reason.
    """
    if not isinstance(view, View | str | os.PathLike):
        raise InputError(f"view must be a View, or the folder of one that was saved; got {view!r:.80}")
    if not isinstance(name, str | Attack) and not (isinstance(name, type) and issubclass(name, Attack)):
        raise InputError(f"name must be the name of an attack, its class or an attack; got {name!r:.80}")
    seen = view if isinstance(view, View) else load_view(Path(view))
    chosen = ATTACKS.get(name) if isinstance(name, str) else name
    kind = chosen if isinstance(chosen, type) else type(chosen)
    if kind.produces is not seen.target.kind:
        raise InputError(f"the view must be about {kind.produces.value} for {kind.name}; got {seen.target}")
    rng = np.random.default_rng(seed)
    try:
        if in_process or not can_isolate():
            return _here(chosen, seen, rng)
        return _apart(chosen, kind, seen, rng, Limits(wall_seconds, memory_bytes))
    except AttackFailedError as error:
        show_traceback(error)
        raise RunError(f"{kind.name} has no guess: {error}") from error


def _apart(
    chosen: Attack | type[Attack], kind: type[Attack], view: View, rng: np.random.Generator, limits: Limits
) -> Guess:
    isolation = shared_isolation()
    isolation.preload([kind])
    chamber = isolation.chamber(view)
    try:
        return chamber.attempt(chosen, view, rng=rng, limits=limits)
    finally:
        chamber.close()


def _here(chosen: Attack | type[Attack], view: View, rng: np.random.Generator) -> Guess:
    try:
        guess, _ = timed_run(chosen() if isinstance(chosen, type) else chosen, view, rng)
    except Exception as error:
        raise AttackFailedError(in_one_line(error)) from error
    return guess_from_bytes(guess_to_bytes(guess))
