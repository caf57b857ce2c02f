"""``audit_model`` on models and frames as people have them: what leaks is found, whatever library they are of."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fedleak.adapters.own_model import audit_model
from fedleak.auditing.scenario import KnowledgeSpec
from fedleak.core.errors import InputError
from fedleak.core.finding import Outcome

RNG = np.random.default_rng(8)
N = 150
NUMBERS = pd.DataFrame({name: RNG.random(N) * 10 for name in ("age", "income", "deposit")}).assign(
    visits=RNG.integers(0, 4, N).astype(float)
)
CLASSES = np.digitize(NUMBERS["deposit"] + NUMBERS["visits"] + 0.3 * NUMBERS["age"], [6.0, 8.5])
NOTES = np.array(["late twice", "good customer", "moved house", "late once", "asked for more"])


def people(missing: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, a category, yes or no and a free text; the class follows from all of them."""
    city, note = RNG.integers(0, 3, N), RNG.integers(0, len(NOTES), N)
    frame = NUMBERS[["age", "deposit"]].assign(
        city=pd.Categorical(np.array(["Bern", "Oslo", "Rome"])[city]), note=NOTES[note], owns=RNG.random(N) > 0.5
    )
    score = frame["deposit"] - 5 + 2 * (city == 1) + (note == 0) + frame["owns"]
    if missing:
        frame.loc[RNG.random(N) < 0.15, "deposit"] = np.nan
        frame.loc[RNG.random(N) < 0.15, "city"] = np.nan
    return frame, np.where(score > 1, "good", "bad")


def prepared_logistic() -> object:
    columns = ColumnTransformer([
        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["age", "deposit"]),
        ("city", OneHotEncoder(handle_unknown="ignore"), ["city", "owns"]),
        ("words", CountVectorizer(), "note"),
    ])  # fmt: skip
    return make_pipeline(columns, LogisticRegression())


def outcomes(report):
    return {finding.attack: finding for finding in report.findings}


def torch_module() -> object:
    torch = pytest.importorskip("torch")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))


def support_vectors() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of later versions, for SVC(probability=True)
        return SVC(probability=True, random_state=0).fit(NUMBERS, CLASSES)


def boosted_by_xgboost() -> object:
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=20, max_depth=3, random_state=0).fit(NUMBERS, CLASSES)


MODELS = {
    "one-vs-rest": lambda: OneVsRestClassifier(LogisticRegression()).fit(NUMBERS, CLASSES),
    "SVC": support_vectors,
    "naive Bayes": lambda: GaussianNB().fit(NUMBERS, CLASSES),
    "nearest neighbours": lambda: KNeighborsClassifier(15).fit(NUMBERS, CLASSES),
    "decision tree": lambda: DecisionTreeClassifier(max_depth=5, random_state=0).fit(NUMBERS, CLASSES),
    "random forest": lambda: RandomForestClassifier(30, random_state=0).fit(NUMBERS, CLASSES),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=20, random_state=0).fit(NUMBERS, CLASSES),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=15, random_state=0).fit(NUMBERS, CLASSES),
    "XGBoost": boosted_by_xgboost,
    "MLP": lambda: MLPClassifier((20,), solver="lbfgs", alpha=1.0, max_iter=2000, random_state=0).fit(NUMBERS, CLASSES),
    "torch module": torch_module,
}


@pytest.mark.parametrize("name", MODELS)
def test_a_hidden_number_leaks_by_models_of_every_library(name):
    report = audit_model(MODELS[name](), NUMBERS, CLASSES, hidden=["deposit"], attacks=["posterior-inference"])
    found = outcomes(report)["posterior-inference"]
    assert found.outcome is Outcome.LEAK, found.why
    assert found.score.value < 0.9 * found.score.baseline


@pytest.mark.parametrize("name", ["naive Bayes", "gradient boosting", "histogram boosting", "XGBoost", "random forest"])
def test_a_hidden_column_of_few_values_is_found_by_asking(name):
    report = audit_model(MODELS[name](), NUMBERS, CLASSES, hidden=["visits"], attacks=["grid-match"])
    assert outcomes(report)["grid-match"].outcome is Outcome.LEAK


