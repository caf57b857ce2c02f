"""Streams of randomness: public ones by seed, secret ones from the run's key."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.auditing.planner import plan_audit
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.core.errors import InputError
from fedleak.core.report import Report
from fedleak.core.whole.randomness import Randomness, RunKey, public_stream
from fedleak.core.whole.run import MemorySink
from fedleak.trial.progress import Silent
from scenarios import changed

KEY = RunKey.from_text("00112233445566778899aabbccddeeff")


def draws(rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(rng.integers(1 << 60, size=4).tolist())


def test_public_streams_differ_by_seed_and_by_purpose():
    found = [draws(public_stream(*key)) for key in ((1, "a"), (2, "a"), (1, "b"), (1, "a", "b"), (1, "ab"))]
    assert len(set(found)) == len(found)
    assert draws(public_stream(1, "a")) == found[0]


def test_secret_streams_differ_by_key_owner_and_purpose_and_not_by_seed():
    one, other = Randomness(KEY, 1), Randomness(RunKey.fresh(), 1)
    found = [
        draws(one.secret("a", "b")),
        draws(one.secret("ab")),
        draws(one.secret("a", "c")),
        draws(one.secret("b", "b")),
        draws(other.secret("a", "b")),
        draws(one.attack("a", ("b",), "c", 0)),
        draws(one.attack("a", ("b",), "c", 1)),
        draws(one.attack("a", ("b",), "d", 0)),
        draws(one.attack("a", ("b", "d"), "c", 0)),
        draws(one.attack("d", ("b",), "c", 0)),
        draws(one.public("a", "b")),
    ]
    assert len(set(found)) == len(found)
    assert draws(Randomness(KEY, 2).secret("a", "b")) == found[0]


def test_a_generator_shows_neither_the_key_nor_the_seed():
    source = Randomness(KEY, 271828).attack("a", ("b",), "c", 0).bit_generator.seed_seq
    assert source.entropy not in (271828, int.from_bytes(KEY.bits, "big"), int.from_bytes(KEY.bits, "little"))
    assert source.spawn_key == ()


def test_a_key_is_read_back_from_its_text_and_nothing_else_is_a_key():
    assert RunKey.from_text(str(KEY)) == KEY
    for text in ("", "00", "zz" * 16, "00" * 17, "00 " * 16):
        with pytest.raises(InputError, match="run key must be 32 hexadecimal digits"):
            RunKey.from_text(text)


def audited(run_key: RunKey | None) -> Report:
    scenario = parse_scenario(changed(("epochs = 4", "epochs = 1")))
    work = Audit(scenario, plan_audit(scenario), lambda name: MemorySink(), Silent(), run_key=run_key)
    work.run()
    return work.report()


def figures(report: Report) -> list[object]:
    return [(f.attack, f.outcome, f.score and (f.score.value, f.score.ci)) for f in report.findings]


def test_a_run_key_repeats_an_audit_and_a_fresh_one_does_not():
    first = audited(None)
    key = RunKey.from_text(str(first.run_key))
    assert figures(audited(key)) == figures(first)
    assert figures(audited(None)) != figures(first)  # the noise of the defense is another
