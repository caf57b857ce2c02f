"""What theory says of every attack where it provably wins, and the CPU time that it takes, beside its predecessor.

``python scripts/attack_costs.py`` runs the control of every attack (the smallest scenario that it wins) and, on the
same view, the attack whose place it takes. Minutes; all of it goes to docs/results/attack_costs.json at the end.
``--page`` prints docs/attack_costs.md of it.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from fedleak.attacks import ATTACKS
from fedleak.calibration.control_runs import control_situations, controls_of
from fedleak.core.attack import Attack
from fedleak.storage.file_writing import write_text
from fedleak.testing.situations import Situation
from fedleak.trial.provenance import code_state, one_thread, provenance

RESULT = Path(__file__).parents[1] / "docs" / "results" / "attack_costs.json"
LONG = 0.5  # CPU seconds from which on one attempt is measured, otherwise the median of three
THEOREM = re.compile(r"^[a-z]+\d*/[\w.-]+")
# An attack of ours, and the one that reads the same secret off the same view as it was known before.
REPLACES = {
    "minimum-norm-labels": "residual-sign",
    "bounded-score-labels": "residual-sign",
    "sign-system-labels": "residual-sign",
    "packed-residual-recovery": "residual-recovery",
    "claimed-residual-recovery": "residual-recovery",
    "packed-residual-sign": "residual-sign",
    "packed-single-column": "single-column-recovery",
    "gram-inversion-fake-features": "gram-inversion",
    "rotation-matching": "gram-inversion",
    "threshold-search": "threshold-search-printed",
    "gradient-separation": "cafe-printed",
    "picture-separation": "cafe-printed-pictures",
    "model-completion-accelerated": "model-completion",
    "embedding-gram-inversion": "embedding-regression",
    "equality-projection": "equality-solving",
    "equality-bayes": "equality-solving",
    "equality-grid": "equality-solving",
    "grid-match": "generative-regression",
    "posterior-inference": "generative-regression",
    "picture-factoring": "labelled-deep-leakage",
    "kernel-matching": "cosine-matching",
}
Row = Mapping[str, object]


def measured(attack: type[Attack]) -> dict[str, object]:
    """In its first control: what theory expects, what came of it, and what it took; the same of what it replaces."""
    situation = control_situations(attack.name, controls_of(attack)[0], seed=0, repeats=1)[0]
    predicted = situation.task.prediction
    named = dict.fromkeys(found[0] for reason in predicted.reasons if (found := THEOREM.match(reason)))
    row: dict[str, object] = {
        "attack": attack.name,
        "theory": predicted.verdict.value,
        "theorems": list(named),
        "reason": next(iter(predicted.reasons), ""),
        **_cost(situation, attack),
    }
    before = REPLACES.get(attack.name)
    return row if before is None else {**row, "replaces": before, "before": _cost(situation, ATTACKS.get(before))}


def _cost(situation: Situation, attack: type[Attack]) -> dict[str, object]:
    """Once to load what it loads; the score is the share of the way from a blind answer to the truth."""
    first = situation.attempt(attack, isolated=False, brief=True)
    spent = [first.spent.cpu_seconds] if first.spent else []
    if spent and spent[0] < LONG:
        again = [situation.attempt(attack, seed=seed, isolated=False, brief=True) for seed in (1, 2, 3)]
        spent = [one.spent.cpu_seconds for one in again if one.spent]
    status = None if first.guess is None else first.guess.status.value
    learnt = None if not first.scores else round(first.scores[0].learnt, 3)
    return {"status": status, "learnt": learnt, "cpu_seconds": round(median(spent), 4) if spent else None}


def main() -> None:
    code, rows = code_state(), []
    with one_thread():
        for attack in ATTACKS.own:
            rows.append(measured(attack))
            print(json.dumps(rows[-1]), flush=True)
        told = {"rows": rows, "cpu_seconds": time.process_time(), "provenance": provenance(code)}
    write_text(RESULT, json.dumps(told, indent=1) + "\n")


HEAD = """# What each attack costs, and what bounds it

Every attack in its control, the smallest scenario that it provably wins: what theory expects there, by which theorem,
and the CPU time of the attack alone (one thread, without starting a process, reading a view or scoring), beside the
attack whose place it takes, on the same view. "No theorem": none of ours bounds it, and only the measurement says how
far it comes; the reason that stands there is the attack's own. Learnt: the share of the way from the best blind answer
to the truth. Sizes are those of the controls (`src/fedleak/calibration/controls`); what grows how stands on each
attack's page. Measured by `python scripts/attack_costs.py`, kept with provenance in `docs/results/attack_costs.json`.

| attack | theory expects | by | learnt | CPU | in place of | learnt | CPU |
|---|---|---|---|---|---|---|---|
"""


def page(rows: Sequence[Row]) -> str:
    return HEAD + "".join(f"| {' | '.join(_cells(row))} |\n" for row in rows)


def _cells(row: Row) -> Iterator[str]:
    theorems = row["theorems"]
    yield f"[{row['attack']}](attacks/{row['attack']}.md)"
    yield str(row["theory"])
    own = f": {row['reason']}" if row["reason"] else ""
    yield ", ".join(map(str, theorems)) if isinstance(theorems, list) and theorems else f"no theorem{own}"
    yield from _figures(row)
    before = row.get("before")
    yield str(row.get("replaces", "nothing of ours"))
    yield from _figures(before) if isinstance(before, dict) else ("", "")


def _figures(found: Row) -> Iterator[str]:
    learnt, seconds = found["learnt"], found["cpu_seconds"]
    yield str(found["status"] or "nothing to work on").replace("_", " ") if learnt is None else f"{learnt:.2f}"
    yield "" if not isinstance(seconds, float) else f"{seconds:.2g} s"


if __name__ == "__main__":
    if sys.argv[1:] == ["--page"]:
        print(page(json.loads(RESULT.read_text(encoding="utf-8"))["rows"]), end="")
    else:
        main()
