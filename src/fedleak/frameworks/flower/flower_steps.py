"""What a Flower client receives and sends, as steps of ours: a linear model that FedAvg averages.

A client sends the weights after a step of rate η on its mean loss, and FedAvg weighs clients by their rows. With labels
of -1 and 1 and weights counted double, the mean of the updates is that of the summed loss log 2 - yθx/2 + (θx)²/8 at
the rate 4Kη/N, for K clients with N rows together: the equations that attacks on horizontal training solve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import FileFormatError
from fedleak.core.transcript import EVERYONE, SETUP_ROUND
from fedleak.recorder import Recorder

SERVER = "server"
UNIT = 2.0  # a weight of ours is so many of the framework's
FRACTION_BITS = 44  # to which updates are rounded: differences of doubles have no more


def rate_of(n_clients: int, n_rows: int, learning_rate: float) -> float:
    return 4.0 * n_clients * learning_rate / n_rows


def record_rounds(
    recorder: Recorder, rows: Mapping[str, int], models: Sequence[FloatArray], sent: Mapping[str, Sequence[FloatArray]]
) -> None:
    """``models`` are those that everybody received, the last one after the last round; ``sent`` what clients sent."""
    for name, own in sent.items():
        if len(own) != len(models) - 1:
            raise FileFormatError(f"{name} must have sent weights in each of {len(models) - 1} rounds; got {len(own)}")
    total = sum(rows.values())
    for name, count in rows.items():
        recorder.message("setup.row-count", name, EVERYONE, count, round=SETUP_ROUND)
    recorder.message("setup.first-model", SERVER, EVERYONE, UNIT * models[0], round=SETUP_ROUND)
    current = UNIT * models[0]
    for number, model in enumerate(models[1:]):
        for name, count in rows.items():
            share = len(rows) * count / total
            recorder.message("train.sent-weights", name, SERVER, sent[name][number], round=number)
            update = _rounded(share * (current - UNIT * sent[name][number]))
            recorder.record(name, "update", update, round=number, step="train.local-update")
        step = _rounded(current - UNIT * model)
        recorder.message("train.aggregate", SERVER, EVERYONE, step, round=number)
        current = current - step


def _rounded(update: FloatArray) -> FloatArray:
    return np.asarray(np.ldexp(np.rint(np.ldexp(update, FRACTION_BITS)), -FRACTION_BITS))
