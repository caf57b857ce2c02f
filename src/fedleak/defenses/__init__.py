"""Defenses, what honest parties do, in files by what they change."""

from fedleak.core.registry import Registry
from fedleak.core.whole.hooks import Defense

DEFENSES: Registry[Defense] = Registry(
    "defense",
    [
        "fedleak.defenses.inexact_sharing:GaussianNoise",
        "fedleak.defenses.inexact_sharing:DpPaillier",
        "fedleak.defenses.changed_settings:LargeInitialisation",
        "fedleak.defenses.changed_settings:LargerBatch",
        "fedleak.defenses.changed_settings:LocalSteps",
        "fedleak.defenses.changed_settings:FreshBatches",
        "fedleak.defenses.inexact_sharing:SelectiveSharing",
        "fedleak.defenses.inexact_sharing:UpdateNoise",
        "fedleak.defenses.changed_settings:SecretSharedGradients",
        "fedleak.defenses.coarse_confidences:Rounding",
        "fedleak.defenses.coarse_confidences:TopLabel",
        "fedleak.defenses.coarse_confidences:ConfidenceNoise",
        "fedleak.defenses.changed_settings:Dropout",
        "fedleak.defenses.changed_settings:HiddenModel",
        "fedleak.defenses.collaboration_check:CollaborationCheck",
        "fedleak.defenses.leak_check:LeakCheck",
    ],
)
