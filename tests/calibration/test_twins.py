"""Two tables that share what the adversary has and nothing else: a leak between them is a false one."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.calibration.blocks import planned_runs
from fedleak.calibration.layouts import BANK, CLINIC, FINTECH, HOSPITAL, served
from fedleak.calibration.populations import POPULATIONS, Population
from fedleak.calibration.stage import Stage
from fedleak.calibration.stages import STAGES, stage_named
from fedleak.calibration.twins import Trials, TwinRandomness, Twins, draw_twins, relabelled
from fedleak.core.adversary import SecretKind
from fedleak.core.steps import DATA_ROLES
from fedleak.core.whole.randomness import Randomness
from fedleak.trial.canaries import redraw
from fedleak.trial.decide import decide
from fedleak.trial.play import play

INDEPENDENT = [stage for stage in STAGES if not stage.own_truth]


def twins_of(stage: Stage, table: str = "normal", n: int = 20, seed: int = 3) -> Twins:
    return draw_twins(stage, POPULATIONS[table], n, seed)


@pytest.mark.parametrize("stage", INDEPENDENT, ids=lambda stage: stage.name)
def test_the_adversary_has_the_same_in_both(stage: Stage) -> None:
    twins = twins_of(stage)
    for name in set(stage.adversary.parties) & {BANK, FINTECH, HOSPITAL}:
        seen, true = (federation.party(name).train for federation in (twins.seen, twins.true))
        assert np.array_equal(seen.features, true.features)
        if seen.labels is not None and stage.layout is not served:  # a served model's are of other rows
            assert np.array_equal(seen.labels, true.labels)


@pytest.mark.parametrize("stage", INDEPENDENT, ids=lambda stage: stage.name)
def test_the_victim_differs_wherever_nothing_is_known(stage: Stage) -> None:
    twins = twins_of(stage)
    for seen, true in zip(twins.seen.parties, twins.true.parties, strict=True):
        if seen.role in DATA_ROLES and seen.name not in stage.adversary.parties:
            known = twins.knowledge.cell_mask(seen.name, seen.train.ids, seen.train.features.shape[1:])
            same = seen.train.features == true.train.features
            assert same[known].all()
            assert not same[~known].any()
            assert seen.train.labels is None or not np.array_equal(seen.train.labels, true.train.labels)


def test_known_ranges_hold_both_tables() -> None:
    twins = twins_of(stage_named("columns beside an arbiter"))
    for index, column in enumerate(twins.knowledge.columns):
        both = [table.party(FINTECH).train.features[:, index] for table in (twins.seen, twins.true)]
        assert column.low == min(cells.min() for cells in both)
        assert column.high == max(cells.max() for cells in both)


def test_binary_columns_are_known_to_be_binary() -> None:
    twins = twins_of(stage_named("a served regression"), "binary")
    assert {column.step for column in twins.knowledge.columns} == {1.0}


def test_beside_known_cells_the_rest_is_independent() -> None:
    """Of three thousand pairs with one known cell: what the known one says of both tables aside, nothing is left."""
    rng = np.random.default_rng(0)
    population = Population("test", lambda latent: latent, shift=1.0, slope=1.0, common=0.7)
    own, known = rng.standard_normal((3, 2)), np.zeros((3, 2), dtype=bool)
    known[0, 0] = True
    seen = [population.latent(own, 2, rng) for _ in range(3000)]
    true = [population.latent_beside(own, table, known, rng) for table in seen]
    cells = np.array([np.concatenate([a[~known], b[~known], a[known]]) for a, b in zip(seen, true, strict=True)])
    rest = cells[:, :10] - np.outer(cells[:, 10], cells[:, :10].T @ cells[:, 10] / (cells[:, 10] @ cells[:, 10]))
    between = np.corrcoef(rest.T)[:5, 5:]
    assert np.abs(between).max() < 0.09  # five standard errors
    assert np.allclose(cells[:, :5].var(axis=0), cells[:, 5:10].var(axis=0), rtol=0.15)
    together = np.corrcoef(cells[:, :10].T)[:5, 5:]
    assert np.abs(together).max() > 0.15  # the known cell not set aside, they go together


@pytest.mark.parametrize(("table", "share"), [("imbalanced-5", 0.05), ("imbalanced-1", 0.014), ("normal", 0.5)])
def test_the_share_of_positives_is_the_tables(table: str, share: float) -> None:
    """Of 100 rows at least one is positive: 1 % are 1.4 % then."""
    drawn = [twins_of(stage_named("labels"), table, 100, seed) for seed in range(40)]
    labels = [table.party(BANK).train.labels for twins in drawn for table in (twins.seen, twins.true)]
    assert abs(np.mean(labels) - share) < 0.02
    assert all(0 < np.sum(one) < 100 for one in labels)
    assert len({int(np.sum(one)) for one in labels}) > 2


def test_only_the_coalition_draws_the_same_in_both_runs() -> None:
    first, own = Randomness.published(1, "seen"), Randomness.published(1, "true")
    second = TwinRandomness(own.key, own.seed, (FINTECH,), first)
    drawn = {name: [run.secret(name, "weights").random() for run in (first, second)] for name in (BANK, FINTECH)}
    assert drawn[FINTECH][0] == drawn[FINTECH][1]
    assert drawn[BANK][0] != drawn[BANK][1]
    assert first.public("batches").random() == second.public("batches").random()


def test_an_attack_sees_the_one_and_is_held_against_the_other() -> None:
    stage = stage_named("claimed columns")
    planned = next(run for run in planned_runs(stage.name, "normal", 5) if run.deviation)
    twins = twins_of(stage, n=5)
    task = next(task for task in planned.tasks if task.skip is None)
    independent = Trials(stage, planned, twins, tasks=[task], seed=0, repeats=1).attempts(task)[0]
    same = Twins(twins.seen, twins.seen, twins.knowledge)
    own = Trials(stage, planned, same, tasks=[task], seed=0, repeats=1).attempts(task)[0]
    assert np.array_equal(independent.guess.values, own.guess.values)
    assert independent.scores[0].value < 1.0


def test_a_clinic_has_rows_of_its_own() -> None:
    twins = twins_of(stage_named("averages"), n=5)
    assert len(twins.seen.party(CLINIC).train.ids) == 5
    assert not set(twins.seen.party(CLINIC).train.ids) & set(twins.seen.party(HOSPITAL).train.ids)


@pytest.mark.parametrize("name", ["labels", "labels behind boosted trees"])
def test_redrawn_labels_are_the_truth_without_another_run(name: str) -> None:
    stage = stage_named(name)
    planned = planned_runs(name, "normal", 20)[0]
    twins = twins_of(stage)
    secret = next(task.target for task in planned.tasks if task.target.kind is SecretKind.LABELS)
    drawn = redraw(twins.true, [secret], Randomness.published(1), number=1, n_runs=4)
    before, after = (
        play(federation, Randomness.published(1)).run.truth for federation in (twins.true, drawn.federation)
    )
    told = relabelled(before, drawn).of(secret)
    assert np.array_equal(told.values, after.of(secret).values)
    assert np.array_equal(told.ids, after.of(secret).ids)
    assert np.array_equal(told.ranges, after.of(secret).ranges)
    assert not np.array_equal(told.values, before.of(secret).values)


@pytest.mark.parametrize("name", ["labels", "columns beside an arbiter"])
def test_what_a_report_tells_beside_a_decision_does_not_change_it(name: str) -> None:
    stage = stage_named(name)
    (planned, *_) = planned_runs(name, "correlated", 20)
    chosen = ("residual-sign", "residual-recovery", "score-recovery")
    tasks = [task for task in planned.tasks if task.skip is None and task.attack.name in chosen]
    trials = Trials(stage, planned, twins_of(stage, "correlated"), tasks=tasks, seed=3, repeats=3)
    for task in tasks:
        whole, brief = (decide(task.question(None), trials.attempts(task, brief=brief)) for brief in (False, True))
        assert len(whole.further_scores) >= len(brief.further_scores)
        assert whole.p_value is not None
        assert (brief.outcome, brief.p_value, brief.score) == (whole.outcome, whole.p_value, whole.score)
