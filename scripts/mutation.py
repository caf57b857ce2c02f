"""How many small mistakes do the tests notice? ``python scripts/mutation.py [--seed S] [--number N] [--only crypto]``.

Draws edits of the modules that decide whether a report is right (ciphers and masks, metrics, severity, theory,
certificates), with a stated seed, puts one at a time into a copy of the tree and runs the tests of that module, the
fast ones first, until one fails. Mistakes that went unnoticed once (scripts/named_mutants.toml) are tried as well, and
must all be noticed. Writes docs/results/mutation.json, and ends with 1 where one is not, or fewer than 85 % are.

It is our own, so that the edits and the tests of a module are stated here; maintained tools were not tried. A process
that has loaded numpy, scipy and pytest forks a child for each mutant.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import importlib
import importlib.util
import json
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutant_edits import Mutant, mutant, n_mutants
from mutation_child import Outcome, in_child

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "docs" / "results" / "mutation.json"
MAP = Path(__file__).with_name("mutation_tests.toml")
LIST = Path(__file__).with_name("named_mutants.toml")
NAMED = "named"
SEED, NUMBER, LEAST = 20_261_116, 300, 0.85
NO_TIMES: Mapping[str, float] = {}
PRELOADED = ("numpy", "scipy.optimize", "scipy.stats", "scipy.linalg", "hypothesis", "gmpy2", "pytest", "flint")


@dataclass(frozen=True)
class Target:
    """A module, with the tests that concern it."""

    package: str
    module: str
    path: Path
    tests: tuple[str, ...]


def targets(table: Mapping[str, Mapping[str, object]]) -> list[Target]:
    """``table``: of each package its ``modules`` (patterns below src/fedleak) and ``tests``, by module or for all."""
    found = []
    for package, entry in table.items():
        tests, patterns = entry["tests"], entry["modules"]
        assert isinstance(tests, dict)
        assert isinstance(patterns, list)
        for pattern in patterns:
            for path in sorted((ROOT / "src" / "fedleak").glob(pattern)):
                chosen = tests[path.stem if path.stem in tests else "all"]
                name = ".".join(path.relative_to(ROOT / "src" / "fedleak").with_suffix("").parts)
                found.append(Target(package, name, path, tuple(chosen)))
    return found


def drawn(choice: Sequence[Target], seed: int, number: int) -> list[tuple[Target, Mutant]]:
    """Every edit of every module is as likely as any other; none comes twice. Places are ordered by a hash: what is
    drawn of one module does not depend on what the others hold."""
    sources = {one.module: one.path.read_text(encoding="utf-8") for one in choice}
    places = [(one, position) for one in choice for position in range(n_mutants(sources[one.module]))]
    ranks = [hashlib.sha256(f"{seed} {one.module} {position}".encode()).digest() for one, position in places]
    picked = sorted(sorted(range(len(places)), key=ranks.__getitem__)[:number])
    return [(one, mutant(one.module, sources[one.module], at)) for one, at in (places[index] for index in picked)]


def named(entries: Sequence[Mapping[str, Any]]) -> list[tuple[Target, Mutant]]:
    """Each stands for one place of a module; where it is not there any more, the list is to be corrected."""
    found = []
    for entry in entries:
        module, before, after = entry["module"], entry["before"], entry["after"]
        path = ROOT / "src" / "fedleak" / f"{module.replace('.', '/')}.py"
        source = path.read_text(encoding="utf-8")
        if source.count(before) != 1:
            raise SystemExit(f"before must be once in {module}; got {source.count(before)} times {before!r}")
        line = source[: source.index(before)].count("\n") + 1
        edit = Mutant(module, line, entry["name"], before, after, source.replace(before, after))
        found.append((Target(NAMED, module, path, tuple(entry["tests"])), edit))
    return found


class Copy:
    """A copy of the tree, whose bytecode is kept but for the module that is edited."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("src", "tests", "scripts", "examples", "docs"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "Makefile"):
            shutil.copy(ROOT / name, folder / name)
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        compileall.compile_dir(folder / "src", quiet=1, invalidation_mode=mode)

    def outcome(self, target: Target, source: str | None, known: Mapping[str, float] = NO_TIMES) -> Outcome:
        """What the tests say with another source of the module; with None, of the tree as it is."""
        path = self.folder / target.path.relative_to(ROOT)
        cached = Path(importlib.util.cache_from_source(str(path)))
        text, code = path.read_text(encoding="utf-8"), cached.read_bytes()
        try:
            if source is not None:
                cached.unlink()
                path.write_text(source, encoding="utf-8")
            return in_child(self.folder, target.tests, known)
        finally:
            path.write_text(text, encoding="utf-8")
            cached.write_bytes(code)


Row = dict[str, object]
Noticed = Mapping[tuple[object, object, object], Row]  # by module, line and change


