"""Files through every reader, changed by what reaches new code: ``python scripts/fuzz_covered.py [--seconds S]``.

libFuzzer (atheris, an extra: ``pip install -e '.[fuzz]'``) watches which branches a change of a seed takes, and builds
on those that were new; ``fuzz_files.py`` draws its changes blindly. Of a seed that is a folder one file after the other
is changed. Each file has a process of its own and its share of the time. Ends with 1 where a reader ended in anything
but an answer or one clear line, took too long, or too much memory.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SECONDS_A_FILE, MEMORY_MEGABYTES = 10, 2000  # of one input; of a process, libraries and what watches them included
LARGEST = 20_000  # bytes of a seed: branches are what counts, not length


def fuzzed_files(seeds: list[Path]) -> Iterator[tuple[Path, Path]]:
    """(seed, file of it); a seed that is one file is its own."""
    for seed in seeds:
        files = sorted(path for path in seed.rglob("*") if path.is_file()) if seed.is_dir() else [seed]
        yield from ((seed, path) for path in files if path.stat().st_size <= LARGEST)


def fuzz_one(number: int, seconds: int, folder: Path) -> None:
    """Does not return: libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["fedleak"]):
        import fuzz_files
        from fedleak.core.errors import FedleakError
    seed, file = list(fuzzed_files(fuzz_files.seeds()))[number]
    corpus, target = folder / "corpus", folder / seed.name
    corpus.mkdir()
    shutil.copyfile(file, corpus / "seed")
    shutil.copytree(seed, target) if seed.is_dir() else shutil.copyfile(seed, target)
    changed, read = target / file.relative_to(seed) if seed.is_dir() else target, fuzz_files.reader_of(seed)
    read(target)  # what is imported at the first call is not this input's

    def once(data: bytes) -> None:
        changed.write_bytes(data)
        try:
            read(target)
        except FedleakError as error:
            if "\n" in str(error):
                raise ValueError(f"an error of several lines: {error}") from error

    limits = [f"-timeout={SECONDS_A_FILE}", f"-rss_limit_mb={MEMORY_MEGABYTES}", f"-max_len={2 * LARGEST}"]
    where = [f"-artifact_prefix={folder}/", "-print_final_stats=1", f"-max_total_time={seconds}", str(corpus)]
    atheris.Setup([sys.argv[0], *limits, *where], once)
    atheris.Fuzz()


def covered(number: int, seconds: int, program: str = __file__) -> tuple[int, str]:
    """How many inputs were tried, and what was found; empty where nothing was."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        command = [sys.executable, program, "--file", str(number), "--seconds", str(seconds), "--folder", folder]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        kept = [path for path in Path(folder).iterdir() if re.match("crash|timeout|oom", path.name)]
        inputs = "".join(f"\n{path.name}: {path.read_bytes()[:400]!r}" for path in kept)
    tried = re.search(r"number_of_executed_units: *(\d+)", done.stderr)
    wrong = done.returncode != 0 or tried is None
    return int(tried.group(1)) if tried else 0, f"{done.stdout[-3000:]}{done.stderr[-3000:]}{inputs}" if wrong else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="over all files; at least two each")
    parser.add_argument("--file", type=int, help="only the file with this number")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.folder is not None:
        fuzz_one(wanted.file, wanted.seconds, wanted.folder)
    try:
        import atheris  # noqa: F401
    except ImportError:
        print("atheris is not installed: pip install -e '.[fuzz]'", file=sys.stderr)
        return 2
    import fuzz_files

    files = list(fuzzed_files(fuzz_files.seeds()))
    chosen = range(len(files)) if wanted.file is None else [wanted.file]
    share, total, n_wrong = max(2, wanted.seconds // len(chosen)), 0, 0
    for number in chosen:
        seed, file = files[number]
        tried, wrong = covered(number, share)
        total, n_wrong = total + tried, n_wrong + bool(wrong)
        if wrong:
            print(f"{number}, {file.relative_to(seed.parent)}:\n{wrong}")
    print(f"{total:,} inputs to {len(chosen)} files of {len({seed for seed, _ in files})} seeds: {n_wrong} faults")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
