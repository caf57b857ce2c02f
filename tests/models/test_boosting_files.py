"""Models that XGBoost and LightGBM saved, read from their bytes."""

from __future__ import annotations

import json
import os
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from fedleak.core.errors import FileFormatError, InputError, UnreadableModelError
from fedleak.models.boosted_model import BoostedModel
from fedleak.models.convert import convert
from fedleak.models.model_files import is_model_file, read_model_file
from fedleak.models.opaque import OpaqueModel
from fedleak.models.xgboost_model import from_xgboost, last_below

LIGHTGBM_FILES = Path(__file__).parent / "lightgbm_files"
RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(300, 4))
ROWS[RNG.random(ROWS.shape) < 0.1] = np.nan
SCORE = np.nan_to_num(ROWS) @ [1.0, -2.0, 0.5, 0.0]
xgboost = pytest.importorskip("xgboost")


def fitted(labels: np.ndarray, **options: object) -> object:
    return xgboost.XGBClassifier(n_estimators=12, max_depth=3, random_state=0, **options).fit(ROWS, labels)


@pytest.mark.parametrize("ending", ["json", "ubj"])
@pytest.mark.parametrize("labels", [(SCORE > 0.3).astype(int), np.digitize(SCORE, [-1, 1])], ids=["two", "three"])
def test_xgboost_files_answer_as_xgboost_does(ending, labels, tmp_path):
    model = fitted(labels)
    path = tmp_path / f"model.{ending}"
    model.save_model(path)
    read = read_model_file(path)
    assert isinstance(read, BoostedModel)
    assert read.n_classes == labels.max() + 1
    np.testing.assert_allclose(read.confidences(ROWS), model.predict_proba(ROWS), atol=1e-6)


def test_rows_that_lie_on_a_threshold_go_where_xgboost_sends_them():
    model = fitted((SCORE > 0.3).astype(int))
    read = convert(model, list("abcd"))
    assert isinstance(read, BoostedModel)
    assert read.columns == tuple("abcd")
    on = np.concatenate([t.astype(np.float64) for t in _thresholds(model)])
    rows = np.repeat(on[:, None], 4, axis=1)
    rows = np.vstack([rows, np.nextafter(rows, np.inf), np.nextafter(rows, -np.inf)])
    np.testing.assert_allclose(read.confidences(rows), model.predict_proba(rows), atol=1e-6)


def _thresholds(model):
    learner = json.loads(bytes(model.get_booster().save_raw("json")))["learner"]
    return [np.array(tree["split_conditions"], dtype=np.float32)
            for tree in learner["gradient_booster"]["model"]["trees"]]  # fmt: skip


def test_the_last_number_below_a_condition_rounds_below_it():
    conditions = RNG.normal(size=1000).astype(np.float32)
    last = last_below(conditions)
    assert (last.astype(np.float32) < conditions).all()
    assert (np.nextafter(last, np.inf).astype(np.float32) >= conditions).all()


def test_trees_after_the_best_round_are_left_out():
    labels = (SCORE + RNG.normal(0, 2, len(SCORE)) > 0).astype(int)
    model = xgboost.XGBClassifier(n_estimators=60, early_stopping_rounds=3, random_state=0)
    model.fit(ROWS[:200], labels[:200], eval_set=[(ROWS[200:], labels[200:])], verbose=False)
    read = convert(model, list("abcd"))
    assert isinstance(read, BoostedModel)
    assert read.n_trees == model.best_iteration + 2  # and one that holds the first score
    np.testing.assert_allclose(read.confidences(ROWS), model.predict_proba(ROWS), atol=1e-6)


def test_what_is_not_read_is_asked():
    model = xgboost.XGBClassifier(n_estimators=3, booster="dart").fit(ROWS, (SCORE > 0).astype(int))
    asked = convert(model, list("abcd"), example=ROWS[:5])
    assert isinstance(asked, OpaqueModel)
    assert "dart" in asked.why
    numbers = xgboost.XGBRegressor(n_estimators=3).fit(ROWS, SCORE)
    with pytest.raises(UnreadableModelError, match="reg:squarederror"):
        from_xgboost(bytes(numbers.get_booster().save_raw("json")))


@pytest.mark.parametrize("name", ["binary", "multiclass"])
def test_lightgbm_files_answer_as_lightgbm_did(name):
    """The files and their answers are LightGBM 4.7.0's; one was trained without missing cells, one with them."""
    answers = json.loads((LIGHTGBM_FILES / "answers.json").read_text())
    rows = np.array(answers["rows"], dtype=np.float64)
    read = read_model_file(LIGHTGBM_FILES / f"{name}.txt")
    assert np.isnan(rows).any()
    np.testing.assert_allclose(read.confidences(rows), answers[name], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "because"),
    [
        (("objective=binary sigmoid:1", "objective=binary sigmoid:2"), "sigmoid:1"),
        (("objective=binary sigmoid:1", "objective=regression"), "multiclass"),
        (("num_cat=0", "num_cat=1"), "split on numbers"),
        (("\ntree_sizes", "\naverage_output\ntree_sizes"), "random forest"),
    ],
)
def test_lightgbm_models_of_other_kinds_are_refused(change, because, tmp_path):
    text = (LIGHTGBM_FILES / "binary.txt").read_text().replace(*change)
    (tmp_path / "model.txt").write_text(text)
    with pytest.raises(UnreadableModelError, match=because):
        read_model_file(tmp_path / "model.txt")


@pytest.mark.parametrize(
    ("content", "because"),
    [
        (b"", "saved by fedleak"),
        (b"text", "saved by fedleak"),
        (b"{}", "learner"),
        (b"{L\x00", "UBJSON"),
        (b'{"learner": {"objective": {"name": "binary:logistic"}}}', "usual keys"),
        (b"tree\nnum_class=x\n", "usual keys"),
        (pickle.dumps({"a": 1}), "pickle"),
    ],
)
def test_damaged_and_strange_files_are_one_line(content, because, tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=because) as raised:
        read_model_file(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_name_in_a_file_makes_no_second_line(tmp_path):
    path = tmp_path / "model.json"
    learner = {"objective": {"name": "x"}, "gradient_booster": {"name": "gb\nfedleak: all is well\x1b[2J"}}
    path.write_text(json.dumps({"learner": learner}))
    with pytest.raises(UnreadableModelError, match="must be gbtree") as raised:
        read_model_file(path)
    assert str(raised.value).isprintable()


def test_a_small_file_takes_little_memory():
    """Asked for the bound, a gigabyte, Python sets it aside: that failed wherever memory was limited."""
    tracemalloc.start()
    try:
        read_model_file(LIGHTGBM_FILES / "binary.txt")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_pipe_is_not_waited_for_and_not_emptied(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert not is_model_file(tmp_path / "pipe")
    with pytest.raises(FileFormatError, match="regular file"):
        read_model_file(tmp_path / "pipe")


def test_a_tree_that_points_outside_is_refused(tmp_path):
    text = (LIGHTGBM_FILES / "binary.txt").read_text()
    line = next(part for part in text.splitlines() if part.startswith("split_feature="))
    (tmp_path / "model.txt").write_text(text.replace(line, line.replace(line[-1], "9"), 1))
    with pytest.raises(InputError, match="columns"):
        read_model_file(tmp_path / "model.txt")
