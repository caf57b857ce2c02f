"""What defenses leave of CAFE, and what they cost: fake gradients (figures 6 and 7), noise, pruning, DP-SGD.

Leakage is measured while parameters stay as they were drawn, which is the strongest setting of the attack (section
4.4), the model's loss and accuracy on a training of its own under the same defense.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fedleak.attacks.networks.gradient_separation import GradientSeparation
from fedleak.attacks.networks.picture_separation import PictureSeparation
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Reference
from fedleak.core.payload import Payload, ScalarValue
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.randomness import Randomness
from fedleak.defenses.fake_gradients import FakeGradients
from fedleak.defenses.layer_blurring import DpSgd, GradientPruning, LayerGradientNoise
from fedleak.metrics.picture_metrics import decibels
from fedleak.models.local_batch import loss_gradient
from fedleak.papers.experiment import Experiment, Figures, Row
from fedleak.papers.jin2021.cafe_run import GREY, SERVER, PictureCase, grey_psnr, picture_federation
from fedleak.papers.jin2021.fully_connected_tables import SPECS, table_federation
from fedleak.papers.jin2021.printed import CIFAR, FIG_6
from fedleak.papers.summaries import Summary, student_95
from fedleak.protocols.networks import vocabulary as networks
from fedleak.protocols.networks.cut_network import CutNetwork
from fedleak.theory.sampled_gaussian import epsilon_of
from fedleak.trial.play import Played, play
from fedleak.trial.progress import Progress

DELTA = 1e-5
FAKES: Mapping[str, Defense | None] = {
    "true gradients": None,
    "fake gradients, scaled": FakeGradients(),
    "fake gradients, as printed": FakeGradients(scaled=False),
}
DEFENSES: Mapping[str, Defense | None] = {
    **FAKES,
    "layer-gradient-noise, 0.1": LayerGradientNoise(share=0.1),
    "layer-gradient-noise, 1": LayerGradientNoise(share=1.0),
    "gradient-pruning, half": GradientPruning(fraction=0.5),
    "gradient-pruning, tenth": GradientPruning(fraction=0.1),
    **{f"dp-sgd, noise {noise:g}": DpSgd(clip=0.1, noise=noise, delta=DELTA) for noise in (0.01, 0.1, 1.0, 4.0)},
}
N_ROWS, BATCH_SIZE = 100, 10
N_TRAINED, LEARNING_RATE = 200, 0.1  # rounds of a training, and its rate (section 4.4)
NEAR, NEARBY = 0.01, 0.1  # of a column's range


class Fig6(Experiment):
    name = "jin2021/fig6"
    summary = "pictures recovered from true and from fake gradients"
    reference = Reference("jin2021", "figure 6, section 4.4")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        case = PictureCase(CIFAR, 6, 2, n_steps=60) if quick else PictureCase(CIFAR, 12, 3, n_steps=300)
        progress.begin(self.name, len(FAKES) * len(self.seeds(quick=quick)))
        for label, defense in FAKES.items():
            found = []
            for seed in self.seeds(quick=quick):
                found.append(_picture_figures(case, seed, defense))
                progress.advance()
            summary = _over_seeds(found)
            setting: dict[str, ScalarValue] = {
                "dataset": CIFAR,
                "gradients": label,
                "pictures": case.n_rows,
                "batch": case.batch_size,
            }
            yield Row(
                setting,
                summary.figures,
                bands=summary.bands,
                paper=FIG_6.get(label),
                baseline={"psnr": grey_psnr(case)},
            )


class Fig7(Experiment):
    name = "jin2021/fig7"
    summary = "training loss with true and with fake gradients"
    reference = Reference("jin2021", "figure 7, section 4.4")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2, 3, 4)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        rounds = 40 if quick else N_TRAINED
        progress.begin(self.name, len(FAKES) * len(self.seeds(quick=quick)))
        for label, defense in FAKES.items():
            curves = []
            for seed in self.seeds(quick=quick):
                curves.append(losses(_trained(seed, rounds, defense)))
                progress.advance()
            for number in curves[0]:
                summary = student_95("loss", [curve[number] for curve in curves])
                setting: dict[str, ScalarValue] = {"dataset": "breast cancer", "gradients": label, "round": number}
                yield Row(setting, summary.figures, bands=summary.bands, baseline={"loss": float(np.log(2))})


class Dp(Experiment):
    name = "jin2021/dp"
    summary = "a table from gradients under noise, pruning, fakes and DP-SGD, beside loss, accuracy and epsilon"
    reference = Reference("jin2021", "appendix G.3")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        n_rows, size, rounds = (40, 5, 20) if quick else (N_ROWS, BATCH_SIZE, N_TRAINED)
        progress.begin(self.name, len(DEFENSES) * len(self.seeds(quick=quick)))
        for label, defense in DEFENSES.items():
            found, blind = [], []
            for seed in self.seeds(quick=quick):
                federation = table_federation(SPECS["breast cancer"], seed, n_rows=n_rows, size=size)
                leaked, without = _table_figures(federation, seed, defense)
                found.append({**leaked, **_model_figures(_trained(seed, rounds, defense), defense)})
                blind.append(without)
                progress.advance()
            summary, baseline = _over_seeds(found), _over_seeds(blind)
            setting: dict[str, ScalarValue] = {
                "dataset": "breast cancer",
                "defense": label,
                "rows": n_rows,
                "batch": size,
            }
            yield Row(setting, summary.figures, bands=summary.bands, baseline=baseline.figures)


def _over_seeds(runs: Sequence[Mapping[str, float | None]]) -> Summary:
    summary = Summary({"runs": float(len(runs))})
    for name in runs[0]:
        known = [value for run in runs if (value := run[name]) is not None]
        summary |= student_95(name, known) if len(known) == len(runs) else Summary({name: None})
    return summary


def _play(federation: Federation, seed: int, defense: Defense | None) -> Played:
    return play(federation, Randomness.published(seed, "jin2021", "defended"), defense=defense)


def _answers(run: Played, attack: Attack, kind: SecretKind) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Of each worker: what the server guesses, NaN where it is silent, and what is true."""
    for party in run.federation.parties:
        if party.columns:
            target = Secret(kind, party.name)
            guess, truth = run.attempt(attack, (SERVER,), target, scores=False).guess, run.run.truth.of(target)
            found = np.full(truth.values.shape, np.nan)
            if len(guess.ids):
                told = guess.values.reshape(len(guess.ids), *truth.values.shape[1:])
                found[np.searchsorted(truth.ids, guess.ids)] = told
            yield found, np.asarray(truth.values)


