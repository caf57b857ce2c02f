"""What a Flower client receives and sends, as steps of ours: models that FedAvg averages, weighted by rows.

A client sends the weights after a step of rate η on its *mean* loss, and FedAvg weighs clients by their rows. What the
loss is, and how it is averaged, stands in the public facts: attacks on horizontal training read it there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import FileFormatError
from fedleak.core.transcript import EVERYONE, SETUP_ROUND
from fedleak.recorder import Recorder

SERVER = "server"
FRACTION_BITS = 44  # to which updates are rounded: differences of doubles have no more
# Of a row's gradient, slope * θx - target * y for labels -1 and 1: of the linear loss, and of the logistic one near 0.
SLOPES = {"linear": (1.0, 1.0), "logistic": (0.25, 0.5)}
LARGEST_SPREAD = 0.5  # of rounding up or down by lot, in steps


def secagg_noise(n_clients: int, n_rows: int, max_weight: float, clipping: float, levels: int) -> float:
    """Standard deviation that SecAgg+'s rounding leaves on each entry of a client's update, at most: it rounds
    parameters times rows / max_weight by lot, and the sum is divided by the sum of these weights."""
    step = 2.0 * clipping / levels
    return LARGEST_SPREAD * step * n_clients * max_weight / n_rows


def record_rounds(
    recorder: Recorder,
    rows: Mapping[str, int],
    models: Sequence[FloatArray],
    own: Mapping[str, Sequence[FloatArray]],
    masked: Mapping[str, Sequence[AnyArray]] | None = None,
) -> None:
    """``models`` are those that everybody received, the last one after the last round; ``own`` the clients' weights,
    which the server receives as they are, or ``masked`` in their place."""
    for name, sent in own.items():
        if len(sent) != len(models) - 1:
            raise FileFormatError(f"{name} must have sent weights in each of {len(models) - 1} rounds; got {len(sent)}")
    for name, count in rows.items():
        recorder.message("setup.row-count", name, EVERYONE, count, round=SETUP_ROUND)
    recorder.message("setup.first-model", SERVER, EVERYONE, models[0], round=SETUP_ROUND)
    current = np.asarray(models[0], dtype=np.float64)
    for number, model in enumerate(models[1:]):
        for name in rows:
            if masked is None:
                recorder.message("train.sent-weights", name, SERVER, own[name][number], round=number)
            else:
                recorder.message("train.masked-update", name, SERVER, masked[name][number], round=number)
            update = _rounded(current - own[name][number])
            recorder.record(name, "update", update, round=number, step="train.local-update")
        step = _rounded(current - model)
        recorder.message("train.aggregate", SERVER, EVERYONE, step, round=number)
        current = current - step


def _rounded(update: FloatArray) -> FloatArray:
    return np.asarray(np.ldexp(np.rint(np.ldexp(update, FRACTION_BITS)), -FRACTION_BITS))
