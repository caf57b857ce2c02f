"""Known cells as people have them: to a few decimals."""

from __future__ import annotations

import numpy as np
import pytest

import federations
from fedleak.attacks import ATTACKS
from fedleak.attacks.inversion.known_cells import known_cells
from fedleak.attacks.inversion.rotation_problem import RotationProblem
from fedleak.auditing.declared_knowledge import draw_knowledge
from fedleak.auditing.scenario import KnowledgeSpec
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.errors import ScenarioError
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.linear.vertical_arbiter import VerticalLinearArbiterSettings
from random_cases import seeds

ROWS = Secret(SecretKind.FEATURES, "fintech")
IDS = np.arange(50, 64)


def federation(seed: int, width: int = 3) -> Federation:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((14, 8 + width))
    settings = VerticalLinearArbiterSettings(
        batch_size=7, epochs=20, initialisation="normal", cipher="sealed", prediction_service=True, loss=False
    )
    labels = rows.sum(axis=1) + rng.standard_normal(14)
    parties = (
        Party("bank", Role.ACTIVE, tuple(f"b{i}" for i in range(8)), Slice(IDS, rows[:, :8], labels)),
        Party("fintech", Role.PASSIVE, tuple(f"f{i}" for i in range(width)), Slice(IDS, rows[:, 8:])),
        Party("referee", Role.ARBITER, (), Slice(IDS, np.zeros((14, 0)))),
    )
    return Federation("vertical-linear-arbiter", parties, settings)


def attacked(setup: Federation, count: int, decimals: int | None, *, seed: int = 1, wrong: float = 0.0, told=True):
    """``wrong`` is added to one cell; ``told`` False keeps back that cells are rounded."""
    protocol = PROTOCOLS.get(setup.protocol)
    run = federations.run(setup, seed=seed, protocol=protocol())
    facts = run.transcript.facts
    seen = facts.seen_by(("bank",), protocol.reveals(setup.settings, facts.parties, ("bank",)))
    truth = run.truth.of(ROWS).values
    rows, columns = np.unravel_index(np.random.default_rng(seed).permutation(truth.size)[:count], truth.shape)
    values = truth[rows, columns] if decimals is None else np.round(truth[rows, columns], decimals)
    values[0] += wrong
    within = 0.0 if decimals is None or not told else 0.5 * 10.0**-decimals
    known = Knowledge(cells=(KnownCells("fintech", IDS[rows], columns, values, within),))
    view = run.view(("bank",), ROWS, seen, knowledge=known)
    return ATTACKS.get("gram-inversion")().run(view, rng=np.random.default_rng(seed)), truth


@pytest.mark.parametrize(("decimals", "error"), [(2, 8e-3), (3, 8e-4), (6, 8e-7)])
def test_a_few_decimals_give_one_table(decimals, error):
    guess, truth = attacked(federation(0), 14, decimals)
    assert guess.status is Status.RECOVERED, guess.why
    off = np.sqrt(np.mean((guess.values - truth) ** 2))
    assert off < error
    assert off < 10 * 3 * guess.evidence["expected relative error of a cell"]


def test_rounded_cells_that_pass_for_exact_contradict_the_trajectory():
    guess, _ = attacked(federation(0), 14, 3, told=False)
    assert guess.status is Status.UNDETERMINED


def test_a_cell_that_is_wrong_by_more_than_its_rounding_is_told():
    guess, _ = attacked(federation(0), 14, 3, wrong=0.5)
    assert guess.status is Status.UNDETERMINED
    assert not guess.values.size


@pytest.mark.parametrize("seed", seeds(4))
def test_nothing_that_is_called_recovered_is_off_by_more_than_it_says(seed):
    """A column counts as recovered within 5 % of its standard deviation."""
    rng = np.random.default_rng(seed)
    setup = federation(seed, int(rng.integers(2, 5)))
    guess, truth = attacked(setup, int(rng.integers(4, 20)), int(rng.integers(0, 7)), seed=seed)
    if guess.status is Status.RECOVERED:
        off = np.sqrt(np.mean((guess.values - truth) ** 2, axis=0))
        assert (off <= 0.05 * truth.std(axis=0)).all(), (seed, off)


def test_rounded_cells_weigh_less_than_exact_ones():
    cells = (
        KnownCells("fintech", IDS[:1], np.array([0]), np.array([1.0])),
        KnownCells("fintech", IDS[1:2], np.array([1]), np.array([2.0]), 0.005),
    )
    placed = known_cells(Knowledge(cells=cells), "fintech", IDS)
    problem = RotationProblem.of(np.eye(14)[:, :3], placed, None, 1e-9)
    assert problem.weights[0] == 1.0
    assert problem.weights[1] == pytest.approx(1e-3)
    assert problem.coarsest == 0.005


def test_a_scenario_declares_the_decimals():
    drawn = draw_knowledge(KnowledgeSpec(cells=0.5, decimals=1), federation(0), ("bank",), np.random.default_rng(0))
    (cells,) = drawn.cells
    assert cells.within == pytest.approx(0.05)
    np.testing.assert_array_equal(cells.values, np.round(cells.values, 1))
    with pytest.raises(ScenarioError, match="decimals must be from 0 to 15"):
        KnowledgeSpec(decimals=-2)
