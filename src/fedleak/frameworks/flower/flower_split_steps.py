"""What passes between the label holder and a client of a split network, as steps of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import FileFormatError
from fedleak.core.transcript import EVERYONE
from fedleak.frameworks.held_tables import record_tables
from fedleak.frameworks.job import CAPTURE, TRUTH, Job
from fedleak.recorder import Recorder


def record_split(job: Job, batches: Sequence[IntArray], sent: Sequence[FloatArray], back: Sequence[FloatArray]) -> None:
    """``batches``: positions of rows; ``sent``: embeddings of each; ``back``: their gradients."""
    if not len(batches) == len(sent) == len(back):
        raise FileFormatError(
            f"every batch must have embeddings and gradients; got {len(batches)}, {len(sent)} and {len(back)}"
        )
    holder, partner = job.parties
    with Recorder(
        job.folder / CAPTURE,
        {holder.name: "active", partner.name: "passive"},
        protocol=f"flower {job.version}, split",
        truth=job.folder / TRUTH,
        family="network",
        **_facts(job, batches),
    ) as recorder:
        record_tables(recorder, job.parties)
        for number, rows in enumerate(batches):
            recorder.message("train.batch-rows", holder.name, EVERYONE, holder.ids[rows], round=number)
            recorder.message("train.embeddings", partner.name, holder.name, sent[number], round=number)
            recorder.message("train.embedding-gradients", holder.name, partner.name, back[number], round=number)


def _facts(job: Job, batches: Sequence[IntArray]) -> dict[str, Any]:
    options, labels = job.options, np.asarray(job.parties[0].labels)
    return {
        "bottom": (f"linear {options['outputs']}",),
        "top": (f"linear {options['hidden']}", "activation tanh"),
        "n_classes": max(2, int(labels.max()) + 1),
        "n_batches": len(batches),
        "batches": "shuffled",
        "trained": True,
        "optimiser": "sgd",
        "local_steps": 0,
        "known_batches": True,
        "precision": "float64",
        "learning_rate": options["learning_rate"],
        "batch_size": len(batches[0]),
        "score_noise": 0.0,
    }
