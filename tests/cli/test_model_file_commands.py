"""``fedleak audit model.json``: a model that a library saved, and a table that it predicts, without a scenario."""

from __future__ import annotations

import json
import pickle
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from test_own_table_commands import call

from fedleak.models.interpret import save_model
from fedleak.models.score_models import LinearModel, Link

LIGHTGBM = Path(__file__).parents[1] / "models" / "lightgbm_files" / "binary.txt"
WHO = ("--target", "sick", "--mine", "ward=age", "--partner", "visits,dose")
QUICK = ("--repeats", "1", "--attack", "equality-solving")
ROWS = np.random.default_rng(5).normal(size=(30, 3))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    lines = [f"{i},{','.join(map(str, row))},{int(row.sum() > 0)}" for i, row in enumerate(ROWS)]
    (tmp_path / "people.csv").write_text("\n".join(["id,dose,age,visits,sick", *lines]) + "\n")
    weights = np.array([[1.0, -2.0, 0.5], [0.3, 0.1, -1.0], [-1.0, 0.4, 0.9]])
    model = LinearModel(("age", "visits", "dose"), weights, np.zeros(3), Link.SOFTMAX)
    save_model(model, tmp_path / "linear.npz")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def audited(*words: str) -> dict:
    done = call("audit", *words, "--json", "-")
    assert done.exception is None, done.exception
    return json.loads(done.stdout)


@pytest.mark.usefixtures("folder")
def test_hidden_columns_are_solved_from_the_predictions_of_a_file_and_again_by_what_was_written():
    told = audited("linear.npz", "--table", "people.csv", *WHO, *QUICK, "--out", "first")
    found = told["findings"][0]
    assert (found["adversary"], found["secret"]["owner"], found["outcome"]) == (["ward"], "partner", "leak")
    assert found["cells_recovered"] == 1.0  # three classes fix two hidden columns
    assert told["scenario"]["data"]["drop"] == ["id"]
    again = audited(*shlex.split(told["environment"]["command"])[2:], "--out", "second")
    assert [one["value"] for one in again["findings"]] == [one["value"] for one in told["findings"]]
    assert call("audit", "--resume", "first").exception is None
    call("audit", "linear.npz", "--table", "people.csv", *WHO, *QUICK, "--out", "third")
    drafted = audited("third/drafted.toml", *QUICK, "--out", "fourth")
    assert drafted["findings"][0]["cells_recovered"] == 1.0


@pytest.mark.usefixtures("folder")
def test_who_gets_the_predictions_is_the_adversary():
    told = audited("linear.npz", "--table", "people.csv", *WHO, "--labels", "partner", *QUICK, "--out", "out")
    assert told["findings"][0]["adversary"] == ["partner"]
    assert told["findings"][0]["secret"] == {"kind": "features", "owner": "ward"}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["model.json", "model.ubj"])
def test_a_file_of_xgboost_is_recognised_by_its_content(name):
    xgboost = pytest.importorskip("xgboost")
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv("people.csv")
    fitted = xgboost.XGBClassifier(n_estimators=3, max_depth=2)
    fitted.fit(table[["age", "visits", "dose"]], table["sick"]).save_model(name)
    told = audited(
        name, "--table", "people.csv", *WHO, "--repeats", "1", "--attack", "posterior-inference", "--out", "out"
    )
    assert told["scenario"]["settings"]["model"] == "boosted"
    assert told["findings"][0]["outcome"] in ("leak", "no_leak"), told["findings"][0]["why"]


def test_a_file_of_lightgbm_is_recognised_whatever_its_name(folder):
    shutil.copy(LIGHTGBM, folder / "churn")
    text = (folder / "people.csv").read_text().replace("dose,age,visits", "Column_0,Column_1,Column_2")
    (folder / "people.csv").write_text(text)
    words = ("--target", "sick", "--mine", "Column_0", "--repeats", "1", "--attack", "grid-match", "--out", "out")
    told = audited("churn", "--table", "people.csv", *words)
    assert told["scenario"]["parties"][1]["columns"] == ["Column_1", "Column_2"]


def test_rows_with_missing_cells_are_left_out_and_said(folder):
    lines = (folder / "people.csv").read_text().splitlines()
    lines[3] = "2,,1.0,1.0,0"
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    done = call("audit", "linear.npz", "--table", "people.csv", *WHO, *QUICK, "--out", "out")
    assert done.exception is None
    assert "rows with missing cells are left out" in done.stderr
    assert "left out, for the model does not take it: id" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--table must name the table that the model predicts"),
        (("--table", "people.csv"), "--target must name the column of labels"),
        (("--table", "people.csv", "--target", "id", "--mine", "age"), "--target must have the model's 3 classes"),
        (("--table", "people.csv", "--target", "age"), "must not be an input of the model"),
        (("--table", "people.csv", "--target", "sick"), "--mine or --partner must say who holds which columns"),
        (("--table", "few.csv", *WHO), "--table must have 20 rows or more"),
        (("--table", "texts.csv", *WHO), "'visits' holds texts"),
        (("--table", "other.csv", *WHO), "the model takes 'age'"),
    ],
)
def test_what_is_missing_or_wrong_is_said_in_a_line(folder, words, message):
    lines = (folder / "people.csv").read_text().splitlines()
    (folder / "few.csv").write_text("\n".join(lines[:5]) + "\n")
    (folder / "texts.csv").write_text("age,visits,dose,sick\n" + "1,often,2,0\n2,seldom,3,1\n" * 15)
    (folder / "other.csv").write_text("\n".join(["id,dose,years,visits,sick", *lines[1:]]) + "\n")
    assert message in str(call("audit", "linear.npz", *words, "--out", "out").exception)


def test_other_files_are_refused_by_what_they_are(folder):
    (folder / "m.pkl").write_bytes(pickle.dumps({"a": 1}))
    (folder / "report.json").write_text('{"findings": []}')
    words = ("--table", "people.csv", *WHO)
    assert "looks like a pickle" in str(call("audit", "m.pkl", *words).exception)
    assert "must have a learner" in str(call("audit", "report.json", *words).exception)
    assert "a table itself" in str(call("audit", "people.csv", *words).exception)
