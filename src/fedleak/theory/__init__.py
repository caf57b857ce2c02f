"""Theorems and bounds, one a file, with their preconditions checked."""

from fedleak.core.registry import Registry
from fedleak.theory.condition import Theorem

THEOREMS: Registry[Theorem] = Registry(
    "theorem",
    [
        "fedleak.theory.hu2022.unique_residuals:UniqueResiduals",
        "fedleak.theory.hu2022.label_by_sign:LabelBySign",
    ],
)
