"""Runs in FATE's own environment: a linear model between guest, host and arbiter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.payload import IntegerArray
from fedleak.frameworks.fate.fate_blinding import CHANGED, pass_factor_on
from fedleak.frameworks.fate.fate_ciphertexts import as_ciphertexts, read_modulus
from fedleak.frameworks.fate.fate_parties import ARBITER, GUEST, HOST, Seat, federated
from fedleak.frameworks.fate.fate_steps import QUERIES, Pushed, Rates, fraction_bits_of, own_steps, record_pushed
from fedleak.frameworks.held_tables import record_tables
from fedleak.frameworks.job import CAPTURE, TRUTH, Job, check_version, run_inside
from fedleak.recorder import Recorder

PLACES = (GUEST, HOST, ARBITER)


def main(job: Job) -> None:
    from importlib.metadata import version

    check_version(job, version("pyfate"), "FATE")
    pushed, first = federated(job, PLACES, trained)
    record(job, pushed, first)


def trained(seat: Seat) -> None:
    import torch

    job = seat.job
    torch.manual_seed(job.seed * len(PLACES) + seat.number)
    context, ids = seat.context(), job.parties[0].ids
    seat.keep_pushed(lambda _, value: plain(value, ids))
    if job.options["blinded"]:
        pass_factor_on()
    model = _model(job, seat.role, lambda weights: seat.keep(seat.own.name, weights))
    if seat.place == ARBITER:
        context.cipher.set_phe(context.device, {"kind": "paillier", "key_length": job.options["key_bits"]})
        model.fit(context)
        return
    frame = seat.frame(context)
    model.fit(context, frame)
    model.predict(context, frame)  # as FATE's component does after the training
    if job.options["enrolled"]:
        width = len(job.parties[1].columns)
        made_up = made_up_rows(width) if seat.place == HOST else np.zeros((width + 1, len(seat.own.columns)))
        model.predict(context.sub_ctx(QUERIES), seat.frame(context, rows=made_up))


def made_up_rows(width: int) -> FloatArray:
    """The n + 1 records that name n weights: nothing, and one unit at a time."""
    return np.vstack([np.zeros((1, width)), np.eye(width)])


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


def _model(job: Job, role: str, keep_first: Callable[[FloatArray], None]) -> Any:
    """The party's module, of FATE's own classes."""
    from importlib import import_module

    options = job.options
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
    if role == ARBITER[0]:
        return made(**shared, early_stop="weight_diff", tol=0.0)
    start = module.initialize_param

    def kept(*given: Any, **named: Any) -> Any:
        weights = start(*given, **named)
        keep_first(weights.detach().numpy().ravel().copy())
        return weights

    module.initialize_param = kept
    first = {"method": options["initialisation"], "fit_intercept": False, "random_state": None}
    return made(**shared, init_param=first)


def record(job: Job, pushed: Sequence[Pushed], first: dict[str, FloatArray]) -> None:
    options, holder = job.options, job.parties[0]
    roles = {holder.name: "active", **{party.name: "passive" for party in job.parties[1:]}, ARBITER[0]: ARBITER[0]}
    with Recorder(
        job.folder / CAPTURE,
        roles,
        protocol=f"{CHANGED if options['blinded'] else 'fate'} {job.version}",
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
        blinding="signed" if options["blinded"] else "none",  # none of this version as it is
        validate_every=options["epochs"],
    ) as recorder:
        record_tables(recorder, job.parties)
        if options["enrolled"]:
            partner = job.parties[1]
            rows = made_up_rows(len(partner.columns))
            recorder.record(holder.name, f"asked-of-{partner.name}", rows, step="predict.partial-score")
        ordered = {party.name: first[party.name] for party in job.parties}
        record_pushed(recorder, pushed, holder.ids, ordered, Rates(options["learning_rate"], options["l2"]))


if __name__ == "__main__":
    run_inside(main)
