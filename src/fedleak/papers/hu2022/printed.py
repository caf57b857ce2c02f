"""What the paper reports, as data. Its figures are pictures without tables; these are the statements of its text."""

from __future__ import annotations

EPSILONS = (0.1, 0.2, 0.5)
DELTA = 0.1
BUDGET_ROUNDS = 30  # "T is chosen to be 30" in eqs. 71 and 72
GRADIENT_BOUND = 1.0
BATCH_SIZE = 256
LEARNING_RATE = 0.01
EPOCHS = {"mnist": 30, "credit": 10}
N_SEEDS = 5

# Figure 3, top: "the success rate of label attack is reduced to about 50 %"; without defense it is 100 % for several
# epochs. Figure 3, bottom: "norm of theta is bounded by 2".
SUCCESS_WITH_NOISE = 0.5
SUCCESS_FIRST_EPOCHS = 1.0
LARGEST_NORM = 2.0
# Figure 2: "more than 90 % test accuracy, even for epsilon as small as 0.2".
TEST_ACCURACY_AT_LEAST = 0.9
# Section 5.2: "implying u >= 31" for 64-bit plaintexts under a 2048-bit key.
N_SLOTS = 31
