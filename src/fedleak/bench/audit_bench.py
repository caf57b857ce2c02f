"""What makes an audit fast, each beside the plain way, and how near the whole comes to what cannot be saved.

``onehot_ratio``: encrypted products with columns of categories, by digits over grouped by value, CPU time.
``aggregation_ratio``: a round of a secure sum under keys of a modular group, by Python's powers, over ours, CPU time.
``packing_ratio``: a masked product, opened, with a ciphertext a column over several columns in each, CPU time.
``jobs_ratio``: the built-in audit on one core over the same on two, wall time: it is as good as the machine is idle.
``limit_ratio``: the CPU time of the built-in audit on one core over that of its ciphertexts alone, counted before the
run and priced by this machine's speed: 1 would be an audit that does nothing else.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from fedleak.auditing.changed_scenario import changed
from fedleak.auditing.estimate import measured_speeds, work_of
from fedleak.auditing.planner import plan_audit
from fedleak.auditing.scenario_file import built_in_scenario
from fedleak.bench.aggregation_round import ModularKey, summed
from fedleak.bench.packed_round import rounds
from fedleak.bench.paillier_bench import cpu_seconds
from fedleak.core.arrays import IntArray
from fedleak.core.errors import RunError
from fedleak.crypto.agreed_keys import MaskingKey
from fedleak.crypto.bigint import Mpz
from fedleak.crypto.cores import using
from fedleak.crypto.fixed_point import encode
from fedleak.crypto.multi_exponentiation import digit_product, matrix_product
from fedleak.crypto.paillier_cipher import Paillier
from fedleak.crypto.unit_group import UnitGroup
from fedleak.trial.provenance import environment

CATEGORIES = (12, 4, 3, 10, 3, 2)  # of the columns of a bank's table: job, marital status, education, month, …
FRACTION_BITS = 40
N_WEIGHTS = 100  # of a model that parties average
N_PACKED_ROWS, N_PACKED_COLUMNS = 64, 27  # of a masked product: three ciphertexts of 2048 bits
DATA_SEED = 11
RUN_KEY = 32 * "5"


@dataclass(frozen=True)
class Sizes:
    n_rows: int
    key_bits: int
    repetitions: int
    repeats: int  # runs of the audit
    n_parties: int  # of a secure sum


FULL = Sizes(256, 2048, 5, 5, 50)
QUICK = Sizes(64, 1024, 1, 1, 10)


def measure(quick: bool = False) -> Mapping[str, object]:
    sizes = QUICK if quick else FULL
    by_digits, by_groups = _products(sizes)
    modular, ours = _secure_sums(sizes)
    unpacked, packed = _masked_products(sizes)
    alone, together = (_audit(jobs, sizes) for jobs in (1, 2))
    if alone.findings != together.findings:
        raise RunError("both audits must find the same; they differ")
    ciphertexts = _ciphertext_seconds(sizes)
    return {
        "bench": "audit",
        "onehot_ratio": by_digits / by_groups,
        "aggregation_ratio": modular / ours,
        "packing_ratio": unpacked / packed,
        "jobs_ratio": alone.wall_seconds / together.wall_seconds,
        "limit_ratio": alone.cpu_seconds / ciphertexts,
        "sides": {
            "plain": _side(by_digits, modular, unpacked, alone),
            "fedleak": _side(by_groups, ours, packed, together),
            "limit": {"audit_cpu_seconds": alone.cpu_seconds, "ciphertext_cpu_seconds": ciphertexts},
        },
        "environment": environment(
            quick=quick,
            key_bits=sizes.key_bits,
            rows=sizes.n_rows,
            repeats=sizes.repeats,
            parties=sizes.n_parties,
            load=round(os.getloadavg()[0], 2),
        ),
    }


def _products(sizes: Sizes) -> tuple[float, float]:
    """CPU seconds of the same product by digits and by groups, medians, in turns."""
    matrix = _flags(sizes.n_rows)
    rng = np.random.default_rng(DATA_SEED)
    group = UnitGroup(Mpz(Paillier(allow_small_keys=True).generate(sizes.key_bits).public.modulus))
    ciphertexts = [Mpz(int.from_bytes(rng.bytes(sizes.key_bits // 4 - 1), "big")) for _ in range(sizes.n_rows)]
    if digit_product(group, matrix, ciphertexts) != matrix_product(group, matrix, ciphertexts):
        raise RunError("both products must be the same; they differ")
    plain, ours = [], []
    for _ in range(sizes.repetitions):
        plain.append(cpu_seconds(lambda: digit_product(group, matrix, ciphertexts)))
        ours.append(cpu_seconds(lambda: matrix_product(group, matrix, ciphertexts)))
    return median(plain), median(ours)


def _secure_sums(sizes: Sizes) -> tuple[float, float]:
    """CPU seconds of the same round with either kind of key; ours is short, and the median of several."""
    vectors = np.random.default_rng(DATA_SEED).normal(size=(sizes.n_parties, N_WEIGHTS))
    wanted = summed(MaskingKey, vectors)
    started = time.process_time()
    found = summed(ModularKey, vectors)
    plain = time.process_time() - started
    if not np.array_equal(found, wanted):
        raise RunError("both sums must be the same; they differ")
    return plain, median(cpu_seconds(lambda: summed(MaskingKey, vectors)) for _ in range(sizes.repetitions))


def _masked_products(sizes: Sizes) -> tuple[float, float]:
    """CPU seconds of the same product in its own ciphertexts and in packed ones, medians, in turns."""
    key = Paillier(allow_small_keys=True).generate(sizes.key_bits)
    plain, packed = rounds(key, N_PACKED_ROWS, N_PACKED_COLUMNS)
    taken = [(cpu_seconds(plain), cpu_seconds(packed)) for _ in range(sizes.repetitions)]
    return median(one for one, _ in taken), median(other for _, other in taken)


def _flags(n_rows: int) -> IntArray:
    """A column of the table a row: categories as flags, standardised as a scenario does."""
    rng = np.random.default_rng(DATA_SEED)
    flags = [
        rng.choice(n_values, n_rows, p=rng.dirichlet(np.full(n_values, 2.0)))[:, None] == np.arange(n_values)
        for n_values in CATEGORIES
    ]
    table = np.concatenate(flags, axis=1).astype(np.float64)
    table = table[:, table.std(axis=0) > 0]
    return encode(((table - table.mean(axis=0)) / table.std(axis=0)).T, FRACTION_BITS)


@dataclass(frozen=True)
class _Audited:
    wall_seconds: float
    cpu_seconds: float
    findings: list[tuple[object, ...]]


def _side(onehot: float, aggregation: float, product: float, audited: _Audited) -> dict[str, float]:
    return {
        "onehot_seconds": onehot,
        "aggregation_seconds": aggregation,
        "product_seconds": product,
        "audit_wall_seconds": audited.wall_seconds,
    }


def _audit(jobs: int, sizes: Sizes) -> _Audited:
    """The built-in audit, in an interpreter of its own."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        before, start = _children_seconds(), time.perf_counter()
        chosen = {"--jobs": jobs, "--run-key": RUN_KEY, "--repeats": sizes.repeats, "--out": Path(folder) / "audit"}
        chosen |= {"--set": f"key_bits={sizes.key_bits}", "--json": report}
        done = subprocess.run(
            [sys.executable, "-m", "fedleak", "audit", *(str(word) for pair in chosen.items() for word in pair)],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        wall = time.perf_counter() - start
        if done.returncode:
            raise RunError(f"the built-in audit must end with 0; got {done.returncode}: {done.stderr.strip()[-200:]}")
        found = json.loads(report.read_text(encoding="utf-8"))["findings"]
    shown = [tuple(finding[key] for key in ("attack", "defense", "outcome", "value")) for finding in found]
    return _Audited(wall, _children_seconds() - before, shown)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _ciphertext_seconds(sizes: Sizes) -> float:
    """Of everything that is encrypted, multiplied, blinded and opened under the real cipher, on one core."""
    runs = plan_audit(changed(built_in_scenario(), (f"key_bits={sizes.key_bits}",)), None)
    with using(1):
        return measured_speeds(runs, time.process_time).real.seconds(work_of(runs, sizes.repeats).real)
