"""Attacks in families by what they start from, each plug-in beside its mathematics."""

from fedleak.core.attack import Attack, faults_of_attack
from fedleak.core.registry import Entry, Registry

ATTACKS: Registry[Attack] = Registry(
    "attack",
    [
        Entry("column-products", "fedleak.attacks.binary.column_products:ColumnProducts"),
        Entry("binary-records", "fedleak.attacks.binary.binary_records:BinaryRecords"),
        Entry("row-owners", "fedleak.attacks.binary.row_owners:RowOwners"),
        Entry("residual-recovery", "fedleak.attacks.residuals.residual_recovery:ResidualRecovery"),
        Entry("residual-sign", "fedleak.attacks.residuals.residual_sign:ResidualSign", ("criterion-4.2",)),
        Entry("own-weights", "fedleak.attacks.residuals.own_weights:OwnWeights"),
        Entry("packed-residual-recovery", "fedleak.attacks.residuals.residual_recovery:PackedResidualRecovery"),
        Entry("claimed-residual-recovery", "fedleak.attacks.residuals.residual_recovery:ClaimedResidualRecovery"),
        Entry("packed-residual-sign", "fedleak.attacks.residuals.residual_sign:PackedResidualSign"),
        Entry("sign-system-labels", "fedleak.attacks.residuals.sign_system_labels:SignSystemLabels"),
        Entry("minimum-norm-labels", "fedleak.attacks.residuals.minimum_norm_labels:MinimumNormLabels"),
        Entry("bounded-score-labels", "fedleak.attacks.residuals.bounded_score_labels:BoundedScoreLabels"),
        Entry("single-column-recovery", "fedleak.attacks.residuals.single_column_recovery:SingleColumnRecovery"),
        Entry("packed-single-column", "fedleak.attacks.residuals.single_column_recovery:PackedSingleColumn"),
        Entry("score-recovery", "fedleak.attacks.residuals.score_recovery:ScoreRecovery", ("partial-score-recovery",)),
        Entry("validation-scores", "fedleak.attacks.residuals.validation_scores:ValidationScores"),
        Entry("gram-recovery", "fedleak.attacks.gram.gram_recovery:GramRecovery", ("score-gram-recovery",)),
        Entry("histogram-decoding", "fedleak.attacks.boosting.histogram_decoding:HistogramDecoding"),
        Entry("reverse-sum", "fedleak.attacks.boosting.reverse_sum:ReverseSum"),
        Entry("threshold-search", "fedleak.attacks.boosting.threshold_search:ThresholdSearch"),
        Entry(
            "threshold-search-printed",
            "fedleak.attacks.boosting.threshold_search:PrintedThresholdSearch",
            ("secureboost-attack",),
        ),
        Entry("routing-intervals", "fedleak.attacks.boosting.routing_intervals:RoutingIntervals"),
        Entry("bare-ciphertexts", "fedleak.attacks.boosting.bare_ciphertexts:BareCiphertexts"),
        Entry("sample-gradients", "fedleak.attacks.boosting.sample_gradients:SampleGradients"),
        Entry("offered-thresholds", "fedleak.attacks.boosting.offered_splits:OfferedThresholds"),
        Entry("offered-intervals", "fedleak.attacks.boosting.offered_splits:OfferedIntervals"),
        Entry("member-clustering", "fedleak.attacks.boosting.member_clustering:MemberClustering", ("id2graph",)),
        Entry("prediction-queries", "fedleak.attacks.predictions.prediction_queries:PredictionQueries"),
        Entry("gram-inversion", "fedleak.attacks.inversion.gram_inversion:GramInversion"),
        Entry("gram-inversion-fake-features", "fedleak.attacks.inversion.gram_inversion:FakeFeatureInversion"),
        Entry("rotation-matching", "fedleak.attacks.inversion.rotation_matching:RotationMatching"),
        Entry("rotation-matching-unnamed", "fedleak.attacks.inversion.rotation_matching:UnnamedRotationMatching"),
        Entry("arbiter-collusion", "fedleak.attacks.arbiter.arbiter_collusion:ArbiterCollusion"),
        Entry("cafe-printed", "fedleak.attacks.networks.cafe_printed:CafePrinted", ("cafe",)),
        Entry(
            "gradient-separation", "fedleak.attacks.networks.gradient_separation:GradientSeparation", ("cafe-direct",)
        ),
        Entry(
            "picture-separation",
            "fedleak.attacks.networks.picture_separation:PictureSeparation",
            ("cafe-direct-pictures",),
        ),
        Entry("gradient-norm-labels", "fedleak.attacks.networks.gradient_labels:GradientNormLabels", ("norm-attack",)),
        Entry(
            "gradient-direction-labels",
            "fedleak.attacks.networks.gradient_labels:GradientDirectionLabels",
            ("cosine-attack",),
        ),
        Entry("gradient-clustering", "fedleak.attacks.networks.gradient_labels:GradientClustering"),
        Entry("average-inversion", "fedleak.attacks.inversion.average_inversion:AverageInversion"),
        Entry("equality-solving", "fedleak.attacks.predictions.equality_solving:EqualitySolving", ("esa",)),
        Entry(
            "equality-projection", "fedleak.attacks.predictions.equality_projection:EqualityProjection", ("esa-box",)
        ),
        Entry("equality-bayes", "fedleak.attacks.predictions.equality_bayes:EqualityBayes", ("esa-bayes",)),
        Entry("equality-grid", "fedleak.attacks.predictions.equality_grid:EqualityGrid", ("esa-grid",)),
        Entry("grid-match", "fedleak.attacks.predictions.grid_match:GridMatch"),
        Entry(
            "generative-regression",
            "fedleak.attacks.predictions.generative_regression:GenerativeRegressionNetwork",
            ("grna",),
        ),
        Entry("posterior-inference", "fedleak.attacks.predictions.posterior_inference:PosteriorInference"),
        Entry("contribution-scaling", "fedleak.attacks.predictions.contribution_scaling:ContributionScaling"),
        Entry("path-restriction", "fedleak.attacks.predictions.path_restriction:PathRestriction", ("pra",)),
        Entry(
            "forest-path-restriction",
            "fedleak.attacks.predictions.forest_path_restriction:ForestPathRestriction",
            ("forest-pra",),
        ),
        Entry("gradient-factoring", "fedleak.attacks.networks.gradient_factoring:GradientFactoring"),
        Entry("picture-factoring", "fedleak.attacks.networks.gradient_factoring:PictureFactoring"),
    ],
    group="fedleak.attacks",
    faults=faults_of_attack,
)
