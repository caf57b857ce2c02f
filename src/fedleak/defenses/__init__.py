"""Defenses, one a file."""

from fedleak.core.defense import Defense
from fedleak.core.registry import Registry

DEFENSES: Registry[Defense] = Registry("defense", ["fedleak.defenses.gaussian_noise:GaussianNoise"])