def _picture_figures(case: PictureCase, seed: int, defense: Defense | None) -> dict[str, float]:
    """PSNR over all workers' pixels; a part that is not told counts as grey."""
    run = _play(picture_federation(case, seed), seed, defense)
    answers = list(_answers(run, PictureSeparation(n_steps=case.n_steps), SecretKind.IMAGES))
    run.end()
    off = np.concatenate([(np.clip(np.nan_to_num(guess, nan=GREY), 0, 1) - true).ravel() for guess, true in answers])
    told = np.concatenate([np.isfinite(guess).reshape(len(guess), -1).all(axis=1) for guess, _ in answers])
    return {"psnr": float(decibels(float(np.mean(off**2)))), "parts_told": float(told.mean())}


def _table_figures(federation: Federation, seed: int, defense: Defense | None) -> tuple[Figures, Figures]:
    """Of all workers' cells; a cell that is not told counts as its column's mean, which is the baseline."""
    run = _play(federation, seed, defense)
    answers = list(_answers(run, GradientSeparation(), SecretKind.FEATURES))
    run.end()
    true = np.hstack([one for _, one in answers])
    guess = np.hstack([one for one, _ in answers])
    means = np.broadcast_to(true.mean(axis=0), true.shape)
    filled = np.where(np.isfinite(guess), guess, means)
    return {"correlation": _correlation(filled, true), **_near(filled, true)}, {
        "correlation": 0.0,
        **_near(means, true),
    }


def _near(guess: FloatArray, true: FloatArray) -> dict[str, float]:
    span = np.maximum(true.max(axis=0) - true.min(axis=0), 1e-300)
    off = np.abs(guess - true) / span
    return {"cells_to_1_percent": float((off <= NEAR).mean()), "cells_to_10_percent": float((off <= NEARBY).mean())}


def _correlation(guess: FloatArray, true: FloatArray) -> float:
    """Mean over the columns; 0 where a guess does not vary."""
    deviations = [part - part.mean(axis=0) for part in (guess, true)]
    sizes = np.prod([np.linalg.norm(part, axis=0) for part in deviations], axis=0)
    return float(
        np.mean(np.where(sizes > 0, (deviations[0] * deviations[1]).sum(axis=0) / np.maximum(sizes, 1e-300), 0))
    )


def _trained(seed: int, rounds: int, defense: Defense | None) -> Played:
    federation = table_federation(SPECS["breast cancer"], seed, n_rows=None, size=BATCH_SIZE)
    settings = replace(federation.settings, trained=True, rounds=rounds, learning_rate=LEARNING_RATE)  # type: ignore[call-arg]
    return _play(replace(federation, settings=settings), seed, defense)


def _model_figures(run: Played, defense: Defense | None) -> dict[str, float | None]:
    """Of the last round; epsilon towards the server, which knows the rows of every batch."""
    curve, rounds = losses(run), run.federation.settings.rounds  # type: ignore[attr-defined]
    visits = -(-rounds * BATCH_SIZE // run.federation.n_rows)
    budget = None
    if isinstance(defense, DpSgd):
        budget = epsilon_of(noise=defense.noise, sampling=1.0, steps=visits, delta=DELTA)
    return {"loss": curve[max(curve)], "train_accuracy": run.run.utility["train_accuracy"], "epsilon": budget}


def losses(run: Played) -> dict[int, float]:
    """Of all training rows, before five rounds from the first to the last."""
    sent = {m.round: m.payload for m in run.run.transcript.messages if m.step == networks.NETWORKS.name}
    wanted = np.unique(np.linspace(0, max(sent), 5).astype(int))
    return {int(number): _loss(run.federation, sent[int(number)]) for number in wanted}


def _loss(federation: Federation, payload: Payload) -> float:
    network = CutNetwork.from_payload(payload)
    labels = next(party.train.labels for party in federation.parties if party.train.labels is not None)
    scores = network.scores([federation.party(name).train for name in network.bottoms])
    return loss_gradient(scores, labels.astype(np.int64))[0]
