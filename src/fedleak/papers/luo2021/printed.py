"""Figures that the paper prints as numbers. Its curves are pictures without numbers and are not guessed at here."""

from __future__ import annotations

# Table III: MSE of the ablation study (LR, bank marketing, 40 % of the features unknown).
TABLE_3 = {1: 0.1705, 2: 0.1514, 3: 0.1474, 4: 0.2862, 5: 0.1216, 6: 0.2459}

# Section VI-B: the upper bound of eq. 15.
ERROR_BOUND = {"bank": 0.60, "credit": 0.14, "drive": 0.45, "news": 0.34}

# Section VI-B: "the MSE per feature is 0" where d_target <= c - 1.
ERROR_BELOW_THRESHOLD = 0.0

# Table II: samples, classes, features.
DATA_SETS = {
    "bank": (45211, 2, 20),
    "credit": (30000, 2, 23),
    "drive": (58509, 11, 48),
    "news": (39797, 5, 59),
    "synthetic1": (100000, 10, 25),
    "synthetic2": (100000, 5, 50),
}
