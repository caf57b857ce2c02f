"""A user's own model, audited."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fedleak.adapters.own_model import audit_model, show
from fedleak.core.errors import InputError
from fedleak.core.finding import Outcome
from fedleak.defenses.coarse_confidences import TopLabel

HIDDEN = ["petal length (cm)", "petal width (cm)"]


def test_a_pipeline_with_its_own_column_order_is_audited_in_three_lines(capsys):
    frame, labels = load_iris(return_X_y=True, as_frame=True)
    estimator = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, labels)
    turned = frame[frame.columns[::-1]]
    report = audit_model(estimator, turned, labels, hidden=HIDDEN, attacks=["equality-solving"], defenses=[TopLabel()])
    show(report)
    assert "equality-solving" in capsys.readouterr().out
    by_defense = {finding.defense: finding for finding in report.findings}
    assert by_defense[None].outcome is Outcome.LEAK
    assert by_defense[None].cells_recovered == 1.0
    assert by_defense["top-label"].outcome is Outcome.NOT_IDENTIFIABLE


def test_a_tree_is_served_as_scikit_learn_serves_it():
    frame, labels = load_iris(return_X_y=True, as_frame=True)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame.to_numpy(), labels)
    report = audit_model(tree, frame.to_numpy(), labels, hidden=["x2", "x3"], attacks=["path-restriction"])
    assert [finding.outcome for finding in report.findings] == [Outcome.LEAK]


def test_wrong_input_is_one_clear_error():
    frame, labels = load_iris(return_X_y=True, as_frame=True)
    estimator = LogisticRegression(max_iter=500).fit(frame, labels)
    with pytest.raises(InputError, match="petal length"):
        audit_model(estimator, frame, labels, hidden=["petal lenght (cm)"])
    with pytest.raises(InputError, match="labels must"):
        audit_model(estimator, frame, labels[:10], hidden=HIDDEN)
    with pytest.raises(InputError, match="hidden must name columns of the model; got 2"):
        audit_model(estimator, frame, labels, hidden=[2, 3])
    with pytest.raises(InputError, match="input"):
        audit_model(estimator, frame.drop(columns=HIDDEN[:1]), labels, hidden=HIDDEN)
    with pytest.raises(InputError, match="finite"):
        audit_model(estimator, frame * np.nan, labels, hidden=HIDDEN)
