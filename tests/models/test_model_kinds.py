"""Every kind of model: its confidences, its spec, and the user's own estimator read the same way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedleak.core.errors import FileFormatError, InputError
from fedleak.core.payload import ModelSpec
from fedleak.models import LinearModel, Link, Model, TreeModel, TreeOutput, convert, interpret
from fedleak.models.interpret import load_model, save_model

COLUMNS = ("age", "income", "deposit", "visits")


def _table(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    rows = rng.random((300, 4)).astype(np.float32).astype(np.float64)  # scikit-learn's trees compare in float32
    labels = np.clip((rows @ [1.0, 2.0, -1.0, 0.5] * 1.5).astype(int), 0, n_classes - 1)
    return rows, labels


def _estimators() -> list[tuple[str, object]]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    return [
        ("logistic", LogisticRegression()),
        ("tree", DecisionTreeClassifier(max_depth=4, random_state=0)),
        ("forest", RandomForestClassifier(n_estimators=7, max_depth=3, random_state=0)),
        ("network", MLPClassifier((6, 5), max_iter=20, random_state=0)),
        ("scaled logistic", make_pipeline(StandardScaler(), MinMaxScaler(), LogisticRegression())),
        ("scaled network", make_pipeline(StandardScaler(), MLPClassifier((6,), max_iter=20, random_state=0))),
        ("scaled tree", make_pipeline(MinMaxScaler(), DecisionTreeClassifier(max_depth=3, random_state=0))),
    ]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("name", "estimator"), _estimators(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_an_estimator_of_scikit_learn_is_served_with_its_own_probabilities(
    name: str, estimator: object, n_classes: int
) -> None:
    estimator = dict(_estimators())[name]
    rows, labels = _table(n_classes)
    estimator.fit(rows, labels)  # type: ignore[attr-defined]
    model = convert(estimator, COLUMNS)
    np.testing.assert_allclose(model.confidences(rows), estimator.predict_proba(rows), atol=1e-9)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["tree", "forest"])
def test_votes_are_one_hot_leaves_and_not_predict_proba(kind: str) -> None:
    rows, labels = _table(3)
    estimator = dict(_estimators())[kind]
    estimator.fit(rows, labels)  # type: ignore[attr-defined]
    votes = convert(estimator, COLUMNS, output=TreeOutput.ONE_HOT).confidences(rows)
    trees = [estimator] if kind == "tree" else estimator.estimators_  # type: ignore[attr-defined]
    expected = np.mean([np.eye(3)[tree.predict(rows).astype(int)] for tree in trees], axis=0)
    np.testing.assert_allclose(votes, expected)
    assert np.abs(votes - estimator.predict_proba(rows)).max() > 0.01  # type: ignore[attr-defined]


def test_a_torch_sequential_is_read_as_a_network() -> None:
    torch = pytest.importorskip("torch")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Linear(4, 6),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.5),
            torch.nn.Linear(6, 3),
            torch.nn.Softmax(dim=1),
        ).eval()
    rows, _ = _table(3)
    expected = net(torch.tensor(rows, dtype=torch.float32)).detach().numpy()
    np.testing.assert_allclose(convert(net, COLUMNS).confidences(rows), expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["logistic", "tree", "forest", "network"])
def test_a_model_survives_its_spec_and_its_file(kind: str, tmp_path: Path) -> None:
    rows, labels = _table(3)
    estimator = dict(_estimators())[kind]
    estimator.fit(rows, labels)  # type: ignore[attr-defined]
    model = convert(estimator, COLUMNS, output=TreeOutput.ONE_HOT)
    save_model(model, tmp_path / "model.npz")
    again: list[Model] = [interpret(model.to_spec()), load_model(tmp_path / "model.npz")]
    for copy in again:
        assert copy.columns == COLUMNS
        np.testing.assert_array_equal(copy.confidences(rows), model.confidences(rows))
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


@pytest.mark.parametrize("kind", ["tree", "forest"])
def test_counts_of_training_rows_are_kept_and_a_file_without_them_loads(kind: str, tmp_path: Path) -> None:
    rows, labels = _table(3)
    estimator: Any = dict(_estimators())[kind]
    estimator.fit(rows, labels)
    model = convert(estimator, COLUMNS)
    fitted = estimator.estimators_ if kind == "forest" else [estimator]
    expected = np.concatenate([tree.tree_.n_node_samples for tree in fitted])
    save_model(model, tmp_path / "model.npz")
    np.testing.assert_array_equal(load_model(tmp_path / "model.npz").to_spec().arrays["counts"], expected)
    spec = model.to_spec()
    without = ModelSpec(spec.kind, spec.config, {name: a for name, a in spec.arrays.items() if name != "counts"})
    older = interpret(without)
    np.testing.assert_array_equal(older.confidences(rows), model.confidences(rows))
    assert "counts" not in older.to_spec().arrays


def test_counts_that_do_not_add_up_are_refused() -> None:
    rows, labels = _table(3)
    estimator: Any = dict(_estimators())["tree"]
    tree = convert(estimator.fit(rows, labels), COLUMNS)
    assert isinstance(tree, TreeModel)
    assert tree.counts is not None
    for wrong in (tree.counts + 1, tree.counts[:-1], -tree.counts):
        with pytest.raises(InputError, match="counts"):
            replace(tree, counts=wrong)


def test_columns_go_by_name_whatever_their_order() -> None:
    rows, _ = _table(2)
    model = LinearModel(COLUMNS, np.array([[1.0, -2.0, 3.0, 0.5]]), np.zeros(1), Link.SIGMOID)
    order = [2, 0, 3, 1]
    shuffled = model.arrange(rows[:, order], [COLUMNS[i] for i in order])
    np.testing.assert_array_equal(model.confidences(shuffled), model.confidences(rows))
    with pytest.raises(InputError, match="depositt"):
        model.positions(["depositt"])
    with pytest.raises(InputError, match="income"):
        model.arrange(rows[:, :3], ["age", "deposit", "visits"])


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04broken"])
def test_a_file_that_is_no_model_gives_one_clear_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"model\.npz"):
        load_model(path)


def test_pickled_arrays_are_never_loaded(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    np.savez(path, header=np.array([{"kind": "linear"}], dtype=object))
    with pytest.raises(FileFormatError, match="without pickled objects"):
        load_model(path)


def test_an_unfitted_or_foreign_model_is_refused() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    with pytest.raises(InputError, match="fitted"):
        convert(LogisticRegression())
    with pytest.raises(InputError, match="SVC"):
        convert(SVC())
    with pytest.raises(InputError, match=r"dict"):
        convert({"weights": 1})
