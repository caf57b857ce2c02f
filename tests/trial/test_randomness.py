"""Streams of randomness by purpose."""

from __future__ import annotations

import numpy as np

from fedleak.auditing.planner import plan_audit
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.core.whole.run import MemorySink
from fedleak.trial.progress import Silent
from fedleak.trial.randomness import attack_stream, stream
from scenarios import changed

SEED = 271828


def draws(rng: np.random.Generator) -> list[int]:
    return rng.integers(1 << 60, size=4).tolist()


def test_streams_differ_by_seed_and_by_purpose():
    for make in (stream, attack_stream):
        found = [draws(make(*key)) for key in ((1, "a"), (2, "a"), (1, "b"), (1, "a", "b"), (1, "ab"))]
        assert len({tuple(drawn) for drawn in found}) == len(found)
        assert draws(make(1, "a")) == found[0]


def test_an_attack_does_not_get_the_seed_of_the_run(monkeypatch):
    """With the seed it could draw the masks and the noise of its victims again."""
    from fedleak.attacks.residuals.residual_sign import ResidualSign

    seen = []
    honest = ResidualSign.run

    def watched(self, view, *, rng):
        seen.append(rng.bit_generator.seed_seq)
        return honest(self, view, rng=rng)

    monkeypatch.setattr(ResidualSign, "run", watched)
    scenario = parse_scenario(changed(("seed = 3", f"seed = {SEED}"), ("epochs = 4", "epochs = 1")))
    Audit(scenario, plan_audit(scenario), lambda name: MemorySink(), Silent(), isolated=False).run()
    assert seen
    for source in seen:
        assert source.entropy != SEED
        assert source.spawn_key == ()
