"""A served model that is an object, with attempts on what its client sees."""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.whole.randomness import Randomness
from fedleak.models import convert
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.protocols.prediction.vertical_prediction import VerticalPrediction
from fedleak.trial.attempt import Attempt
from fedleak.trial.play import Played, play
from prediction_runs import unit_federation

SETTINGS = PredictionSettings(model="opaque", prediction_share=1.0)
TARGET = Secret(SecretKind.FEATURES, "fintech")


def opaque(seed: int = 0) -> Played:
    """A nearest-neighbour model, which keeps its training rows: here the very rows that are predicted."""
    from sklearn.neighbors import KNeighborsClassifier

    federation = unit_federation({"bank": 3, "fintech": 2}, SETTINGS, n_rows=40, seed=seed)
    rows = np.hstack([party.train.features for party in federation.parties])
    estimator = KNeighborsClassifier(7).fit(rows, federation.parties[0].train.labels)
    names = tuple(name for party in federation.parties for name in party.columns)
    return play(federation, Randomness.published(3), protocol=VerticalPrediction(convert(estimator, names)))


def attempt_on(played: Played, attack, *, isolated: bool = True) -> Attempt:
    return played.attempt(attack, ("bank",), TARGET, isolated=isolated)
