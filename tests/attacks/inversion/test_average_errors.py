"""The error that average-inversion states is that of the worst cell, not of a typical one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.attacks import ATTACKS
from fedleak.calibration.layouts import CLINIC, HOSPITAL
from fedleak.calibration.populations import POPULATIONS
from fedleak.calibration.stages import stage_named
from fedleak.calibration.twins import draw_twins
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.whole.randomness import Randomness
from fedleak.trial.play import play

ROWS = Secret(SecretKind.FEATURES, CLINIC)


@pytest.mark.parametrize(("seed", "bits"), [(17, 36), (24, 24), (30, 24), (14, 28)])
def test_no_cell_is_further_off_than_stated(seed: int, bits: int) -> None:
    """Tables whose worst cell was 1.4 to 2 times as far off as a root mean square said."""
    stage = replace(stage_named("averages"), own_truth=True)
    twins = draw_twins(stage, POPULATIONS["normal"], 5, seed)
    federation = replace(twins.seen, settings=replace(twins.seen.settings, fraction_bits=bits))
    played = play(federation, Randomness.published(seed))
    attack = ATTACKS.get("average-inversion")
    guess = played.attempt(attack, (HOSPITAL,), ROWS, twins.knowledge, scores=False, isolated=False).guess
    truth = played.run.truth.of(ROWS).values
    stated = guess.evidence["expected relative error of a cell"]
    assert isinstance(stated, float)
    assert 0 < np.abs(guess.values - truth).max() / truth.std() < stated
