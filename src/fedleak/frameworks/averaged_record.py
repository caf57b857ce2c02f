"""What clients that average models kept in files of the job's folder, as a capture: of every round the model that each
received (``model-ROUND-RANK.npy``) and the weights that it sent, and the model after the last round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedleak.frameworks.flower.flower_steps import SERVER, SLOPES, record_rounds
from fedleak.frameworks.held_tables import record_tables
from fedleak.frameworks.job import CAPTURE, TRUTH, Job
from fedleak.recorder import Recorder


def record_averaging(job: Job, protocol: str, precision: Mapping[str, Any], *, masked: bool = False) -> None:
    """``precision``: the facts that say how exact the models are; ``masked`` where the server sees masked weights."""
    names, n_rounds = [party.name for party in job.parties], range(job.options["rounds"])
    rows = {party.name: len(party.ids) for party in job.parties}
    models = [np.load(job.folder / f"model-{number}-0.npy") for number in n_rounds]
    models.append(np.load(job.folder / "model-last.npy"))
    with Recorder(
        job.folder / CAPTURE,
        {**dict.fromkeys(names, "active"), SERVER: "server"},
        protocol=protocol,
        truth=job.folder / TRUTH,
        family="horizontal-logistic",
        secure_aggregation=masked,
        **_facts(job, names),
        **precision,
    ) as recorder:
        record_tables(recorder, job.parties)
        kept = {what: _kept(job, what) for what in ("sent", "masked") if what == "sent" or masked}
        record_rounds(recorder, rows, models, kept["sent"], kept.get("masked"))


def _kept(job: Job, what: str) -> dict[str, list[Any]]:
    return {
        party.name: [np.load(job.folder / f"{what}-{number}-{rank}.npy") for number in range(job.options["rounds"])]
        for rank, party in enumerate(job.parties)
    }


def _facts(job: Job, names: list[str]) -> dict[str, Any]:
    """Public: the loss, and how it is averaged."""
    options = job.options
    slope, target = SLOPES[options["model"]]
    return {
        "rounds": options["rounds"],
        "shuffled": (names[0],),
        "update": "synchronised",
        "rate_decay": 0.0,
        "dropouts": (),
        "approximation": "taylor" if options["model"] == "linear" else None,
        "learning_rate": options["learning_rate"],
        "slope": slope,
        "target": target,
        "averaged_loss": True,
    }