def measured(copy: Copy, choice: Sequence[tuple[Target, Mutant]], noticed: Noticed) -> Iterator[Row]:
    """One row a mutant. Before the first of a group of tests they must pass, and their times are taken."""
    times: dict[tuple[str, ...], Mapping[str, float]] = {}
    for number, (target, edit) in enumerate(choice, 1):
        if (edit.module, edit.line, edit.change) in noticed:
            yield noticed[edit.module, edit.line, edit.change]
            continue
        if target.tests not in times:
            plain = copy.outcome(target, None)
            if plain.word != "survived":
                raise SystemExit(f"the tests of {target.module} must pass before a mutant is tried; got {plain}")
            times[target.tests] = plain.seconds
        found = copy.outcome(target, edit.source, times[target.tests])
        print(f"{number:4} {found.word:9} {edit.module}:{edit.line} {edit.change}", flush=True)
        told = {"line": edit.line, "kind": edit.kind, "change": edit.change, "outcome": found.word, "by": found.by}
        yield {"package": target.package, "module": edit.module, **told}


def rows_before() -> list[Row]:
    """Of the last result."""
    if not RESULT.exists():
        return []
    last = json.loads(RESULT.read_text(encoding="utf-8"))
    return [*last["mutants"], *last[NAMED]]


def noticed_in(rows: Sequence[Row]) -> Noticed:
    """What need not be tried again as long as tests are only added."""
    noticed = [row for row in rows if row["outcome"] in ("failed", "endless")]
    return by_edit(noticed)


def by_edit(rows: Sequence[Row]) -> Noticed:
    """What an interrupted run has; equivalents are told anew by the list as it is."""
    undone = {"equivalent": "survived"}
    rows = [{**row, "outcome": undone.get(str(row["outcome"]), row["outcome"])} for row in rows]
    return {(row["module"], row["line"], row["change"]): row for row in rows}


def with_equivalents(rows: Sequence[dict[str, object]], known: Sequence[Mapping[str, str]]) -> list[dict[str, object]]:
    """A survivor that changes nothing anybody could observe is told so, with the reason."""
    why = {(entry["module"], entry["change"]): entry["why"] for entry in known}
    found = []
    for row in rows:
        reason = why.get((str(row["module"]), str(row["change"])))
        survived = row["outcome"] == "survived"
        found.append({**row, "outcome": "equivalent", "why": reason} if survived and reason else dict(row))
    return found


def summary(rows: Sequence[Mapping[str, object]]) -> dict[str, dict[str, float | None]]:
    """By package, and of all: mutants, noticed (a failed test or a run without end), survived, equivalent, share (null
    where none was tried)."""
    packages = list(dict.fromkeys(str(row["package"]) for row in rows))
    found: dict[str, dict[str, float | None]] = {}
    for package in [*packages, "all"]:
        counts = Counter(str(row["outcome"]) for row in rows if package in ("all", row["package"]))
        noticed, survived = counts["failed"] + counts["endless"], counts["survived"]
        decided = noticed + survived
        found[package] = {
            "mutants": counts.total(),
            "noticed": noticed,
            "survived": survived,
            "equivalent": counts["equivalent"],
            "share": round(noticed / decided, 4) if decided else None,
        }
    return found


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--number", type=int, default=NUMBER)
    parser.add_argument("--only", default="", help="one package; of the others the last result is kept")
    parser.add_argument("--again", action="store_true", help="try only what the last result did not notice")
    parser.add_argument("--resume", action="store_true", help="try only what the last result does not have")
    asked = parser.parse_args(arguments)
    table = tomllib.loads(MAP.read_text(encoding="utf-8"))
    known = table.pop("equivalent", [])
    kept = by_edit(rows_before()) if asked.resume else noticed_in(rows_before()) if asked.again else {}
    listed = named(tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"])
    everything = [*drawn(targets(table), asked.seed, asked.number), *listed]
    choice = [pair for pair in everything if asked.only in ("", pair[0].package)]
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # before numpy is loaded: children are forked
    for name in PRELOADED:
        importlib.import_module(name)
    made = _provenance()
    rows = [row for row in rows_before() if asked.only and row["package"] != asked.only]
    with tempfile.TemporaryDirectory() as folder:
        for row in measured(Copy(Path(folder)), choice, kept):
            rows.append(row)
            _write(asked.seed, with_equivalents(rows, known), made)  # after each: an interruption loses little
    found = json.loads(RESULT.read_text(encoding="utf-8"))
    print(json.dumps(found["summary"], indent=2))
    unnoticed = [row["kind"] for row in found[NAMED] if row["outcome"] == "survived"]
    print(f"of {len(found[NAMED])} named ones unnoticed: {'; '.join(unnoticed) or 'none'}")
    return 0 if (found["summary"]["all"]["share"] or 0.0) >= LEAST and not unnoticed else 1


def _provenance() -> dict[str, object]:
    """Asked in another process, because children must load the copy and not this."""
    loaded = f"import json, {', '.join(PRELOADED)}; from fedleak.trial.provenance import provenance"
    asked = [sys.executable, "-c", f"{loaded}; print(json.dumps(provenance()))"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(asked, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def _write(seed: int, rows: Sequence[Row], made: Mapping[str, object]) -> None:
    drawn_ones = [row for row in rows if row["package"] != NAMED]
    result = {
        "seed": seed,
        "least_share": LEAST,
        "summary": summary(drawn_ones),
        "mutants": drawn_ones,
        NAMED: [row for row in rows if row["package"] == NAMED],
        "cpu_seconds": round(sum(os.times()[:4]), 1),
        "provenance": made,
    }
    RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
