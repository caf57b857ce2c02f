"""What FATE's parties push to one another, as steps of ours where the meaning is the same; the rest keeps its name.

half_d is slope x (score - target) of the party with the labels, Xw_h slope x score of the other: the scores that our
protocols share under encryption. g is what the arbiter's optimiser makes of a gradient: the rate times (gradient + l2
weights). Batches are told once, before the first epoch, and recur in every epoch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log2

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import FileFormatError
from fedleak.core.transcript import SETUP_ROUND
from fedleak.recorder import Recorder

SAME_MEANING = {
    "encryptor": "setup.public-key",
    "half_d": "train.encrypted-score",
    "Xw_h": "train.encrypted-score",
    "d": "train.encrypted-residual",
    "Xw2_h": "train.encrypted-loss",
    "h_loss": "train.encrypted-loss",
    "loss": "train.encrypted-loss",
    "g_enc": "train.encrypted-gradient",
    "g": "train.opened-gradient",
    "h_pred": "train.validation-score",
}
OWN_PREFIX = "fate."
QUERIES = "queries"  # FATE's place of predictions that are asked for after the training
BATCH_NAMES, N_BATCHES, STEP = "batch_indexes", "batch_num", "g"
SINGLE_BITS = 24  # of a float32


@dataclass(frozen=True, eq=False)
class Pushed:
    """One message. ``tag`` is FATE's place in the training, such as default.iterations-0.batches-2."""

    at: float
    sender: str
    receiver: str
    name: str
    tag: str
    value: object


@dataclass(frozen=True)
class Rates:
    """What the parties know of the optimiser."""

    learning_rate: float
    l2: float


def step_of(name: str) -> str:
    return SAME_MEANING.get(name, OWN_PREFIX + name)


def own_steps(pushed: Sequence[Pushed]) -> tuple[str, ...]:
    return tuple(sorted({step_of(one.name) for one in pushed if one.name not in SAME_MEANING}))


def fraction_bits_of(learning_rate: float) -> int:
    """To how many bits a gradient is known: a step is a difference of single-precision weights of up to a few units."""
    return max(1, floor(SINGLE_BITS - 3 + log2(learning_rate)))


def record_pushed(
    recorder: Recorder, pushed: Sequence[Pushed], ids: IntArray, first: Mapping[str, FloatArray], rates: Rates
) -> None:
    """``ids`` in the order in which FATE keeps rows; ``first`` are the parties' first weights, the label holder's
    party first."""
    in_order = sorted(pushed, key=lambda one: one.at)
    n_batches = _n_batches(in_order)
    batches = _batches(in_order, ids, n_batches)
    n_rounds = 1 + max((_round(one.tag, n_batches) for one in in_order), default=SETUP_ROUND)
    if n_rounds < 1:
        raise FileFormatError("the recording must hold at least one batch of FATE's training; it holds none")
    holder, *partners = first
    for number in range(n_rounds):
        for partner in partners:
            recorder.message("train.batch", holder, partner, batches[number % n_batches], round=number)
    for one in in_order:
        if one.name != BATCH_NAMES:
            number = n_rounds - 1 if one.name == "h_pred" else _round(one.tag, n_batches)
            step = "predict.partial-score" if QUERIES in one.tag and one.name == "h_pred" else step_of(one.name)
            recorder.message(step, one.sender, one.receiver, one.value, round=number)
    for name, weights in first.items():
        steps = {_round(one.tag, n_batches): one for one in in_order if one.name == STEP and one.receiver == name}
        _record_descent(recorder, name, weights, [_step_at(steps, number, name) for number in range(n_rounds)], rates)


def _record_descent(recorder: Recorder, name: str, first: FloatArray, steps: Sequence[Pushed], rates: Rates) -> None:
    """A party's weights before and after each step, and the gradient that the step was made of."""
    weights = np.asarray(first, dtype=np.float32)
    recorder.record(name, "weights", weights.astype(np.float64), round=SETUP_ROUND, step="setup.initialise")
    for number, one in enumerate(steps):
        step = np.asarray(one.value, dtype=np.float32).ravel()
        gradient = step.astype(np.float64) / rates.learning_rate
        recorder.record(one.sender, f"gradient-of-{name}", gradient, round=number, step="train.encrypted-gradient")
        own = gradient - rates.l2 * weights.astype(np.float64)
        recorder.record(name, "gradient", own, round=number, step="train.gradient")
        weights = weights - step
        recorder.record(name, "weights", weights.astype(np.float64), round=number, step="train.update")


def _step_at(steps: Mapping[int, Pushed], number: int, name: str) -> Pushed:
    if number not in steps:
        raise FileFormatError(f"the recording must hold a step for {name} in every round; round {number} has none")
    return steps[number]


def _n_batches(pushed: Sequence[Pushed]) -> int:
    told = [int(str(one.value)) for one in pushed if one.name == N_BATCHES]
    if not told:
        raise FileFormatError(f"the recording must say how many batches there are ({N_BATCHES}); it does not")
    return told[0]


def _batches(pushed: Sequence[Pushed], ids: IntArray, n_batches: int) -> list[IntArray]:
    """Rows of each batch; none are named where one batch holds all rows."""
    if n_batches == 1:
        return [ids]
    named = {_last_number(one.tag): np.asarray(one.value, dtype=np.int64) for one in pushed if one.name == BATCH_NAMES}
    if sorted(named) != list(range(n_batches)):
        raise FileFormatError(
            f"the recording must name the rows of all {n_batches} batches; got those of {sorted(named)}"
        )
    return [named[number] for number in range(n_batches)]


def _round(tag: str, n_batches: int) -> int:
    """Iterations are epochs. What is sent at the end of one belongs to its last batch."""
    places = dict(re.findall(r"(iterations|batches)-(\d+)", tag))
    if "iterations" not in places:
        return SETUP_ROUND
    batch = int(places["batches"]) if "batches" in places else n_batches - 1
    return int(places["iterations"]) * n_batches + batch


def _last_number(tag: str) -> int:
    return int(tag.rpartition("-")[2])
