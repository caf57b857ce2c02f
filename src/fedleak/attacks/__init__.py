"""Attacks, one a file, in folders by what is recovered."""

from fedleak.core.attack import Attack
from fedleak.core.registry import Registry

ATTACKS: Registry[Attack] = Registry(
    "attack",
    [
        "fedleak.attacks.features.column_products:ColumnProducts",
        "fedleak.attacks.features.binary_records:BinaryRecords",
        "fedleak.attacks.labels.residual_recovery:ResidualRecovery",
        "fedleak.attacks.labels.residual_sign:ResidualSign",
        "fedleak.attacks.labels.own_weights:OwnWeights",
        "fedleak.attacks.labels.packed_residual_recovery:PackedResidualRecovery",
        "fedleak.attacks.labels.claimed_residual_recovery:ClaimedResidualRecovery",
        "fedleak.attacks.labels.packed_residual_sign:PackedResidualSign",
        "fedleak.attacks.labels.sign_system_labels:SignSystemLabels",
        "fedleak.attacks.features.single_column_recovery:SingleColumnRecovery",
        "fedleak.attacks.features.packed_single_column:PackedSingleColumn",
        "fedleak.attacks.scores.score_recovery:ScoreRecovery",
        "fedleak.attacks.gram.gram_recovery:GramRecovery",
        "fedleak.attacks.weights.prediction_queries:PredictionQueries",
        "fedleak.attacks.features.gram_inversion:GramInversion",
        "fedleak.attacks.features.gram_inversion:FakeFeatureInversion",
        "fedleak.attacks.features.rotation_matching:RotationMatching",
        "fedleak.attacks.features.arbiter_collusion:ArbiterCollusion",
        "fedleak.attacks.features.average_inversion:AverageInversion",
        "fedleak.attacks.features.equality_solving:EqualitySolving",
        "fedleak.attacks.features.equality_projection:EqualityProjection",
        "fedleak.attacks.features.equality_bayes:EqualityBayes",
        "fedleak.attacks.features.equality_grid:EqualityGrid",
        "fedleak.attacks.features.grid_match:GridMatch",
        "fedleak.attacks.features.generative_regression:GenerativeRegressionNetwork",
        "fedleak.attacks.features.posterior_inference:PosteriorInference",
        "fedleak.attacks.features.contribution_scaling:ContributionScaling",
        "fedleak.attacks.ranges.path_restriction:PathRestriction",
        "fedleak.attacks.ranges.forest_path_restriction:ForestPathRestriction",
    ],
)
