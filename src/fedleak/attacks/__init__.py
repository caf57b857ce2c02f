"""Attacks, one a file, in folders by what is recovered."""

from fedleak.core.attack import Attack
from fedleak.core.registry import Registry

ATTACKS: Registry[Attack] = Registry(
    "attack",
    [
        "fedleak.attacks.labels.residual_recovery:ResidualRecovery",
        "fedleak.attacks.labels.residual_sign:ResidualSign",
        "fedleak.attacks.labels.own_weights:OwnWeights",
        "fedleak.attacks.scores.score_recovery:ScoreRecovery",
        "fedleak.attacks.gram.gram_recovery:GramRecovery",
        "fedleak.attacks.weights.prediction_queries:PredictionQueries",
        "fedleak.attacks.features.gram_inversion:GramInversion",
        "fedleak.attacks.features.gram_inversion:FakeFeatureInversion",
        "fedleak.attacks.features.rotation_matching:RotationMatching",
        "fedleak.attacks.features.arbiter_collusion:ArbiterCollusion",
    ],
)
