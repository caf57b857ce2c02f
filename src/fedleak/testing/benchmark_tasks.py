"""A benchmark that others can enter: fixed views from published seeds, and guesses scored from bytes.

Who enters gets views, as files, and nothing else; guesses come back as one .npz a task. The truth is made anew by who
scores, from the same seed. It is no secret, since the seed is none: what an entry says it looked at is its word.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from fedleak.attacks import ATTACKS
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.core.attack import Guess, Status
from fedleak.core.errors import FileFormatError, InputError, MissingExtraError
from fedleak.core.finding import Score
from fedleak.storage.npz_archive import read_archive
from fedleak.storage.view_and_guess import save_view
from fedleak.testing.situations import Situation, situation_in
from fedleak.trial.attempt import Attempt, scored

SEED = 52_117  # drawn after the tasks and their metrics were settled
MOST_BYTES = 64 << 20
ARRAYS = {"ids", "values", "confidence"}


@dataclass(frozen=True)
class BenchmarkTask:
    """``place`` is the attack whose coalition and target the view has; ``entries`` are those of ours that enter."""

    name: str
    summary: str
    place: str
    entries: tuple[str, ...]


TASKS = (
    BenchmarkTask(
        "labels",
        "labels of a bank, from a fintech's gradients over batches larger than its columns",
        "own-weights",
        ("own-weights", "residual-sign", "minimum-norm-labels"),
    ),
    BenchmarkTask(
        "columns",
        "six hidden columns, from the confidences of a logistic regression of three classes",
        "posterior-inference",
        ("equality-solving", "equality-projection", "equality-bayes", "posterior-inference"),
    ),
    BenchmarkTask(
        "pictures",
        "two pictures at a time, from the gradient of a sigmoid network",
        "cosine-matching",
        ("deep-leakage", "cosine-matching", "picture-factoring"),
    ),
)


@cache
def situation(task: BenchmarkTask) -> Situation:
    text = resources.files("fedleak.testing").joinpath("benchmark", f"{task.name}.toml").read_text(encoding="utf-8")
    return situation_in(parse_scenario(text), ATTACKS.get(task.place), seed=SEED)


def write_views(folder: Path) -> dict[str, str]:
    """One folder a task; the SHA-256 of each, over its files in order, or why there is none: a package is missing."""
    found = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"FOLDER must be one that can be written; got {folder} ({error.strerror})") from error
    for task in TASKS:
        try:
            save_view(situation(task).view(), folder / task.name, overwrite=True)
        except MissingExtraError as error:
            found[task.name] = f"left out: {error}"
        else:
            found[task.name] = f"sha256 {digest(folder / task.name)}"
    return found


def digest(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        total.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def read_entry(task: BenchmarkTask, path: Path) -> Guess:
    """Arrays ``ids`` and ``values`` (a row an id), and ``confidence`` of the values where there is one."""
    arrays = read_archive(path, MOST_BYTES)
    if not {"ids", "values"} <= arrays.keys() <= ARRAYS:
        raise FileFormatError(f"{path} must hold ids, values and, if you like, confidence; got {', '.join(arrays)}")
    placed = situation(task)
    truth, ids, values = placed.truth, arrays["ids"], arrays["values"]
    if ids.dtype.kind not in "iu" or ids.ndim != 1 or values.dtype.kind not in "fiub":
        raise FileFormatError(f"{path}: ids must be whole numbers in a list, and values numbers")
    shape = (len(ids), *truth.values.shape[1:])
    if values.shape != shape or not np.isin(ids, truth.ids).all() or len(set(ids.tolist())) != len(ids):
        raise FileFormatError(f"{path}: values must have shape {shape}, and ids be rows of the view, each once")
    confidence = arrays.get("confidence")
    if confidence is not None and (confidence.shape != shape or confidence.dtype.kind != "f"):
        raise FileFormatError(f"{path}: confidence must have the shape of values, {shape}")
    try:
        return Guess(
            placed.task.target, Status.PARTIAL, ids.astype(np.int64), values.astype(np.float64), confidence=confidence
        )
    except ValueError as error:
        raise FileFormatError(f"{path}: {error}") from error


def write_entry(guess: Guess, path: Path) -> None:
    """A guess of ours as an entry's file."""
    arrays = {"ids": guess.ids, "values": guess.values}
    if guess.confidence is not None:
        arrays["confidence"] = guess.confidence
    np.savez(path, **arrays)  # type: ignore[arg-type]


def score_of(task: BenchmarkTask, guess: Guess) -> Score:
    """By the metric that decides in an audit, beside the best blind guess."""
    placed = situation(task)
    attempt = Attempt(placed.task.attack, placed.coalition, placed.task.target, placed.knowledge, guess, 0.0)
    found = scored(attempt, placed.played.run.truth, np.random.default_rng([SEED, 2]), brief=True)
    if not found.scores:
        raise InputError(f"the guess for {task.name} must hold values that can be scored; it holds none")
    return found.scores[0]


def check_submission(folder: Path) -> dict[str, Score]:
    """Of every task that the folder has a file for, ``labels.npz`` and so on."""
    if not folder.is_dir():
        raise InputError(f"a submission must be a folder with a .npz a task; got {folder}")
    files = {task: folder / f"{task.name}.npz" for task in TASKS}
    if not any(path.is_file() for path in files.values()):
        raise InputError(f"a submission must hold at least one of {', '.join(path.name for path in files.values())}")
    return {task.name: score_of(task, read_entry(task, path)) for task, path in files.items() if path.is_file()}


@dataclass(frozen=True)
class Entered:
    task: str
    entry: str
    score: Score | None  # None where the attack says that nothing can be said
    cpu_seconds: float | None
    why: str = ""


def enter(task: BenchmarkTask, name: str) -> Entered:
    """An attack of ours, in a process that holds the view alone; its guess goes through an entry's values."""
    attempt = situation(task).attempt(ATTACKS.get(name), brief=True)
    spent = None if attempt.spent is None else attempt.cpu_seconds
    said = attempt.result
    if not isinstance(said, Guess) or said.status is Status.NOT_IDENTIFIABLE or not np.isfinite(said.values).any():
        return Entered(task.name, name, None, spent, said.why)
    plain = Guess(said.secret, Status.PARTIAL, said.ids, said.values, confidence=said.confidence)
    return Entered(task.name, name, score_of(task, plain), spent)
