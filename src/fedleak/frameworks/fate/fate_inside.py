"""Runs in FATE's own environment: guest, host and arbiter, each a process with a context of its own.

They exchange messages through files in the job's folder (FATE's standalone federation), and open no port. What a party
pushes is recorded where every message of a context passes.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from multiprocessing.queues import Queue
from pathlib import Path
from queue import Empty
from time import monotonic
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.payload import IntegerArray
from fedleak.frameworks.fate.fate_ciphertexts import as_ciphertexts, read_modulus
from fedleak.frameworks.fate.fate_steps import Pushed, Rates, fraction_bits_of, own_steps, record_pushed
from fedleak.frameworks.job import CAPTURE, TRUTH, Held, Job, check_version, read_job, run_inside
from fedleak.recorder import Recorder

SPAWN = multiprocessing.get_context("spawn")
ARBITER = "arbiter"
PLACES = (("guest", "9999"), ("host", "10000"), (ARBITER, "10000"))  # in FATE's terms; the guest holds the labels
FIRST_WEIGHTS = "first weights"
Told = tuple[str, Any]  # what a party tells the script: its first weights, a message, that it is done or failed


def main(job: Job) -> None:
    from importlib.metadata import version

    check_version(job, version("pyfate"), "FATE")
    pushed, first = _federated(job)
    record(job, pushed, first)


def _federated(job: Job) -> tuple[list[Pushed], dict[str, FloatArray]]:
    told: Queue[Told] = SPAWN.Queue()
    parties = [SPAWN.Process(target=_take_part, args=(str(job.folder), place, told)) for place in range(len(PLACES))]
    try:
        for party in parties:
            party.start()
        return _gathered(told, parties)
    finally:
        for party in parties:  # after all are done: what a party sent goes with its process
            party.kill()
            party.join()


def _gathered(told: Queue[Told], parties: Sequence[Any]) -> tuple[list[Pushed], dict[str, FloatArray]]:
    pushed: list[Pushed] = []
    first: dict[str, FloatArray] = {}
    n_done = 0
    while n_done < len(parties):
        try:
            what, value = told.get(timeout=1.0)
        except Empty:
            codes = [party.exitcode for party in parties if party.exitcode]
            if codes:
                raise RuntimeError(f"a party of the training ended with exit code {codes[0]}") from None
            continue
        if what == "failed":
            raise RuntimeError(value)
        if what == FIRST_WEIGHTS:
            first |= value
        elif what == "pushed":
            pushed.append(value)
        n_done += what == "done"
    return pushed, dict(sorted(first.items()))


def _take_part(folder: str, place: int, told: Queue[Told]) -> None:
    try:
        job = read_job(Path(folder))
        _trained(job, place, told)
    except Exception as error:
        told.put(("failed", " ".join(f"{PLACES[place][0]}: {type(error).__name__}: {error}".split())[:400]))
        raise
    told.put(("done", None))


def _trained(job: Job, place: int, told: Queue[Told]) -> None:
    import torch

    torch.manual_seed(job.seed * len(PLACES) + place)
    options = job.options
    context = _context(job, place)
    _keep_pushed(job, place, told)
    model = _model(job, place, lambda weights: told.put((FIRST_WEIGHTS, {job.parties[place].name: weights})))
    if place == PLACES.index((ARBITER, "10000")):
        context.cipher.set_phe(context.device, {"kind": "paillier", "key_length": options["key_bits"]})
        model.fit(context)
        return
    frame = _frame(context, job.parties[place])
    model.fit(context, frame)
    model.predict(context, frame)  # as FATE's component does after the training


def _context(job: Job, place: int) -> Any:
    from fate.arch.context import create_context

    settings = {
        "computing.standalone.data_dir": str(job.folder / "fate"),
        "computing.standalone.options": {"task_cores": 1},
    }
    return create_context(PLACES[place], list(PLACES), "capture", computing_conf=settings)


def _keep_pushed(job: Job, place: int, told: Queue[Told]) -> None:
    """The recording point: every message that this party's context sends."""
    from fate.arch.context import _parties

    names = dict(zip(PLACES, [*(party.name for party in job.parties), ARBITER], strict=True))
    ids, push = job.parties[0].ids, _parties._push

    def keeping(**given: Any) -> None:
        value = plain(given["value"], ids)
        for receiver in given["parties"]:
            tag = given["namespace"].federation_tag
            message = Pushed(monotonic(), names[PLACES[place]], names[tuple(receiver)], given["name"], tag, value)
            told.put(("pushed", message))
        push(**given)

    _parties._push = keeping


