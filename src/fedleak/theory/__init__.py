"""Theorems and bounds, a file a topic, preconditions checked one by one. ``reference`` names the paper of each."""

from fedleak.core.registry import Registry
from fedleak.theory.condition import Theorem

THEOREMS: Registry[Theorem] = Registry(
    "theorem",
    [
        "fedleak.theory.horizontal_rounds:LinearUpdate",
        "fedleak.theory.local_updates:LocalUpdate",
        "fedleak.theory.binary_uniqueness:BinaryUniqueness",
        "fedleak.theory.residual_equations:UniqueResiduals",
        "fedleak.theory.column_ratios:RatiosWithinBatch",
        "fedleak.theory.column_ratios:MergedRatios",
        "fedleak.theory.column_ratios:SingleFeature",
        "fedleak.theory.rotation_freedom:RotationHardness",
        "fedleak.theory.residual_equations:LabelsWithoutFeatures",
        "fedleak.theory.label_signs:LabelBySign",
        "fedleak.theory.label_signs:SmallInitialisation",
        "fedleak.theory.label_signs:ManyParties",
        "fedleak.theory.residual_equations:PackedEquations",
        "fedleak.theory.score_noise:GradientNoise",
        "fedleak.theory.score_noise:NoisyUtility",
        "fedleak.theory.label_signs:NoisyLabelBySign",
        "fedleak.theory.privacy_budget:Sensitivity",
        "fedleak.theory.privacy_budget:GaussianMechanism",
        "fedleak.theory.privacy_budget:DpPaillier",
        "fedleak.theory.sigmoid_approximations:CubicFeature",
        "fedleak.theory.sigmoid_approximations:CubicLabel",
        "fedleak.theory.sigmoid_approximations:PiecewiseFeature",
        "fedleak.theory.sigmoid_approximations:PiecewiseLabel",
        "fedleak.theory.residual_equations:ScoreRecovery",
        "fedleak.theory.inner_products:GramRecovery",
        "fedleak.theory.rotation_freedom:QuadraticFreedom",
        "fedleak.theory.rotation_freedom:LinearFreedom",
        "fedleak.theory.inner_products:VerticalInversion",
        "fedleak.theory.inner_products:ArbiterCollusion",
        "fedleak.theory.horizontal_rounds:HorizontalInversion",
        "fedleak.theory.prediction_bounds:ExactEquations",
    ],
)
