"""Missing cells that stay missing: scaled around, dealt out, scored nowhere, refused where nobody can use them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedleak.auditing.declared_data import build_federation
from fedleak.auditing.declared_knowledge import draw_knowledge
from fedleak.auditing.scenario import KnowledgeSpec
from fedleak.auditing.scenario_file import load_scenario
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status
from fedleak.core.errors import ScenarioError
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.truth import SecretValues
from fedleak.data import load_table
from fedleak.data.partition.by_correlation import absolute_correlation
from fedleak.data.spec import DataSpec
from fedleak.metrics import metrics_for
from fedleak.metrics.metric import Answered
from fedleak.trial.play import play

SCENARIO = """
[data]
source = "holes.csv"
target = "label"
scaling = "minmax"
missing = "keep"
[federation]
protocol = "{protocol}"
cipher = "sealed"
[[federation.parties]]
name = "bank"
role = "active"
columns = ["a"]
[[federation.parties]]
name = "fintech"
role = "passive"
columns = ["b", "c"]
[[adversary]]
parties = ["bank"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ["a,b,c,label"]
    for row in range(80):
        b = "" if row % 4 == 0 else f"{10 * rng.random():.3f}"
        lines.append(f"{rng.random():.3f},{b},{'' if row % 5 == 0 else 'xy'[row % 2]},{int(row % 4 == 0)}")
    (tmp_path / "holes.csv").write_text("\n".join(lines))
    for protocol in ("secureboost", "vertical-logistic"):
        (tmp_path / f"{protocol}.toml").write_text(SCENARIO.format(protocol=protocol))
    return tmp_path


@pytest.mark.parametrize("scaling", ["none", "standard", "minmax", "minmax+max-row-norm"])
def test_missing_cells_stay_where_they_are(folder, scaling):
    table = load_table(DataSpec(source="holes.csv", target="label", missing="keep", scaling=scaling), folder=folder)
    absent = np.isnan(table.values)
    assert absent.sum(axis=0).tolist() == [0, 20, 16]
    assert absent[::4, 1].all()
    assert table.encoding[1].filled_with is None
    assert table.encoding[1].n_missing == 20
    if scaling == "minmax":
        assert (np.nanmin(table.values, axis=0), np.nanmax(table.values, axis=0)) == (
            pytest.approx([0, 0, 0]),
            pytest.approx([1, 1, 1]),
        )
    assert np.isfinite(absolute_correlation(table)).all()


def test_one_hot_columns_of_a_missing_category_are_missing(folder):
    path = folder / "holes.csv"
    path.write_text(path.read_text().replace(",y,", ",z,", 3))
    spec = DataSpec(source="holes.csv", target="label", missing="keep", scaling="none", categorical="one-hot")
    table = load_table(spec, folder=folder)
    assert np.isnan(table.values).sum(axis=0).tolist() == [0, 20, 16, 16, 16]
    assert np.nansum(table.values[:, 2:], axis=1).tolist() == [float(row % 5 != 0) for row in range(80)]


def test_boosted_trees_learn_from_what_is_missing(folder):
    federation = build_federation(load_scenario(folder / "secureboost.toml"))
    run = play(federation, Randomness.published(0)).run
    assert run.utility["train_accuracy"] == 1.0
    assert np.isnan(run.truth.of(Secret(SecretKind.FEATURES, "fintech")).values).any()
    known = draw_knowledge(KnowledgeSpec(ranges=True, kinds=True), federation, ("bank",), np.random.default_rng(0))
    assert [(column.low, column.high) for column in known.columns] == [pytest.approx((0, 1))] * 2


def test_other_protocols_refuse_them(folder):
    scenario = load_scenario(folder / "vertical-logistic.toml")
    with pytest.raises(ScenarioError, match=r'data\.missing must be "mean" or "drop" for vertical-logistic'):
        build_federation(scenario)


@pytest.mark.parametrize("kind", [SecretKind.FEATURES, SecretKind.RANGES])
def test_a_missing_cell_is_scored_nowhere(kind):
    rng = np.random.default_rng(0)
    values = rng.random((30, 3))
    values[::3, 0] = values[:, 2] = np.nan
    truth = SecretValues(np.arange(30), ("a", "b", "c"), values, np.tile([0.0, 1.0], (3, 1)))
    guess = Guess(Secret(kind, "x"), Status.RECOVERED, np.arange(30), np.nan_to_num(values, nan=0.3))
    answered = Answered(guess, truth.filled(), Knowledge(), absent=truth.absent)
    scores = [metric.score(answered, rng=rng) for metric in metrics_for(kind, None)]
    told = {score.metric: score for score in scores if score is not None}
    assert told["cells-recovered"].value == 1.0
    assert told["mean-error"].value == 0.0
    assert told["mean-error"].baseline > 0.1
    assert {score.n for score in told.values()} == {50}
