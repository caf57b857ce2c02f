"""The version, in a place that imports nothing: ``import fedleak`` leads to everything else."""

__version__ = "0.2.0"
