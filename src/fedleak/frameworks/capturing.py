"""One capture: a table is dealt out, a small federation of it runs in the framework's own environment, and what was
sent comes back as a capture, with the truth beside it. Nothing is left behind where any of this fails."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedleak.core.errors import DataError, InputError, RunError
from fedleak.core.whole.federation import Party
from fedleak.data import ByRatio, ByRowRatio, DataSpec, load_table, split_horizontal, split_vertical
from fedleak.data.encoding import EncodedTable
from fedleak.frameworks.children import last_line, run_to_end
from fedleak.frameworks.environment import Say, ready
from fedleak.frameworks.job import CAPTURE, ERROR, TRUTH, write_job
from fedleak.frameworks.recipe import Option, Recipe
from fedleak.storage.folder import check_place

HOLDER, PARTNER = "bank", "fintech"
CLINICS = ("clinic", "hospital", "lab", "ward", "hub")
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
NICENESS = {"RAY_worker_niceness": "0"}  # Ray's is 15: on a busy machine captures of Flower ran out of time


@dataclass(frozen=True)
class Wanted:
    """What is captured: a framework's run on somebody's table."""

    recipe: Recipe
    data: DataSpec
    options: Mapping[str, Option]
    own_share: float  # of the columns, for the party with the labels
    seed: int
    out: Path
    python: Path | None = None


def captured(wanted: Wanted, say: Say) -> tuple[Path, Path]:
    """The folders of the capture and of the truth."""
    wanted.out.mkdir(parents=True, exist_ok=True)
    try:
        return _captured(wanted, say)
    finally:
        if not any(wanted.out.iterdir()):
            wanted.out.rmdir()


def _captured(wanted: Wanted, say: Say) -> tuple[Path, Path]:
    recipe, places = wanted.recipe, (wanted.out / CAPTURE, wanted.out / TRUTH)
    for place in places:
        check_place(place.absolute(), overwrite=False)
    parties = dealt(wanted)
    interpreter = ready(recipe, wanted.python, say)
    if recipe.warning:
        say(f"warning: {recipe.warning}")
    with tempfile.TemporaryDirectory(prefix=".capturing-", dir=wanted.out, ignore_cleanup_errors=True) as name:
        folder = Path(name).absolute()
        write_job(folder, recipe.version, wanted.seed, wanted.options, parties)
        say(f"{recipe.title} {recipe.version}: {_size(parties)}; at most {recipe.limit_seconds} s")
        _run(recipe, interpreter, folder)
        for place in places:
            os.rename(folder / place.name, place)
    return places


def dealt(wanted: Wanted) -> tuple[Party, ...]:
    """The parties with their part of the table."""
    table = load_table(wanted.data)
    if table.labels is None:
        raise DataError("the table must have labels: name their column with --target")
    rng = np.random.default_rng(wanted.seed)
    if wanted.recipe.layout == "rows":
        n_parties = int(wanted.options["parties"])
        names = CLINICS[:n_parties]
        if not 2 <= n_parties <= len(CLINICS):
            raise InputError(f"parties must be from 2 to {len(CLINICS)}; got {n_parties}")
        return tuple(split_horizontal(table, ByRowRatio(dict.fromkeys(names, 1 / n_parties)), rng=rng))
    return _by_columns(table, wanted.own_share, rng)


def _by_columns(table: EncodedTable, own_share: float, rng: np.random.Generator) -> tuple[Party, ...]:
    if not 0 < own_share < 1:
        raise InputError(f"--own-share must be above 0 and below 1; got {own_share:g}")
    shares = ByRatio({HOLDER: own_share, PARTNER: 1 - own_share}, order="shuffled")
    return tuple(split_vertical(table, shares, labels_at=HOLDER, rng=rng))


def _run(recipe: Recipe, interpreter: Path, folder: Path) -> None:
    log = folder / "log.txt"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    code = run_to_end(
        [str(interpreter), "-P", "-m", recipe.inside, str(folder)],
        what=f"the training with {recipe.title}",
        seconds=recipe.limit_seconds,
        log=log,
        cwd=folder,
        env={**NICENESS, **inherited, **THREADS},
    )
    if code:
        told = folder / ERROR
        why = told.read_text(encoding="utf-8") if told.exists() else last_line(log)
        raise RunError(f"the training with {recipe.title} {recipe.version} failed: {why}")
    for name in (CAPTURE, TRUTH):  # both or neither: a capture is not moved before its truth is there
        if not (folder / name).is_dir():
            raise RunError(f"the training with {recipe.title} ended without a {name}: {last_line(log)}")


def _size(parties: tuple[Party, ...]) -> str:
    held = ", ".join(f"{party.name} {len(party.train.ids)} × {len(party.columns)}" for party in parties)
    return f"trains on loopback, {held}"
