"""What a Flower server learns of a torch client: the network before a round, and the gradient behind what came back.

A client that takes one step of gradient descent sends θ − rate · gradient. Recorded gradients are rounded to single
precision: differences of doubles have more digits than that, and fewer than doubles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import FileFormatError
from fedleak.core.transcript import EVERYONE
from fedleak.frameworks.job import CAPTURE, TRUTH, Job
from fedleak.models.layered import LayeredNetwork
from fedleak.models.layers import layer_of_line
from fedleak.recorder import Recorder

SERVER = "server"
NAMES = ("0.weight", "0.bias", "2.weight", "2.bias")  # of a torch Sequential, and of our networks
Parameters = Mapping[str, FloatArray]


def record_gradients(job: Job, passed: Sequence[Sequence[tuple[Parameters, Parameters]]]) -> None:
    """``passed``: by round and client, the parameters that it received and those that it sent."""
    for number, clients in enumerate(passed):
        if len(clients) != len(job.parties):
            raise FileFormatError(
                f"every client must have sent parameters in round {number}; got {len(clients)} of {len(job.parties)}"
            )
    names = [party.name for party in job.parties]
    with Recorder(
        job.folder / CAPTURE,
        {**dict.fromkeys(names, "active"), SERVER: "server"},
        protocol=f"flower {job.version}, torch",
        truth=job.folder / TRUTH,
        family="network",
        **_facts(job, passed),
    ) as recorder:
        for party in job.parties:
            ids, labels = np.arange(len(party.ids)), np.asarray(party.labels)[:, None]  # the server knows no others
            recorder.record(party.name, "features", party.cells, ids=ids, columns=party.columns)
            recorder.record(party.name, "labels", labels, ids=ids)
            recorder.truth(party.name, party.cells, ids=ids, columns=party.columns, labels=labels)
        for number, clients in enumerate(passed):
            recorder.message("train.participants", SERVER, EVERYONE, names, round=number)
            recorder.message("train.network", SERVER, EVERYONE, _network(clients[0][0]).to_spec(), round=number)
            for name, (before, after) in zip(names, clients, strict=True):
                gradient = gradient_of(before, after, job.options["learning_rate"])
                recorder.message("train.layer-gradients", name, SERVER, gradient, round=number)


def gradient_of(before: Parameters, after: Parameters, rate: float) -> dict[str, Any]:
    return {name: ((before[name] - after[name]) / rate).astype(np.float32) for name in NAMES}


def _network(parameters: Parameters) -> LayeredNetwork:
    (hidden, width), (n_classes, _) = parameters["0.weight"].shape, parameters["2.weight"].shape
    layers = tuple(layer_of_line(line) for line in (f"linear {hidden}", "activation sigmoid", f"linear {n_classes}"))
    return LayeredNetwork((width,), layers, {name: np.asarray(parameters[name]) for name in NAMES})


def _facts(job: Job, passed: Sequence[Sequence[tuple[Parameters, Parameters]]]) -> dict[str, Any]:
    first = passed[0][0][0]
    return {
        "bottom": (f"linear {len(first['0.bias'])}", "activation sigmoid"),
        "n_classes": len(first["2.bias"]),
        "n_batches": len(passed),
        "trained": True,
        "optimiser": "sgd",
        "local_steps": 0,
        "known_batches": False,
        "precision": "float32",
        "learning_rate": job.options["learning_rate"],
        "batch_size": max(len(party.ids) for party in job.parties),
        "score_noise": 0.0,
    }
