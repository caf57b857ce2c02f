"""Random small scenarios over all protocols: no wrong "recovered", no wrong "exact", no "impossible" that leaks.

``python scripts/random_scenarios.py`` runs the 2,000 that are committed and writes docs/results/random_scenarios.json;
``--count 500 --first 5000 --no-file`` is the nightly part (``make nightly``). Each failing scenario is printed as the
TOML file and the table that reproduce it. Ends with 1 where a promise was broken.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from fedleak.protocols import PROTOCOLS as REGISTERED
from fedleak.testing.claims import Broken, Examined, examine
from fedleak.testing.random_scenarios import LEFT_OUT, PROTOCOLS, random_scenario
from fedleak.trial.provenance import code_state, provenance

RESULT = Path(__file__).parents[1] / "docs" / "results" / "random_scenarios.json"
COMMITTED = 2000
AT_A_TIME = 20  # scenarios that a process is handed together


Results = list[tuple[int, Examined, float]]


def examined(seed: int) -> tuple[int, Examined, float]:
    """One scenario, with the CPU seconds that it took."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns and trainings that diverge are among the cases
        found = examine(random_scenario(seed))
    return seed, found, time.process_time() - began


def summary(found: Results, code: Mapping[str, object]) -> dict[str, object]:
    broken = [one for _, result, _ in found for one in result.broken]
    refused = Counter(result.protocol for _, result, _ in found if result.refused)
    return {
        "scenarios": len(found),
        "seeds": {"first": found[0][0], "last": found[-1][0]} if found else {},
        "by_protocol": dict(sorted(Counter(result.protocol for _, result, _ in found).items())),
        "refused_by_protocol": dict(sorted(refused.items())),
        "broken": dict(sorted(Counter(one.claim for one in broken).items())),
        "broken_seeds": sorted({one.seed for one in broken}),
        "attempts": _attempts(result for _, result, _ in found),
        "left_out": list(LEFT_OUT),
        "protocols_left_out": sorted(name for name in REGISTERED.names if name not in PROTOCOLS),
        "cpu_seconds": round(sum(seconds for _, _, seconds in found), 1),
        "provenance": provenance(code),
    }


def _attempts(results: Iterable[Examined]) -> dict[str, dict[str, int]]:
    """By attack: how often it answered what, and how often theory expected what of it."""
    total: Counter[tuple[str, str]] = Counter()
    for result in results:
        total.update(result.counts)
    names = sorted({name for name, _ in total})
    return {name: {what: n for (one, what), n in sorted(total.items()) if one == name} for name in names}


def told(broken: Sequence[Broken], seed: int) -> str:
    return "\n".join([*map(str, broken), "", str(random_scenario(seed))])


def run(seeds: range, jobs: int, keep: Callable[[Results], None]) -> Results:
    """``keep`` is handed what there is now and then: an interruption loses little."""
    found: Results = []
    with ProcessPoolExecutor(jobs) as pool:
        for done in pool.map(examined, seeds, chunksize=AT_A_TIME):
            found.append(done)
            if done[1].broken:
                print(told(done[1].broken, done[0]), flush=True)
            if len(found) % 100 == 0:
                print(f"{len(found)} of {len(seeds)} scenarios", file=sys.stderr, flush=True)
                keep(found)
    keep(found)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COMMITTED)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-file", action="store_true", help="write no result")
    options = parser.parse_args()
    code = code_state()

    def keep(found: Results) -> None:
        if not options.no_file:
            result = {"complete": len(found) == options.count, **summary(found, code)}
            RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")

    found = run(range(options.first, options.first + options.count), options.jobs, keep)
    result = summary(found, code)
    print(
        f"{options.count} scenarios, {result['cpu_seconds']} CPU seconds; broken promises: {result['broken'] or 'none'}"
    )
    return 1 if result["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
