"""Audit a model that is already trained: what do its predictions tell the label holder about a partner's columns?

A logistic regression on iris. The flowers' petals are the partner's; the label holder has the sepals and sees the three
confidences of each flower. Expect: equality-solving leaks, every hidden cell is recovered.
"""

from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from fedleak.adapters.own_model import audit_model, show

flowers, species = load_iris(return_X_y=True, as_frame=True)
estimator = LogisticRegression(max_iter=1000).fit(flowers, species)

petals = ["petal length (cm)", "petal width (cm)"]
report = audit_model(
    estimator, flowers, species, hidden=petals, attacks=["equality-solving"]
)  # without it: all that apply
show(report)
