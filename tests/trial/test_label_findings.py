"""From a guess of rare labels to a finding: what leaks is not hidden by the majority, and the majority is no leak."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.residuals.own_weights import OwnWeights
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status
from fedleak.core.finding import Finding, Mode, Outcome, Severity, Theory
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.truth import SecretValues, Truth
from fedleak.report.wording import leak_sentence
from fedleak.trial.attempt import Attempt, scored
from fedleak.trial.decide import Question, decide

LABELS = Secret(SecretKind.LABELS, "bank")
QUESTION = Question(("fintech",), Mode.PASSIVE, OwnWeights.name, LABELS, None, Theory("partial", ()))


def finding(share: float, own_score: np.ndarray, n_runs: int = 1) -> Finding:
    """Of labels with that share of positives, the first rows, by a guess as ``own-weights`` makes it."""
    ids, true = np.arange(len(own_score)), (np.arange(len(own_score)) < share * len(own_score)).astype(float)
    truth = Truth({LABELS: SecretValues(ids, ("label",), true[:, None], np.array([[0.0, 1.0]]))})
    said, sure = (own_score > 0).astype(float), 1 / (1 + np.exp(-np.abs(own_score)))
    guess = Guess(LABELS, Status.PARTIAL, ids, said[:, None], confidence=sure[:, None])
    made = Attempt(OwnWeights, ("fintech",), LABELS, Knowledge(), guess, 1.0)
    return decide(QUESTION, [scored(made, truth, np.random.default_rng(run)) for run in range(n_runs)])


@pytest.mark.parametrize("n_runs", [1, 5])
@pytest.mark.parametrize("share", [0.05, 0.01])
def test_rare_labels_that_are_ranked_well_are_a_leak(share, n_runs):
    rng = np.random.default_rng(7)
    own_score = rng.normal(size=2000) + 3.29 * (np.arange(2000) < share * 2000) + 0.4
    found = finding(share, own_score, n_runs)
    assert (found.outcome, found.severity) == (Outcome.LEAK, Severity.HIGH)
    assert found.score is not None
    assert found.score.metric == "auc"
    further = {score.metric: score for score in found.further_scores}
    assert further["label-accuracy"].value < further["label-accuracy"].baseline
    assert {"balanced-accuracy", "precision-among-surest", "true-positive-rate-at-1-percent"} <= set(further)
    assert "of two rows with different labels" in leak_sentence(found)


@pytest.mark.parametrize("n_runs", [1, 5])
@pytest.mark.parametrize("share", [0.5, 0.05, 0.01])
def test_all_negative_is_no_leak(share, n_runs):
    found = finding(share, np.full(2000, -3.0), n_runs)
    assert (found.outcome, found.severity) == (Outcome.NO_LEAK, Severity.NONE)
    assert found.score is not None
    assert found.score.value == 0.5
