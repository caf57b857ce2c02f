"""Theorems and bounds, one a file, with their preconditions checked."""

from fedleak.core.registry import Registry
from fedleak.theory.condition import Theorem

THEOREMS: Registry[Theorem] = Registry(
    "theorem",
    [
        "fedleak.theory.li2019.linear_update:LinearUpdate",
        "fedleak.theory.li2019.local_update:LocalUpdate",
        "fedleak.theory.li2019.binary_uniqueness:BinaryUniqueness",
        "fedleak.theory.hu2022.unique_residuals:UniqueResiduals",
        "fedleak.theory.hu2022.ratios_within_batch:RatiosWithinBatch",
        "fedleak.theory.hu2022.merged_ratios:MergedRatios",
        "fedleak.theory.hu2022.single_feature:SingleFeature",
        "fedleak.theory.hu2022.rotation_hardness:RotationHardness",
        "fedleak.theory.hu2022.labels_without_features:LabelsWithoutFeatures",
        "fedleak.theory.hu2022.label_by_sign:LabelBySign",
        "fedleak.theory.hu2022.small_initialisation:SmallInitialisation",
        "fedleak.theory.hu2022.many_parties:ManyParties",
        "fedleak.theory.hu2022.packed_equations:PackedEquations",
        "fedleak.theory.hu2022.gradient_noise:GradientNoise",
        "fedleak.theory.hu2022.noisy_utility:NoisyUtility",
        "fedleak.theory.hu2022.noisy_label_by_sign:NoisyLabelBySign",
        "fedleak.theory.hu2022.sensitivity:Sensitivity",
        "fedleak.theory.hu2022.gaussian_mechanism:GaussianMechanism",
        "fedleak.theory.hu2022.dp_paillier:DpPaillier",
        "fedleak.theory.hu2022.cubic_feature:CubicFeature",
        "fedleak.theory.hu2022.cubic_label:CubicLabel",
        "fedleak.theory.hu2022.piecewise_feature:PiecewiseFeature",
        "fedleak.theory.hu2022.piecewise_label:PiecewiseLabel",
        "fedleak.theory.li2021.score_recovery:ScoreRecovery",
        "fedleak.theory.li2021.gram_recovery:GramRecovery",
        "fedleak.theory.li2021.degrees_of_freedom:QuadraticFreedom",
        "fedleak.theory.li2021.degrees_of_freedom:LinearFreedom",
        "fedleak.theory.li2021.inversion:VerticalInversion",
        "fedleak.theory.li2021.arbiter_collusion:ArbiterCollusion",
        "fedleak.theory.li2021.horizontal:HorizontalInversion",
        "fedleak.theory.luo2021.exact_equations:ExactEquations",
    ],
)
