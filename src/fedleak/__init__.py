"""fedleak: what can each partner of a federation reconstruct?"""

__version__ = "0.1.0"
