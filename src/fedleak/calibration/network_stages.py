"""Where attacks on the gradients of networks are tried: smooth networks so small that they come to an answer."""

from __future__ import annotations

from collections.abc import Mapping

from fedleak.calibration.layouts import BANK, FINTECH, HOSPITAL, HUB, Horizontal, Vertical
from fedleak.calibration.stage import Solved, Split, Stage, by
from fedleak.core.finding import Mode
from fedleak.core.steps import Role

FEW_ROWS = {"normal": (2, 5, 20), "skewed": (5,), "correlated": (20,), "constant": (20,), "binary": (5,)}
CONVOLVED = ("convolution 4 3 padding=1", "activation sigmoid", "flatten", "linear 24", "activation sigmoid")
IN_DOUBLES: Mapping[str, object] = {"precision": "float64", "known_batches": True, "batches": "shuffled"}
SOME_KNOWN = {"normal": (20, 100), "skewed": (100,), "correlated": (20, 100), "binary": (20,), "imbalanced-5": (100,)}
RIVALS = ("deep-leakage", "labelled-deep-leakage", "cosine-matching", "kernel-matching")
NETWORK_STAGES = (
    Stage(
        "batches of a cut network",
        ("gradient-separation", "cafe-printed"),
        Vertical("vertical-network", BANK, n_own=2, n_hidden=3, helper=Role.SERVER),
        Solved("vertical-network", 4, 40, {"bottom": ("linear 8", "activation sigmoid", "linear 4")}),
        by(BANK, HUB),
        sizes=FEW_ROWS,
        slow=("cafe-printed",),
    ),
    Stage(
        "halves of pictures",
        ("picture-separation", "cafe-printed-pictures"),
        Vertical("vertical-network", BANK, n_own=16, n_hidden=16, helper=Role.SERVER, side=4),
        Solved("vertical-network", 4, 40, {"bottom": (*CONVOLVED, "linear 4")}),
        by(BANK, HUB),
        sizes=FEW_ROWS,
        slow=("picture-separation", "cafe-printed-pictures"),
    ),
    Stage(
        "one gradient of rows",
        ("gradient-factoring",),
        Horizontal("horizontal-network", 3, regression=False),
        Solved("horizontal-network", 3, 4, {"layers": ("linear 16", "activation sigmoid"), **IN_DOUBLES}),
        by(HOSPITAL, HUB),
        sizes=FEW_ROWS,
        slow=("gradient-factoring",),
    ),
    Stage(
        "one gradient of pictures",
        ("picture-factoring", *RIVALS),
        Horizontal("horizontal-network", 16, regression=False, side=4),
        Solved("horizontal-network", 3, 1, {"layers": CONVOLVED, **IN_DOUBLES}),
        by(HOSPITAL, HUB),
        sizes=FEW_ROWS,
        slow=("picture-factoring", *RIVALS),
    ),
    Stage(
        "a few labels known",
        ("model-completion",),
        Vertical("split-network", FINTECH, n_own=3, n_hidden=2),
        Split(),
        by(FINTECH, labels=2),
        sizes=SOME_KNOWN,
    ),
    Stage(
        "a few labels known, longer steps",
        ("model-completion-accelerated",),
        Vertical("split-network", FINTECH, n_own=3, n_hidden=2),
        Split(),
        by(FINTECH, mode=Mode.ACTIVE, labels=2),
        sizes=SOME_KNOWN,
    ),
)
