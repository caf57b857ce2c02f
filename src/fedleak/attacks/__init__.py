"""Attacks in families by what they start from, each plug-in beside its mathematics."""

from fedleak.core.attack import Attack
from fedleak.core.registry import Registry

ATTACKS: Registry[Attack] = Registry(
    "attack",
    [
        "fedleak.attacks.binary.column_products:ColumnProducts",
        "fedleak.attacks.binary.binary_records:BinaryRecords",
        "fedleak.attacks.residuals.residual_recovery:ResidualRecovery",
        "fedleak.attacks.residuals.residual_sign:ResidualSign",
        "fedleak.attacks.residuals.own_weights:OwnWeights",
        "fedleak.attacks.residuals.residual_recovery:PackedResidualRecovery",
        "fedleak.attacks.residuals.residual_recovery:ClaimedResidualRecovery",
        "fedleak.attacks.residuals.residual_sign:PackedResidualSign",
        "fedleak.attacks.residuals.sign_system_labels:SignSystemLabels",
        "fedleak.attacks.residuals.single_column_recovery:SingleColumnRecovery",
        "fedleak.attacks.residuals.single_column_recovery:PackedSingleColumn",
        "fedleak.attacks.residuals.score_recovery:ScoreRecovery",
        "fedleak.attacks.gram.gram_recovery:GramRecovery",
        "fedleak.attacks.predictions.prediction_queries:PredictionQueries",
        "fedleak.attacks.inversion.gram_inversion:GramInversion",
        "fedleak.attacks.inversion.gram_inversion:FakeFeatureInversion",
        "fedleak.attacks.inversion.rotation_matching:RotationMatching",
        "fedleak.attacks.arbiter.arbiter_collusion:ArbiterCollusion",
        "fedleak.attacks.inversion.average_inversion:AverageInversion",
        "fedleak.attacks.predictions.equality_solving:EqualitySolving",
        "fedleak.attacks.predictions.equality_projection:EqualityProjection",
        "fedleak.attacks.predictions.equality_bayes:EqualityBayes",
        "fedleak.attacks.predictions.equality_grid:EqualityGrid",
        "fedleak.attacks.predictions.grid_match:GridMatch",
        "fedleak.attacks.predictions.generative_regression:GenerativeRegressionNetwork",
        "fedleak.attacks.predictions.posterior_inference:PosteriorInference",
        "fedleak.attacks.predictions.contribution_scaling:ContributionScaling",
        "fedleak.attacks.predictions.path_restriction:PathRestriction",
        "fedleak.attacks.predictions.forest_path_restriction:ForestPathRestriction",
    ],
)