def test_a_pipeline_with_categories_and_texts_is_read_as_the_linear_model_that_it_is():
    frame, labels = people()
    model = prepared_logistic().fit(frame, labels)
    report = audit_model(model, frame[frame.columns[::-1]], labels, hidden=["deposit"], attacks=["equality-solving"])
    assert report.findings[0].outcome is Outcome.LEAK
    assert report.findings[0].cells_recovered == 1.0


def test_missing_cells_and_hidden_categories_are_asked_for():
    frame, labels = people(missing=True)
    model = prepared_logistic().fit(frame, labels)
    report = audit_model(model, frame, labels, hidden=["city"], attacks=["grid-match", "posterior-inference"])
    assert outcomes(report)["grid-match"].outcome is Outcome.LEAK
    hidden = audit_model(model, frame, labels, hidden=["deposit"], attacks=["posterior-inference"])
    assert {column.column for column in hidden.findings[0].columns} == {"deposit", "deposit is missing"}
    assert hidden.findings[0].outcome is Outcome.LEAK


def test_boosting_that_takes_categories_itself_gets_its_own_frame():
    frame, labels = people(missing=True)
    numbers = frame.drop(columns="note").assign(owns=frame["owns"].astype(float))
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=15).fit(numbers, labels)
    report = audit_model(model, numbers, labels, hidden=["city"], attacks=["grid-match"])
    assert report.findings[0].outcome is Outcome.LEAK


def test_a_model_file_of_xgboost_is_audited_by_its_path(tmp_path):
    model = boosted_by_xgboost()
    model.save_model(tmp_path / "model.json")
    by_file = audit_model(tmp_path / "model.json", NUMBERS, CLASSES, hidden=["visits"], attacks=["grid-match"])
    assert by_file.findings[0].outcome is Outcome.LEAK
    with pytest.raises(InputError, match="finite numbers for BoostedModel"):
        audit_model(tmp_path / "model.json", NUMBERS.where(NUMBERS > 0.5), CLASSES, hidden=["visits"])


def test_one_row_is_measured_against_the_range_of_others():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(NUMBERS, CLASSES)
    with pytest.raises(InputError, match=r"20 or more.*got 1\. Give population="):
        audit_model(model, NUMBERS[:1], CLASSES[:1], hidden=["deposit", "visits"])
    report = audit_model(
        model,
        NUMBERS[:1],
        CLASSES[:1],
        hidden=["deposit", "visits"],
        population=NUMBERS[1:],
        attacks=["equality-solving"],
    )
    found = report.findings[0]
    assert found.cells_recovered == 1.0
    spread = (NUMBERS[1:].max() - NUMBERS[1:].min())["deposit"]
    assert spread > 5
    assert found.score.baseline > 0  # a range of its own would leave nothing to guess


def test_knowledge_is_what_a_scenario_may_declare():
    model = MODELS["gradient boosting"]()

    def of(knowledge):
        return audit_model(
            model, NUMBERS, CLASSES, hidden=["visits"], attacks=["grid-match"], knowledge=knowledge
        ).findings[0]  # fmt: skip

    assert of({}).outcome is Outcome.LEAK
    unknown = of({"kinds": False})
    assert unknown.outcome is Outcome.SKIPPED
    assert "declare kinds" in unknown.why
    assert of(KnowledgeSpec()).outcome is Outcome.SKIPPED
    with pytest.raises(InputError, match=r"'rangs'.*ranges"):
        of({"rangs": True})


def test_columns_that_cannot_be_told_in_numbers_are_named():
    frame, labels = people()
    model = prepared_logistic().fit(frame, labels)
    with pytest.raises(InputError, match="'city' must hold numbers, categories or texts; got dates"):
        audit_model(model, frame.assign(city=pd.Timestamp("2026-01-01")), labels, hidden=["deposit"])
    with pytest.raises(InputError, match="'note' must have cells"):
        audit_model(model, frame.assign(note=None), labels, hidden=["deposit"])
