"""Print docs/strongest.md: against each defense every attack that fits is tried, told what it declares, and the
strongest one is named. Takes a few minutes.

python scripts/strongest_attacks.py > docs/.strongest.md && mv docs/.strongest.md docs/strongest.md
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedleak.attacks import ATTACKS
from fedleak.auditing.declared_knowledge import draw_knowledge
from fedleak.auditing.planner import PlannedRun, Task, plan_audit
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import load_scenario
from fedleak.calibration.control_runs import CONTROLS
from fedleak.core.finding import Better, Mode, Score
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.randomness import Randomness
from fedleak.defenses import DEFENSES
from fedleak.protocols import PROTOCOLS
from fedleak.trial.play import play

SEEDS = range(3)
ABOVE_A_GUESS = 0.05
# A federation of each kind that leaks without a defense, in the control of an attack; the first that a defense fits.
BASES = (
    "residual-sign",
    "column-products",
    "equality-projection",
    "routing-intervals",
    "gradient-direction-labels",
    "gradient-separation",
)
# Searches of seconds that answer with estimates alone, each beside a solver that reads the same gradients.
LEFT_OUT = frozenset(
    {
        "deep-leakage", "labelled-deep-leakage", "cosine-matching", "kernel-matching", "cafe-printed",
        "cafe-printed-pictures", "threshold-search-printed", "generative-regression", "divided-senders",
    }
)  # fmt: skip
NETWORK = {"dropout": {"model": "network", "hidden": (12, 8), "epochs": 30}}  # what it acts on
OF_LABELS = dict.fromkeys(("first-tree-alone", "noisy-labels", "purity-limit"), "member-clustering")  # of classes


@dataclass(frozen=True)
class Strongest:
    attack: str
    secret: str
    share: float  # of the way from the best blind answer to a perfect one
    score: str


def scenario_for(defense: Defense) -> tuple[str, Scenario]:
    """Every party alone, free to deviate, with every attack."""
    fitting = (name for name in BASES if PROTOCOLS.get(base(name).protocol).misfit(defense) is None)
    name = OF_LABELS.get(defense.name) or next(fitting, "")
    if not name:
        raise LookupError(f"no base scenario fits {defense.name}: add one to BASES")
    scenario, (adversary, *_) = base(name), base(name).adversaries
    settings = replace(scenario.settings, **NETWORK.get(defense.name, {}))
    parties = [party.name for party in scenario.parties]
    everybody = tuple(
        replace(adversary, parties=(party,), mode=Mode.ACTIVE, attacks=tuple(tried())) for party in parties
    )
    title = f"{name} with a network" if defense.name in NETWORK else name
    return title, replace(scenario, settings=settings, adversaries=everybody)


def base(name: str) -> Scenario:
    return load_scenario(CONTROLS / f"{name}.toml")


def tried() -> Iterator[str]:
    return (attack.name for attack in ATTACKS.own if attack.name not in LEFT_OUT)


def measured(scenario: Scenario, defense: Defense | None) -> dict[tuple[str, str, str], list[tuple[float, Score]]]:
    """By attack, secret and adversary, over the seeds; what an attack says nothing of is no better than a guess."""
    found = defaultdict(list)
    for seed in SEEDS:
        runs = plan_audit(replace(scenario, seed=seed, defenses=(defense,) if defense else ()))
        for planned in runs:
            if planned.defense is defense:
                for task, score in _scores(planned, seed):
                    key = task.attack.name, task.target.kind.words, f"{task.adversary.parties} on {task.target.owner}"
                    found[key].append((_share(score), score))
    return found


def _scores(planned: PlannedRun, seed: int) -> Iterator[tuple[Task, Score]]:
    tasks = [task for task in planned.tasks if task.skip is None]
    if not tasks:
        return
    played = play(
        planned.federation,
        Randomness.published(seed),
        defense=planned.defense,
        deviation=planned.dishonest,
        deviating=planned.deviating,
    )
    for task in tasks:
        coalition = task.adversary.parties
        known = draw_knowledge(task.adversary.knowledge, played.federation, coalition, np.random.default_rng([seed, 1]))
        attempt = played.attempt(task.attack, coalition, task.target, known, repeat=seed, isolated=False)
        if attempt.scores:
            yield task, attempt.scores[0]


def _share(score: Score) -> float:
    perfect = 1.0 if score.better is Better.HIGHER else 0.0
    return 0.0 if score.baseline == perfect else score.gain / abs(perfect - score.baseline)


def strongest(scenario: Scenario, defense: Defense | None) -> tuple[Strongest, ...]:
    """For each secret the attack that comes furthest, where one comes further than a guess."""
    best: dict[str, Strongest] = {}
    for (attack, secret, _), scores in measured(scenario, defense).items():
        share = sum(one for one, _ in scores) / len(SEEDS)
        mean = float(np.mean([score.value for _, score in scores]))
        one = Strongest(attack, secret, share, f"{scores[0][1].metric} {mean:.3g}")
        if share > ABOVE_A_GUESS and (secret not in best or share > best[secret].share):
            best[secret] = one
    return tuple(sorted(best.values(), key=lambda one: -one.share))


HEAD = """# The strongest attack against each defense

A defense is judged by the attack that knows of it: every attack is told what the defense declares (its kind and its
parameters, never its draws), and averages, weighs or bounds accordingly. Here every attack that fits is tried in a
small federation that leaks without the defense (a positive control, in `calibration/controls`), by every party alone,
deviations allowed. Of each secret the attack that comes furthest is named, with the share of the way from the best
blind answer to a perfect one, and the score that decides: means over seeds {seeds}, one run each, so that of labels
what any useful model predicts counts too. Defenses have their default parameters.

Small federations say which attack to look at, not how strong a defense is: `fedleak audit` says that of yours. Left out
are searches of seconds that answer with estimates alone: {left_out}.
"""
COLUMNS = "\n| {first} | strongest attacks |\n|---|---|\n"


def page(names: Sequence[str]) -> Iterator[str]:
    yield HEAD.format(seeds=f"{SEEDS[0]} to {SEEDS[-1]}", left_out=", ".join(sorted(LEFT_OUT)))
    defenses = [DEFENSES.get(name)() for name in names]
    chosen = [(defense, *scenario_for(defense)) for defense in defenses]
    yield COLUMNS.format(first="federation, without a defense")
    for title, scenario in {title: scenario for _, title, scenario in chosen}.items():
        yield f"| {title} | {_cell(strongest(scenario, None))} |\n"
    yield COLUMNS.format(first="defense, and the federation")
    for defense, title, scenario in chosen:
        found = _cell(strongest(scenario, defense))
        yield f"| [{defense.name}](defenses/{defense.name}.md), {title} | {found} |\n"
    yield "\nThis page is generated (`python scripts/strongest_attacks.py`).\n"


def _cell(found: Sequence[Strongest]) -> str:
    told = [f"{one.secret}: [{one.attack}](attacks/{one.attack}.md) {one.share:.0%} ({one.score})" for one in found]
    return "; ".join(told) or "nothing above a guess"


if __name__ == "__main__":
    for text in page(sys.argv[1:] or [defense.name for defense in DEFENSES.own]):
        sys.stdout.write(text)
        sys.stdout.flush()
