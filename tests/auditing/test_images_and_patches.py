"""Scenarios that name images, and which part of the picture each party holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fedleak.auditing.declared_data import build_federation, sketch_facts
from fedleak.auditing.declared_knowledge import draw_knowledge
from fedleak.auditing.planner import plan_audit
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario import KnowledgeSpec
from fedleak.auditing.scenario_file import load_scenario, parse_scenario
from fedleak.core.errors import DataError, ScenarioError
from fedleak.core.finding import Outcome
from fedleak.core.whole.run import MemorySink
from fedleak.protocols import PROTOCOLS
from fedleak.trial.progress import Silent
from scenarios import KEY

SCENARIO = """
title = "halves of digits"
[data]
source = "{source}"
task = "binary"
classes = [0, 1]
scaling = "pixels"
max_rows = 60
[federation]
protocol = "vertical-logistic"
cipher = "sealed"
batch_size = 8
epochs = 1
{partition}
[[federation.parties]]
name = "left"
role = "active"
{left}
[[federation.parties]]
name = "right"
role = "passive"
{right}
[[adversary]]
parties = ["right"]
attacks = ["residual-sign"]
"""
HALVES = '[federation.partition]\nby = "patches"\ngrid = [1, 2]'


def scenario(source="sklearn:digits", partition=HALVES, left="patches = [1]", right="patches = [2]"):
    return parse_scenario(SCENARIO.format(source=source, partition=partition, left=left, right=right))


def pictures(folder: Path, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (30, *shape), dtype=np.uint8)
    np.savez(folder / "set.npz", x=x, y=np.arange(30) % 2)
    return x


def test_halves_become_tables_of_named_pixels() -> None:
    left, right = build_federation(scenario()).parties
    assert left.columns[:5] == ("pixel_0_0", "pixel_0_1", "pixel_0_2", "pixel_0_3", "pixel_1_0")
    assert right.columns[0] == "pixel_0_4"
    assert left.train.features.shape == (48, 32)
    assert right.test is not None
    assert right.test.features.shape == (12, 32)
    assert left.train.labels is not None
    assert right.train.labels is None
    assert 0.9 < max(left.train.features.max(), right.train.features.max()) <= 1.0


def test_an_audit_of_halves_runs_to_its_end() -> None:
    work = Audit(scenario(), plan_audit(scenario()), lambda _: MemorySink(), Silent(), run_key=KEY)
    work.run()
    found = [finding for finding in work.report().findings if finding.attack == "residual-sign"]
    assert [finding.outcome for finding in found] == [Outcome.LEAK]
    assert [column.column for column in found[0].columns] == ["label"]
    assert found[0].columns[0].n == 48


def test_colour_images_of_a_file_beside_the_scenario(tmp_path: Path) -> None:
    x = pictures(tmp_path, 4, 6, 3)
    grid = HALVES.replace("[1, 2]", "[2, 2]")
    text = SCENARIO.format(source="set.npz", partition=grid, left="patches = [1, 2]", right="patches = [4]")
    text = text.replace("grid = [2, 2]", 'grid = [2, 2]\nunassigned = "drop"')
    (tmp_path / "s.toml").write_text(text)
    top, corner = build_federation(load_scenario(tmp_path / "s.toml")).parties
    assert top.columns[:4] == ("r0c0ch0", "r0c0ch1", "r0c0ch2", "r0c1ch0")
    assert top.columns[-1] == "r1c5ch2"
    assert np.array_equal(
        corner.train.features, x[corner.train.ids][:, 2:, 3:].reshape(len(corner.train.ids), -1) / 255
    )


def test_a_protocol_that_takes_images_gets_them_in_shape(monkeypatch) -> None:
    monkeypatch.setattr(PROTOCOLS.get("vertical-logistic"), "shaped_cells", True)
    left, right = build_federation(scenario()).parties
    assert left.train.features.shape == (48, 8, 4, 1)
    knowledge = draw_knowledge(
        KnowledgeSpec(cells=0.25, ranges=True, sample=2),
        build_federation(scenario()),
        ("left",),
        np.random.default_rng(0),
    )
    mask = knowledge.cell_mask("right", right.train.ids, (8, 4, 1))
    assert mask.sum() == 0.25 * mask.size
    assert np.array_equal(np.sort(right.train.features[mask]), np.sort(knowledge.cells[0].values))
    assert len(knowledge.columns) == 32
    grid = HALVES.replace("[1, 2]", "[2, 2]")
    with pytest.raises(DataError, match=r"patches of 'left' must make a rectangle; got \[1, 2, 3\]"):
        build_federation(scenario(partition=grid, left="patches = [1, 2, 3]", right="patches = [4]"))
    third = HALVES.replace("[1, 2]", "[1, 3]")
    with pytest.raises(DataError, match=r"patches of 'left' must make a rectangle; got \[1, 3\]"):
        build_federation(scenario(partition=third, left="patches = [1, 3]", right="patches = [2]"))


def test_a_party_of_labels_alone_needs_no_patch() -> None:
    left, right = build_federation(scenario(left="", right="patches = [1, 2]")).parties
    assert left.columns == ()
    assert len(right.columns) == 64


def test_without_data_the_number_of_pixels_is_unknown() -> None:
    assert [party.n_features for party in sketch_facts(scenario())] == [None, None]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"left": ""}, "no party holds 1 of 2"),
        ({"right": ""}, r"'right' must name its patches, such as patches = \[1\]"),
        ({"right": "patches = [1]"}, "a patch must belong to one party; got 1 twice"),
        ({"right": "patches = [3]"}, "a patch must be from 1 to 2"),
        ({"right": 'patches = ["right"]'}, "must be a whole number"),
        ({"right": "patches = [2]\nshare = 0.5"}, "columns, n_columns, share or patches, one of them"),
        ({"partition": ""}, 'must have no patches unless federation.partition.by = "patches"'),
        ({"partition": '[federation.partition]\nby = "patches"'}, "grid must be given with"),
        ({"partition": "[federation.partition]\ngrid = [1, 2]"}, "left out otherwise"),
        ({"partition": HALVES.replace("[1, 2]", "[2]")}, "grid must be two whole numbers"),
        ({"partition": HALVES.replace("[1, 2]", "[0, 2]")}, "grid must be two whole numbers"),
    ],
)
def test_mistakes_are_told_before_data_are_read(change: dict[str, str], words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        scenario(**change)


def told(action: Callable[[], object]) -> str:
    with pytest.raises(DataError) as caught:
        action()
    return str(caught.value)


def test_a_table_is_no_picture() -> None:
    wine = SCENARIO.format(source="sklearn:wine", partition=HALVES, left="patches = [1]", right="patches = [2]")
    assert "sklearn:wine, which is a table" in told(lambda: build_federation(parse_scenario(wine)))
    scaled = parse_scenario(wine.replace('"pixels"', '"none"'))
    assert "only whole images can be cut into patches" in told(lambda: build_federation(scaled))
    dropped = scenario_text_with_drop()
    assert "which is a table" in told(lambda: build_federation(parse_scenario(dropped)))
    thin = HALVES.replace("[1, 2]", "[1, 9]")
    many = "patches = [1, 2, 3, 4, 5, 6, 7, 8]"
    assert "a pixel for each patch" in told(
        lambda: build_federation(scenario(partition=thin, left=many, right="patches = [9]"))
    )


def scenario_text_with_drop() -> str:
    text = SCENARIO.format(source="sklearn:digits", partition=HALVES, left="patches = [1]", right="patches = [2]")
    return text.replace("max_rows", 'drop = ["pixel_0_0"]\nmax_rows')


def test_an_image_set_that_is_not_there_is_one_clear_line(monkeypatch) -> None:
    monkeypatch.delenv("FEDLEAK_DATA", raising=False)
    words = told(lambda: build_federation(scenario(source="mnist")))
    assert "MNIST" in words
    assert "FEDLEAK_DATA is not set" in words
