"""The error that average-inversion states is that of the worst cell, not of a typical one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.attacks import ATTACKS
from fedleak.attacks.inversion.rotation_problem import factor_of
from fedleak.calibration.layouts import CLINIC, HOSPITAL
from fedleak.calibration.populations import POPULATIONS
from fedleak.calibration.stages import stage_named
from fedleak.calibration.twins import draw_twins
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Status
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


def test_a_table_whose_rows_are_combinations_of_others_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a smallest singular value of zero, the expected error of a cell was infinite, and a solver refused it."""

    def of_one_row(gram: FloatArray, n_rows: int) -> FloatArray:
        return factor_of(gram, n_rows) * (np.eye(len(gram), n_rows) > 0) * (np.arange(n_rows) == 0)

    monkeypatch.setattr("fedleak.attacks.inversion.average_inversion.factor_of", of_one_row)
    twins = draw_twins(stage_named("averages"), POPULATIONS["normal"], 5, 1)
    played = play(twins.seen, Randomness.published(1))
    attack = ATTACKS.get("average-inversion")
    guess = played.attempt(attack, (HOSPITAL,), ROWS, twins.knowledge, scores=False, isolated=False).guess
    assert guess.status is Status.UNDETERMINED
    assert "combinations of others" in guess.why
