"""How long an audit will take before it begins: ciphertexts of all its runs, counted, times this machine's speed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedleak.auditing.planner import PlannedRun, under_ideal_cipher
from fedleak.core.facts import Facts
from fedleak.core.whole.federation import Federation, Settings
from fedleak.crypto import CIPHERS
from fedleak.crypto.cipher import short_key
from fedleak.crypto.cipher_speed import CipherSpeed, Clock, Operations, measured_speed
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.cost_model import operations

IDEAL = "sealed"
NOTHING = Operations()


@dataclass(frozen=True)
class Size:
    """What may be made smaller: training rows, passes over them, and the real cipher. None is as it was planned."""

    rows: int | None = None
    epochs: int | None = None
    ideal: bool = False


AS_PLANNED = Size()


@dataclass(frozen=True)
class Work:
    """Of all runs together, those under the real cipher and those under the ideal one; ``uncounted``: of a protocol
    whose ciphertexts nobody has counted."""

    real: Operations = NOTHING
    ideal: Operations = NOTHING
    n_real: int = 0
    n_ideal: int = 0
    uncounted: bool = False


@dataclass(frozen=True)
class Speeds:
    real: CipherSpeed
    ideal: CipherSpeed

    def seconds(self, work: Work) -> float:
        return self.real.seconds(work.real) + self.ideal.seconds(work.ideal)


def work_of(runs: Sequence[PlannedRun], repeats: int, size: Size = AS_PLANNED) -> Work:
    """Each planned run once as it is, and again under the ideal cipher for what is decided over several."""
    total = Work()
    for planned in runs:
        tried = any(task.skip is None for task in planned.tasks)
        if not tried and planned.defense is None:
            continue
        for run, n_times in ((planned, 1), (under_ideal_cipher(planned), repeats - 1 if tried else 0)):
            total = _with(total, run, n_times, size)
    return total


def n_ciphertexts(planned: PlannedRun) -> int:
    """Of its first run, that take long: under the real cipher, made, blinded anew or opened."""
    made = work_of([planned], repeats=1).real
    return made.encryptions + made.rerandomisations + made.decryptions


def _with(total: Work, planned: PlannedRun, n_times: int, size: Size) -> Work:
    federation = configured(planned, size)
    protocol = PROTOCOLS.get(federation.protocol)
    n_rows = federation.n_rows if size.rows is None else size.rows
    facts = protocol.public_facts(federation, planned.defense, parties=federation.party_facts, n_rows=n_rows)
    found = operations(federation.settings, facts)
    if found is None:
        return replace(total, uncounted=True)
    if getattr(federation.settings, "cipher", IDEAL) == IDEAL:
        return replace(total, ideal=total.ideal + found.times(n_times), n_ideal=total.n_ideal + n_times)
    return replace(total, real=total.real + found.times(n_times), n_real=total.n_real + n_times)


def configured(planned: PlannedRun, size: Size = AS_PLANNED) -> Federation:
    """As it runs: smaller first, then as the defense has it."""
    federation = planned.federation
    changes: dict[str, object] = {} if size.epochs is None else {"epochs": size.epochs}
    changes |= {"cipher": IDEAL} if size.ideal else {}
    federation = federation.with_settings(**changes) if changes else federation
    return planned.defense.configure(federation) if planned.defense else federation


def assumptions(settings: Settings, facts: Facts) -> tuple[str, ...]:
    """Those beyond the usual on which the run's ciphertexts rest, where it makes any; a captured run's settings name no
    cipher, its facts may."""
    cipher = getattr(settings, "cipher", None)
    if cipher is not None and operations(settings, facts) == NOTHING:
        return ()
    assumed = CIPHERS.get(cipher).assumption if cipher else ""
    return tuple(words for words in (assumed, "" if cipher == IDEAL else short_key(facts.key_bits)) if words)


def measured_speeds(runs: Sequence[PlannedRun], clock: Clock = time.perf_counter) -> Speeds:
    """Of both ciphers, with the key and a batch of the widest party's rows that the runs have."""
    settings = runs[0].federation.settings
    widest = max(runs[0].federation.parties, key=lambda party: len(party.columns))
    rows = np.nan_to_num(widest.train.features[: getattr(settings, "batch_size", 1)])
    key_bits, fraction_bits = (int(getattr(settings, name)) for name in ("key_bits", "fraction_bits"))
    chosen = getattr(settings, "cipher", IDEAL)
    ciphers = ("paillier" if chosen == IDEAL else chosen, IDEAL)
    real, ideal = (measured_speed(cipher, key_bits, fraction_bits, rows, clock) for cipher in ciphers)
    return Speeds(real, ideal)


def estimate_words(work: Work, speeds: Speeds) -> str:
    """One sentence, before anything runs."""
    done = work.real
    seconds = speeds.seconds(work)
    runs = f"{work.n_real} under the real cipher, {work.n_ideal} under the ideal one"
    return (
        f"estimate: {done.encryptions:,} encryptions, products of {done.cells:,} cells, "
        f"{done.rerandomisations:,} ciphertexts blinded anew, {done.decryptions:,} decryptions; with all runs ({runs}) "
        f"about {duration_words(seconds)} on one core of this machine, attacks on top"
    )


def duration_words(seconds: float) -> str:
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
