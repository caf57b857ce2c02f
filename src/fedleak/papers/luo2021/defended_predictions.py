"""Every defense of section VII: what the attacks still recover, beside what is still released and how right it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.predictions.contribution_scaling import ContributionScaling
from fedleak.attacks.predictions.equality_bayes import EqualityBayes
from fedleak.attacks.predictions.equality_grid import EqualityGrid
from fedleak.attacks.predictions.equality_solving import EqualitySolving
from fedleak.attacks.predictions.forest_path_restriction import ForestPathRestriction
from fedleak.attacks.predictions.path_restriction import PathRestriction
from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.core.attack import Attack, Reference
from fedleak.core.payload import ScalarValue
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.randomness import public_stream
from fedleak.defenses.changed_settings import Dropout, HiddenModel
from fedleak.defenses.coarse_confidences import ConfidenceNoise, Rounding, TopLabel
from fedleak.defenses.collaboration_check import CollaborationCheck
from fedleak.defenses.leak_check import LeakCheck
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.luo2021.defended_trial import (
    DefendedTrial,
    Measured,
    attacked,
    costs,
    prior_guess,
    reference_figures,
)
from fedleak.papers.luo2021.served_trial import HALF, UNIFORM
from fedleak.papers.luo2021.tables import REAL, STEPS, paper_table
from fedleak.papers.summaries import Summary, student_95
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.trial.progress import Progress

SHARE = 0.4
EXACT_SHARE = 0.2  # of drive: its 10 unknown columns have 10 equations
NONE = "none"
RELEASED: Mapping[str, Defense] = {
    "rounding b=1 down": Rounding(digits=1),
    "rounding b=1 nearest": Rounding(digits=1, mode="nearest"),
    "rounding b=3 down": Rounding(digits=3),
    "rounding b=3 nearest": Rounding(digits=3, mode="nearest"),
    "top label": TopLabel(),
    "noise 0.01": ConfidenceNoise(sigma=0.01),
    "noise 0.05": ConfidenceNoise(sigma=0.05),
    "leak check": LeakCheck(),
    "leak check, wide": LeakCheck(width=0.5),
    "hidden model": HiddenModel(),
}
CHECKED: Mapping[str, Defense] = {
    "collaboration check": CollaborationCheck(bits=0),  # the paper's count of columns
    "collaboration check 0.1": CollaborationCheck(bits=0, max_correlation=0.1),
    "collaboration check by bits": CollaborationCheck(),
}
EXPLAINED = "hidden model, contributions"


@dataclass(frozen=True)
class Case:
    """A kind of model, its attacks and defenses; ``most`` bounds the rows that are trained on and predicted."""

    model: str
    settings: PredictionSettings
    attacks: tuple[Attack, ...]
    defenses: Mapping[str, Defense]
    most: tuple[int, int]


def cases(*, quick: bool) -> tuple[Case, ...]:
    linear_rows, tree_rows, network_rows = ((1000, 200),) * 3 if quick else ((4000, 1000), (1500, 300), (2000, 400))
    linear: Mapping[str, Defense] = {**RELEASED, EXPLAINED: HiddenModel(explanations=True), **CHECKED}
    equality: tuple[Attack, ...] = (
        EqualitySolving(),
        EqualityBayes(),
        EqualityGrid(),
        PosteriorInference(),
        ContributionScaling(),
    )
    network = PredictionSettings(model="network", epochs=4 if quick else 10)
    return (
        Case("LR", PredictionSettings(), equality, linear, linear_rows),
        Case("tree", PredictionSettings(model="tree"), (PathRestriction(), PosteriorInference()), RELEASED, tree_rows),
        Case(
            "RF",
            PredictionSettings(model="forest"),
            (ForestPathRestriction(), PosteriorInference()),
            RELEASED,
            tree_rows,
        ),
        Case("NN", network, (PosteriorInference(),), {"dropout 0.5": Dropout()}, network_rows),
    )


class DefensesExperiment(Experiment):
    name = "luo2021/defenses"
    summary = "every defense beside every attack: error, cells within 1 %, accuracy and share of what is released"
    reference = Reference("luo2021", "section VII")
    from_true_rows = (STEPS,)

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return tuple(range(1 if quick else 5))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        seeds, kinds = self.seeds(quick=quick), cases(quick=quick)
        settings = [(name, SHARE, case) for name in REAL for case in kinds]
        settings.insert(REAL.index("drive") * len(kinds) + 1, ("drive", EXACT_SHARE, kinds[0]))
        progress.begin(self.name, len(settings) * len(seeds))
        for name, share, case in settings:
            found: dict[str, list[dict[str, Measured]]] = {}
            for seed in seeds:
                trial = DefendedTrial.start(paper_table(name), share, case.settings, seed, case.most)
                for label, defense in ((NONE, None), *case.defenses.items()):
                    found.setdefault(label, []).append(_measure(trial, defense, case.attacks))
                progress.advance()
            yield from _rows({"data": name, "model": case.model, "unknown share": share}, found)


PRIOR = "prior of own columns"
REFERENCES = (UNIFORM, HALF, PRIOR)
COSTS = "costs"


def _measure(trial: DefendedTrial, defense: Defense | None, attacks: Sequence[Attack]) -> dict[str, Measured]:
    """By method; the references come with the undefended run, on the same cells."""
    served = trial.under(defense)
    found = {attack.name: attacked(served, attack, trial.seed) for attack in attacks}
    uniform = public_stream(trial.seed, "guess", trial.table.name).random(served.hidden.values.shape)
    found[UNIFORM] = Measured(reference_figures(served, uniform, trial.seed))
    found[HALF] = Measured(reference_figures(served, 0.5, trial.seed))
    found[PRIOR] = Measured(reference_figures(served, prior_guess(served), trial.seed))
    found[COSTS] = Measured(costs(served))
    return found


def _rows(setting: Mapping[str, ScalarValue], found: Mapping[str, list[dict[str, Measured]]]) -> Iterator[Row]:
    for label, trials in found.items():
        spent = _means([trial[COSTS] for trial in trials])
        random = _means([trial[UNIFORM] for trial in trials])
        for method in trials[0]:
            if method == COSTS or (method in REFERENCES and label != NONE):
                continue
            results = [trial[method] for trial in trials]
            if method == ContributionScaling.name and label != EXPLAINED:
                continue  # there is nothing that it could read
            measured = _summary(results) | ({} if method in REFERENCES else spent)
            named: dict[str, ScalarValue] = {**setting, "defense": label, "method": method}
            yield Row(named, measured.figures, None, random, _note(results, spent), measured.bands)


def _summary(results: Sequence[Measured]) -> Summary:
    """Means over the trials that have the figure; only the error gets an interval."""
    errors = [result.figures["mse"] for result in results if result.figures]
    return student_95("mse", errors) | {k: v for k, v in _means(results).items() if k != "mse"}


def _means(results: Sequence[Measured]) -> dict[str, float | None]:
    names = dict.fromkeys(name for result in results for name in result.figures)
    return {name: float(np.mean([r.figures[name] for r in results if name in r.figures])) for name in names}


def _note(results: Sequence[Measured], spent: Mapping[str, float | None]) -> str:
    """Trials without an answer, with the reasons: none of them is a zero."""
    notes = []
    for why in dict.fromkeys(result.why for result in results if result.why):
        n_trials = sum(result.why == why for result in results)
        notes.append(f"{n_trials} of {len(results)} trials: {why}")
    if spent.get("columns_kept_out"):
        notes.append(f"{spent['columns_kept_out']:g} columns kept out on average, for their correlation")
    return "; ".join(notes)
