"""Models that can be asked and not read."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer
from sklearn.svm import SVC

from fedleak.core.errors import InputError, UnreadableModelError
from fedleak.models import OpaqueModel, convert, interpret
from fedleak.models.interpret import save_model

COLUMNS = ("age", "income", "deposit", "visits")
RNG = np.random.default_rng(2)
ROWS = RNG.random((60, 4))
LABELS = (ROWS @ [1.0, 2.0, -1.0, 0.5] * 1.2).astype(int).clip(0, 2)


def fitted(estimator):
    return estimator.fit(ROWS, LABELS)


@pytest.mark.parametrize(
    "estimator",
    [
        GradientBoostingClassifier(n_estimators=5, random_state=0),
        KNeighborsClassifier(5),
        make_pipeline(QuantileTransformer(n_quantiles=20), KNeighborsClassifier(5)),
        make_pipeline(MinMaxScaler(clip=True), GradientBoostingClassifier(n_estimators=3, random_state=0)),
    ],
    ids=["boosting", "neighbours", "pipeline", "clipped"],
)
def test_an_estimator_that_cannot_be_read_is_asked(estimator):
    model = convert(fitted(estimator), COLUMNS)
    assert isinstance(model, OpaqueModel)
    assert model.n_classes == 3
    np.testing.assert_allclose(model.confidences(ROWS), estimator.predict_proba(ROWS))
    turned = model.arrange(ROWS[:, ::-1], COLUMNS[::-1])
    np.testing.assert_allclose(model.confidences(turned), estimator.predict_proba(ROWS))
    assert model.confidences(ROWS[:0]).shape == (0, 3)


def test_a_scaler_before_it_changes_its_inputs():
    model = convert(fitted(KNeighborsClassifier(3)), COLUMNS)
    shift, scale = np.array([0.0, 1.0, -2.0, 0.5]), np.array([1.0, 2.0, 3.0, 0.5])
    np.testing.assert_allclose(
        model.behind_scaler(shift, scale).confidences(ROWS * scale + shift), model.confidences(ROWS)
    )


def test_a_torch_module_of_any_shape_is_asked_without_dropout_and_left_as_it_was():
    torch = pytest.importorskip("torch")

    class Gated(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.gate, self.last = (torch.nn.Linear(4, 6), torch.nn.Linear(4, 6), torch.nn.Linear(6, 3))
            self.drop = torch.nn.Dropout(0.5)

        def forward(self, rows):
            return self.last(self.drop(torch.tanh(self.first(rows)) * torch.sigmoid(self.gate(rows))))

    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = Gated()
    net.drop.eval()  # a part in a mode of its own keeps it
    model = convert(net, COLUMNS)
    assert isinstance(model, OpaqueModel)
    assert net.training
    assert not net.drop.training
    net.eval()
    with torch.no_grad():
        expected = torch.softmax(net(torch.tensor(ROWS, dtype=torch.float32)), dim=1).numpy()
    np.testing.assert_allclose(model.confidences(ROWS), expected, atol=1e-6)


def test_a_module_with_one_output_is_a_score_or_a_confidence_of_the_second_class():
    torch = pytest.importorskip("torch")

    class Sum(torch.nn.Module):
        def __init__(self, link) -> None:
            super().__init__()
            self.link = link

        def forward(self, rows):
            return self.link(rows.sum(dim=1) - 6.0)

    expected = 1 / (1 + np.exp(6.0 - ROWS.sum(axis=1)))
    for link in (torch.sigmoid, torch.nn.Identity()):
        found = convert(Sum(link), COLUMNS, example=ROWS).confidences(ROWS)
        np.testing.assert_allclose(found, np.column_stack([1 - expected, expected]), atol=1e-6)
    with pytest.raises(InputError, match="sum to 1, or scores"):
        convert(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Sigmoid()), COLUMNS)


def two_confidences(first):
    return lambda rows: np.column_stack([first(rows), 1 - first(rows)])


def raising(rows):
    raise RuntimeError(f"no\nservice for {rows.shape[1]} columns")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (raising, "raising must answer 50 rows of 4 columns; it raised RuntimeError: no service for 4 columns"),
        (two_confidences(lambda rows: rows[:, 0] * np.nan), "must be finite"),
        (lambda rows: np.zeros((len(rows) + 1, 2)) + 0.5, r"must have shape \(50, 2\)"),
        (lambda rows: np.zeros((len(rows), 2, 2)), "must be a table"),
        (lambda rows: np.full((len(rows), 3), 0.4), "must sum to 1 in every row; got a row that sums to 1.2"),
        (two_confidences(lambda rows: np.full(len(rows), 3.0)), "must lie between 0 and 1; got -2 to 3"),
        (lambda rows: ["a"] * len(rows), "could not convert"),
        (SVC(), "got sklearn.svm._classes.SVC; fit it in a CalibratedClassifierCV"),
        (GradientBoostingClassifier, "got the class GradientBoostingClassifier"),
        (GradientBoostingClassifier(), "not fitted"),
        ({"weights": 1}, "got builtins.dict"),
    ],
)
def test_what_is_wrong_with_a_model_is_one_clear_line(model, said):
    with pytest.raises(InputError, match=said) as caught:
        convert(model, COLUMNS)
    assert "\n" not in str(caught.value)


def test_names_must_be_known_and_fit():
    with pytest.raises(InputError, match="columns must name the inputs"):
        convert(lambda rows: np.full((len(rows), 2), 0.5))
    with pytest.raises(InputError, match="must name the 4 inputs of KNeighborsClassifier; got 2"):
        convert(fitted(KNeighborsClassifier(3)), COLUMNS[:2])


def test_a_description_is_no_model_and_no_file(tmp_path):
    model = convert(fitted(KNeighborsClassifier(3)), COLUMNS)
    spec = model.to_spec()
    assert not spec.arrays
    assert "KNeighborsClassifier" in spec.config.values()
    with pytest.raises(UnreadableModelError, match="served as an object and is not in the transcript"):
        interpret(spec)
    with pytest.raises(UnreadableModelError, match=r"KNeighborsClassifier cannot be written.*own_model"):
        save_model(model, tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())
