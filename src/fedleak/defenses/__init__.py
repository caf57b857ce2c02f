"""Defenses, one a file."""

from fedleak.core.defense import Defense
from fedleak.core.registry import Registry

DEFENSES: Registry[Defense] = Registry(
    "defense",
    [
        "fedleak.defenses.gaussian_noise:GaussianNoise",
        "fedleak.defenses.dp_paillier:DpPaillier",
        "fedleak.defenses.large_initialisation:LargeInitialisation",
        "fedleak.defenses.larger_batch:LargerBatch",
        "fedleak.defenses.local_steps:LocalSteps",
        "fedleak.defenses.fresh_batches:FreshBatches",
        "fedleak.defenses.selective_sharing:SelectiveSharing",
        "fedleak.defenses.update_noise:UpdateNoise",
        "fedleak.defenses.secret_shared_gradients:SecretSharedGradients",
        "fedleak.defenses.rounding:Rounding",
        "fedleak.defenses.top_label:TopLabel",
        "fedleak.defenses.confidence_noise:ConfidenceNoise",
        "fedleak.defenses.dropout:Dropout",
        "fedleak.defenses.hidden_model:HiddenModel",
        "fedleak.defenses.collaboration_check:CollaborationCheck",
        "fedleak.defenses.leak_check:LeakCheck",
    ],
)
