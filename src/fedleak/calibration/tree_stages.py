"""Where attacks on boosted trees are tried: a few trees over so few bins that rows share them."""

from __future__ import annotations

from fedleak.calibration.layouts import BANK, FINTECH, Vertical
from fedleak.calibration.stage import GROWN, OPENED, Boosted, Stage, by, openly_boosted
from fedleak.core.finding import Mode

BOOSTED, OPEN = "secureboost", "plain-boosting"
TREE_STAGES = (
    Stage(
        "boosted trees",
        ("histogram-decoding", "routing-intervals", "threshold-search", "threshold-search-printed"),
        Vertical(BOOSTED, BANK, n_own=2, n_hidden=2),
        Boosted({"enrolled_records": True}),
        by(BANK, told=True),
        sizes=GROWN,
    ),
    Stage(
        "boosted trees, a bit a row",
        ("reverse-sum",),
        Vertical(BOOSTED, BANK, n_own=2, n_hidden=2),
        Boosted(),
        by(BANK, mode=Mode.ACTIVE),
        sizes=GROWN,
    ),
    Stage(
        "boosted trees in plaintext",
        ("offered-intervals", "offered-thresholds"),
        Vertical(OPEN, BANK, n_own=2, n_hidden=2),
        openly_boosted,
        by(BANK),
        sizes=GROWN,
    ),
    Stage(
        "labels behind boosted trees in plaintext",
        ("sample-gradients",),
        Vertical(OPEN, FINTECH, n_own=3, n_hidden=2),
        openly_boosted,
        by(FINTECH),
        sizes=GROWN,
    ),
    Stage(
        "labels behind boosted trees",
        ("member-clustering",),
        Vertical(BOOSTED, FINTECH, n_own=3, n_hidden=2),
        Boosted(),
        by(FINTECH),
        sizes=GROWN,
    ),
    Stage(
        "labels under bare ciphertexts",
        ("bare-ciphertexts",),
        Vertical(BOOSTED, FINTECH, n_own=3, n_hidden=2),
        Boosted({"cipher": "paillier", "blinding": "none", "key_bits": 1024}),
        by(FINTECH),
        sizes=OPENED,
    ),
)