def plain(value: Any, ids: IntArray) -> object:
    """What was pushed, as a capture can hold it; of what it cannot, the name of its kind."""
    import torch

    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.Tensor):
        return value.detach().numpy()
    if hasattr(value, "shardings"):  # a tensor spread over partitions
        parts = [part for _, part in sorted(value.shardings._data.collect(), key=lambda pair: pair[0])]
        if isinstance(parts[0], torch.Tensor):
            return np.concatenate([part.detach().numpy() for part in parts]).ravel()
        return as_ciphertexts([bytes(part.data.__getstate__()) for part in parts])
    if hasattr(value, "evaluator"):  # ciphertexts in one piece
        return as_ciphertexts([bytes(value.data.__getstate__())])
    if hasattr(value, "encrypt_tensor"):
        modulus = read_modulus(bytes(value._pk.pk.__getstate__()))
        return {"modulus": IntegerArray.from_ints([modulus], -(-modulus.bit_length() // 8))}
    if hasattr(value, "collect"):  # rows of a batch, each with its block and its place there
        rows = sorted(value.collect(), key=lambda pair: pair[1])
        return ids[[int(row) for row, _ in rows]]
    return type(value).__name__


def _model(job: Job, place: int, keep_first: Callable[[FloatArray], None]) -> Any:
    """The party's module, of FATE's own classes."""
    from importlib import import_module

    options, role = job.options, PLACES[place][0]
    kind = "LR" if options["model"] == "logistic" else "LinR"
    module: Any = import_module(f"fate.ml.glm.hetero.coordinated_{kind.lower()}.{role}")
    made = getattr(module, f"Coordinated{kind}Module{role.capitalize()}")
    l2 = {"penalty": "l2", "alpha": options["l2"]}
    descent = {"method": "sgd", **l2, "optimizer_params": {"lr": options["learning_rate"], "weight_decay": 0}}
    shared = {
        "epochs": options["epochs"],
        "batch_size": options["batch_size"] or None,
        "optimizer_param": descent,
        "learning_rate_param": {"method": "linear", "scheduler_params": {"start_factor": 1.0}},
    }
    if role == ARBITER:
        return made(**shared, early_stop="weight_diff", tol=0.0)
    start = module.initialize_param

    def kept(*given: Any, **named: Any) -> Any:
        weights = start(*given, **named)
        keep_first(weights.detach().numpy().ravel().copy())
        return weights

    module.initialize_param = kept
    first = {"method": options["initialisation"], "fit_intercept": False, "random_state": None}
    return made(**shared, init_param=first)


def _frame(context: Any, own: Held) -> Any:
    """Rows are named by their position, with leading zeros: FATE keeps rows in the order of their names."""
    import pandas as pd
    from fate.arch.dataframe import PandasReader

    names = [f"{position:012d}" for position in range(len(own.ids))]
    cells = pd.DataFrame(own.cells, columns=list(own.columns))
    labelled = {}
    if own.labels is not None:
        numbers = own.labels.dtype.kind == "f"
        cells.insert(0, "fedleak-label", own.labels if numbers else own.labels.astype(np.int64))
        labelled = {"label_name": "fedleak-label", "label_type": "float32" if numbers else "int32"}
    cells.insert(0, "fedleak-match", names)
    cells.insert(0, "fedleak-row", names)
    ids = {"sample_id_name": "fedleak-row", "match_id_name": "fedleak-match"}
    return PandasReader(**ids, **labelled, dtype="float32", partition=1).to_frame(context, cells)


def record(job: Job, pushed: Sequence[Pushed], first: dict[str, FloatArray]) -> None:
    options, holder = job.options, job.parties[0]
    roles = {holder.name: "active", **{party.name: "passive" for party in job.parties[1:]}, ARBITER: ARBITER}
    with Recorder(
        job.folder / CAPTURE,
        roles,
        protocol=f"fate {job.version}",
        truth=job.folder / TRUTH,
        own_steps=own_steps(pushed),
        family="vertical-arbiter",
        approximation="taylor" if options["model"] == "logistic" else "exact",
        batch_size=options["batch_size"] or len(holder.ids),
        n_epochs=options["epochs"],
        learning_rate=options["learning_rate"],
        initialisation="normal" if options["initialisation"] == "random" else None,
        score_noise=0.0,
        cipher="paillier",
        key_bits=options["key_bits"],
        fraction_bits=fraction_bits_of(options["learning_rate"]),
        shuffle=False,
        l2=options["l2"],
        decay=False,
        loss=True,
        blinding="none",  # of this version
        validate_every=options["epochs"],
    ) as recorder:
        for party in job.parties:
            labels = None if party.labels is None else party.labels[:, None]
            recorder.record(party.name, "features", party.cells, ids=party.ids, columns=party.columns)
            if labels is not None:
                recorder.record(party.name, "labels", labels, ids=party.ids)
            recorder.truth(party.name, party.cells, ids=party.ids, columns=party.columns, labels=labels)
        ordered = {party.name: first[party.name] for party in job.parties}
        record_pushed(recorder, pushed, holder.ids, ordered, Rates(options["learning_rate"], options["l2"]))


if __name__ == "__main__":
    run_inside(main)
