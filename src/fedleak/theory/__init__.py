"""Theorems and bounds, one a file, with their preconditions checked."""

from fedleak.core.registry import Registry
from fedleak.theory.condition import Theorem

THEOREMS: Registry[Theorem] = Registry(
    "theorem",
    [
        "fedleak.theory.hu2022.unique_residuals:UniqueResiduals",
        "fedleak.theory.hu2022.label_by_sign:LabelBySign",
        "fedleak.theory.li2021.score_recovery:ScoreRecovery",
        "fedleak.theory.li2021.gram_recovery:GramRecovery",
        "fedleak.theory.li2021.degrees_of_freedom:QuadraticFreedom",
        "fedleak.theory.li2021.degrees_of_freedom:LinearFreedom",
        "fedleak.theory.li2021.inversion:VerticalInversion",
        "fedleak.theory.li2021.arbiter_collusion:ArbiterCollusion",
    ],
)
