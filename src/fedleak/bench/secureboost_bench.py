"""SecureBoost's training with packed ciphertexts against g and h apart, each sum decrypted by itself, in one run.

Both sides are the protocol itself over Paillier. The slow one is timed on its first tree and scaled by the number of
decryptions of the whole, which make up nearly all of it; that all trees are the same is checked with the ideal cipher.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fedleak.bench.tree_on_cores import measure_cores
from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import RunError
from fedleak.core.payload import Array, CipherArray, Payload, Table, Tree
from fedleak.core.steps import RecordName, Role, Step
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Run
from fedleak.crypto.cipher import select
from fedleak.crypto.paillier_cipher import Paillier, PaillierPrivateKey
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings
from fedleak.trial.play import play
from fedleak.trial.provenance import environment

SEED = 3
N_GROUPINGS, N_GROUPS = 20, 32  # of the additions that are timed: columns and bins
N_ACTIVE = 10  # columns of the label holder, as FATE deals breast-cancer out
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Sizes:
    n_trees: int
    key_bits: int
    additions: int
    large: tuple[int, int] | None  # rows and columns of the tree that is timed by itself


FULL = Sizes(n_trees=5, key_bits=2048, additions=20_000, large=(20_000, 20))
QUICK = Sizes(n_trees=2, key_bits=1024, additions=2_000, large=None)


def measure(quick: bool = False) -> Mapping[str, object]:
    """Ratios are the slow side over ours: above 1, ours is better."""
    sizes = QUICK if quick else FULL
    settings = SecureBoostSettings(n_trees=sizes.n_trees, depth=3, key_bits=sizes.key_bits)
    federation = _breast(settings)
    setup_seconds, _ = _timed(lambda: _prepared_key(sizes.key_bits))
    packed_seconds, packed = _timed(lambda: _run(federation))
    apart_seconds, first = _timed(lambda: _run(federation.with_settings(packed=False, n_trees=1)))
    whole = _run(federation.with_settings(packed=False, cipher="sealed"))
    _check_same(packed, whole, sizes.n_trees)
    _check_same(packed, first, 1)
    ours, theirs, measured = (_ciphertexts(run, boosting.CANDIDATE_SUMS) for run in (packed, whole, first))
    scaled = setup_seconds + (apart_seconds - setup_seconds) * theirs / measured
    by_group, through_bytes = _additions_a_second(sizes)
    return {
        "bench": "secureboost",
        "seconds_ratio": scaled / packed_seconds,
        "decryptions_ratio": theirs / ours,
        "sides": {
            "packed": {
                "seconds": packed_seconds,
                "decryptions": ours,
                "encryptions": _ciphertexts(packed, boosting.ENCRYPTED_GRADIENTS),
                "additions_per_second": by_group,
            },
            "apart": {
                "seconds": scaled,
                "seconds_measured": apart_seconds,
                "trees_measured": 1,
                "decryptions": theirs,
                "decryptions_measured": measured,
                "encryptions": _ciphertexts(whole, boosting.ENCRYPTED_GRADIENTS),
                "additions_per_second_through_bytes": through_bytes,
            },
            **({} if sizes.large is None else {"large": _large(sizes.large, settings)}),
        },
        "environment": _environment(sizes, settings, quick),
    }


def _environment(sizes: Sizes, settings: SecureBoostSettings, quick: bool) -> Mapping[str, object]:
    return environment(
        key_bits=sizes.key_bits,
        quick=quick,
        trees=sizes.n_trees,
        depth=settings.depth,
        bins=settings.bins,
        data="sklearn:breast_cancer, 569 rows, 10 and 20 columns",
        clock="CPU time of one process; the slow side's first tree, scaled by decryptions",
        splits="identical on both sides",
    )


def _breast(settings: SecureBoostSettings) -> Federation:
    from sklearn.datasets import load_breast_cancer

    rows, labels = load_breast_cancer(return_X_y=True)
    return _dealt(rows, labels, N_ACTIVE, settings)


def _dealt(rows: FloatArray, labels: AnyArray, n_active: int, settings: SecureBoostSettings) -> Federation:
    ids = np.arange(len(rows), dtype=np.int64)
    names = tuple(f"column {number}" for number in range(rows.shape[1]))
    active = Party("active", Role.ACTIVE, names[:n_active], Slice(ids, rows[:, :n_active], labels))
    passive = Party("passive", Role.PASSIVE, names[n_active:], Slice(ids, rows[:, n_active:]))
    return Federation("secureboost", (active, passive), settings)


def _prepared_key(key_bits: int) -> PaillierPrivateKey:
    key = Paillier().generate(key_bits)
    key.public.prepare()
    return key


def _run(federation: Federation) -> Run:
    return play(federation, Randomness.published(SEED)).run


def _timed(work: Callable[[], ResultT]) -> tuple[float, ResultT]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def _ciphertexts(run: Run, step: Step[Tree]) -> int:
    """That were sent at a step: every one of them was encrypted, or will be decrypted, once."""
    parts = [message.payload for message in run.transcript.messages if message.step == step.name]
    found = [part for payload in parts if isinstance(payload, Tree) for part in payload.items.values()]
    return sum(len(part.data) for part in found if isinstance(part, CipherArray))


def _check_same(one: Run, other: Run, n_trees: int) -> None:
    """Splits, thresholds and leaf weights of the first trees, party by party."""
    for party in one.locals:
        pairs = zip(_splits(one, party, n_trees), _splits(other, party, n_trees), strict=True)
        if not all(np.array_equal(a, b) for a, b in pairs):
            raise RunError(f"both sides must make the same splits; those of {party} differ")
    mine, others = (_weights(run, n_trees) for run in (one, other))
    if not np.array_equal(mine, others):
        raise RunError("both sides must give the same leaf weights; they differ")


def _splits(run: Run, party: str, n_trees: int) -> list[AnyArray]:
    found = _record(run, party, boosting.SPLITS)
    assert isinstance(found, Table)
    return [found.values[found.values[:, 0] == tree] for tree in range(n_trees)]


def _weights(run: Run, n_trees: int) -> AnyArray:
    found = _record(run, "active", boosting.TREES)
    assert isinstance(found, Tree)
    weight, sizes = found.items["weight"], found.items["sizes"]
    assert isinstance(weight, Array)
    assert isinstance(sizes, Array)
    return weight.values[: int(sizes.values[:n_trees].sum())]


def _record(run: Run, party: str, name: RecordName) -> Payload:
    return next(record.value for record in run.locals[party] if record.name == name.name)


def _additions_a_second(sizes: Sizes) -> tuple[float, float]:
    """Of ciphertexts, summed by group on integers, and pair by pair through bytes."""
    public = Paillier().generate(sizes.key_bits).public
    few = public.encrypt(list(range(100)), 0)
    rows = select(few, [number % 100 for number in range(sizes.additions // N_GROUPINGS)])
    groups = np.tile(np.arange(len(rows.data)) % N_GROUPS, (N_GROUPINGS, 1))
    grouped_seconds, _ = _timed(lambda: public.grouped_sum(rows, groups, N_GROUPS))
    pair_seconds, _ = _timed(lambda: public.add(rows, rows))
    return groups.size / grouped_seconds, len(rows.data) / pair_seconds


def _large(size: tuple[int, int], settings: SecureBoostSettings) -> Mapping[str, object]:
    """One tree on a larger table, all columns at the partner."""
    n_rows, n_columns = size
    rng = np.random.default_rng(SEED)
    rows = rng.standard_normal((n_rows, n_columns))
    labels = (rows @ rng.standard_normal(n_columns) > 0).astype(np.int64)
    one = SecureBoostSettings(n_trees=1, depth=settings.depth, key_bits=settings.key_bits)
    return {"rows": n_rows, "columns": n_columns, **measure_cores(_dealt(rows, labels, 0, one), SEED)}
