"""Defenses, what honest parties do, in files by what they change."""

from functools import partial

from fedleak.core.attack import Reference
from fedleak.core.registry import Entry, Registry, faults_of
from fedleak.core.whole.hooks import Defense

DEFENSES: Registry[Defense] = Registry(
    "defense",
    [
        Entry("gaussian-noise", "fedleak.defenses.inexact_sharing:GaussianNoise"),
        Entry("dp-paillier", "fedleak.defenses.inexact_sharing:DpPaillier", ("dp-paillier-mgd",)),
        Entry("large-initialisation", "fedleak.defenses.changed_settings:LargeInitialisation"),
        Entry("larger-batch", "fedleak.defenses.changed_settings:LargerBatch"),
        Entry("local-steps", "fedleak.defenses.changed_settings:LocalSteps", ("asynchronous-updates",)),
        Entry("fresh-batches", "fedleak.defenses.changed_settings:FreshBatches", ("shuffling",)),
        Entry("selective-sharing", "fedleak.defenses.inexact_sharing:SelectiveSharing", ("top-k",)),
        Entry("update-noise", "fedleak.defenses.inexact_sharing:UpdateNoise"),
        Entry("secret-shared-gradients", "fedleak.defenses.changed_settings:SecretSharedGradients"),
        Entry("rounding", "fedleak.defenses.coarse_confidences:Rounding"),
        Entry("top-label", "fedleak.defenses.coarse_confidences:TopLabel"),
        Entry("confidence-noise", "fedleak.defenses.coarse_confidences:ConfidenceNoise"),
        Entry("dropout", "fedleak.defenses.changed_settings:Dropout"),
        Entry("hidden-model", "fedleak.defenses.changed_settings:HiddenModel"),
        Entry("collaboration-check", "fedleak.defenses.collaboration_check:CollaborationCheck"),
        Entry("leak-check", "fedleak.defenses.leak_check:LeakCheck"),
        Entry("score-only", "fedleak.defenses.guarded_trees:ScoreOnly"),
        Entry("service-budget", "fedleak.defenses.guarded_trees:ServiceBudget"),
        Entry("first-tree-alone", "fedleak.defenses.guarded_trees:FirstTreeAlone", ("rl-secureboost",)),
        Entry("coarse-bins", "fedleak.defenses.guarded_trees:CoarseBins"),
        Entry("hidden-columns", "fedleak.defenses.guarded_trees:HiddenColumns"),
        Entry("noisy-thresholds", "fedleak.defenses.guarded_trees:NoisyThresholds"),
        Entry("purity-limit", "fedleak.defenses.guarded_trees:PurityLimit", ("id-lmid",)),
        Entry("noisy-labels", "fedleak.defenses.guarded_trees:NoisyLabels", ("grafting-ldp",)),
        Entry("embedding-gradient-noise", "fedleak.defenses.embedding_blurring:EmbeddingGradientNoise", ("iso",)),
        Entry("max-norm-noise", "fedleak.defenses.embedding_blurring:MaxNormNoise", ("max-norm",)),
        Entry("layer-gradient-noise", "fedleak.defenses.layer_blurring:LayerGradientNoise"),
        Entry("gradient-pruning", "fedleak.defenses.layer_blurring:GradientPruning", ("gradient-compression",)),
        Entry("dp-sgd", "fedleak.defenses.layer_blurring:DpSgd"),
        Entry("fake-gradients", "fedleak.defenses.fake_gradients:FakeGradients"),
        Entry("marvell", "fedleak.defenses.embedding_blurring:Marvell"),
    ],
    group="fedleak.defenses",
    faults=partial(
        faults_of,
        base=Defense,
        needs={"name": str, "summary": str, "reference": Reference, "changes": frozenset, "acts_at": frozenset},
    ),
)
