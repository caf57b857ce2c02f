"""Theorems and bounds, a file a topic, preconditions checked one by one. ``reference`` names the paper of each."""

from fedleak.core.registry import Entry, Registry
from fedleak.theory.condition import Theorem

THEOREMS: Registry[Theorem] = Registry(
    "theorem",
    [
        Entry("li2019/section-3.2", "fedleak.theory.horizontal_rounds:LinearUpdate"),
        Entry("li2019/theorem-1", "fedleak.theory.local_updates:LocalUpdate", ("li2019/local-steps",)),
        Entry("li2019/binary-uniqueness", "fedleak.theory.binary_uniqueness:BinaryUniqueness"),
        Entry("fedleak/one-gradient", "fedleak.theory.one_gradient:OneGradient"),
        Entry("fedleak/missing-parties", "fedleak.theory.missing_parties:MissingParties"),
        Entry("fedleak/divided-lists", "fedleak.theory.divided_lists:DividedLists"),
        Entry("fedleak/aligned-people", "fedleak.theory.enumerable_identifiers:AlignedPeople"),
        Entry("fedleak/named-people", "fedleak.theory.enumerable_identifiers:NamedPeople"),
        Entry("fedleak/hashed-people", "fedleak.theory.enumerable_identifiers:HashedPeople"),
        Entry("hu2022/corollary-3.2", "fedleak.theory.residual_equations:UniqueResiduals", ("hu2022/theorem-3.1",)),
        Entry("hu2022/lemma-3.3", "fedleak.theory.column_ratios:RatiosWithinBatch"),
        Entry("hu2022/lemma-3.4", "fedleak.theory.column_ratios:MergedRatios"),
        Entry("hu2022/theorem-3.5", "fedleak.theory.column_ratios:SingleFeature", ("hu2022/remark-4.9",)),
        Entry("hu2022/theorem-3.6", "fedleak.theory.rotation_freedom:RotationHardness"),
        Entry("hu2022/theorem-4.1", "fedleak.theory.residual_equations:LabelsWithoutFeatures"),
        Entry(
            "hu2022/theorem-4.6", "fedleak.theory.label_signs:LabelBySign", ("hu2022/lemma-4.4", "hu2022/corollary-4.5")
        ),
        Entry("hu2022/theorem-4.8", "fedleak.theory.label_signs:SmallInitialisation", ("hu2022/lemma-4.7",)),
        Entry("hu2022/theorem-4.10", "fedleak.theory.label_signs:ManyParties"),
        Entry("hu2022/bounded-labels", "fedleak.theory.bounded_labels:BoundedLabels"),
        Entry("hu2022/section-5.2", "fedleak.theory.packed_equations:PackedEquations", ("hu2022/algorithm-2",)),
        Entry("hu2022/lemma-6.3", "fedleak.theory.score_noise:GradientNoise"),
        Entry("hu2022/theorem-6.4", "fedleak.theory.score_noise:NoisyUtility"),
        Entry("hu2022/theorem-6.6", "fedleak.theory.label_signs:NoisyLabelBySign"),
        Entry("hu2022/lemma-d.3", "fedleak.theory.privacy_budget:Sensitivity", ("hu2022/lemma-d.2",)),
        Entry("hu2022/lemma-d.4", "fedleak.theory.privacy_budget:GaussianMechanism"),
        Entry("hu2022/theorem-d.5", "fedleak.theory.privacy_budget:DpPaillier"),
        Entry("hu2022/theorem-e.2", "fedleak.theory.sigmoid_approximations:CubicFeature"),
        Entry("hu2022/theorem-e.3", "fedleak.theory.sigmoid_approximations:CubicLabel"),
        Entry("hu2022/theorem-f.1", "fedleak.theory.sigmoid_approximations:PiecewiseFeature"),
        Entry("hu2022/theorem-f.2", "fedleak.theory.sigmoid_approximations:PiecewiseLabel"),
        Entry("li2021/section-4.1", "fedleak.theory.residual_equations:ScoreRecovery"),
        Entry("li2021/eq-3", "fedleak.theory.inner_products:GramRecovery"),
        Entry(
            "li2021/theorem-1",
            "fedleak.theory.rotation_freedom:QuadraticFreedom",
            ("li2021/lemma-1", "li2021/lemma-2", "li2021/lemma-3"),
        ),
        Entry(
            "li2021/theorem-2", "fedleak.theory.rotation_freedom:LinearFreedom", ("li2021/lemma-4", "li2021/lemma-5")
        ),
        Entry("li2021/section-4.4", "fedleak.theory.inner_products:VerticalInversion"),
        Entry("li2021/arbiter-collusion", "fedleak.theory.arbiter_equations:ArbiterCollusion"),
        Entry("fedleak/label-ceiling", "fedleak.theory.noise_ceilings:LabelCeiling"),
        Entry("fedleak/reconstruction-ceiling", "fedleak.theory.noise_ceilings:ReconstructionCeiling"),
        Entry("fedleak/arbiter-alone", "fedleak.theory.arbiter_equations:ArbiterAlone"),
        Entry("li2021/section-4.2", "fedleak.theory.horizontal_rounds:HorizontalInversion"),
        Entry("li2021/section-5.2", "fedleak.theory.boosted_trees:ThresholdQuestions", ("li2021/algorithm-1",)),
        Entry("fedleak/sums-of-bins", "fedleak.theory.boosted_trees:SumsOfBins"),
        Entry("fedleak/open-gradients", "fedleak.theory.boosted_trees:OpenGradients"),
        Entry("fedleak/open-splits", "fedleak.theory.boosted_trees:OpenSplits"),
        Entry("fedleak/members-of-nodes", "fedleak.theory.boosted_trees:MembersOfNodes"),
        Entry("jin2021/theorem-1", "fedleak.theory.batch_separation:BatchesOfKnownRows"),
        Entry("jin2021/theorem-2", "fedleak.theory.batch_separation:IndependentRowGradients"),
        Entry("fedleak/separable-batches", "fedleak.theory.batch_separation:SeparableBatches"),
        Entry("fedleak/embedding-signs", "fedleak.theory.embedding_signs:EmbeddingSigns"),
        Entry("fedleak/embedding-steps", "fedleak.theory.embedding_steps:EmbeddingSteps"),
        Entry("luo2021/equality-threshold", "fedleak.theory.prediction_bounds:ExactEquations"),
    ],
)
