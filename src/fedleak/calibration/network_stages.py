"""Where attacks on the gradients of networks are tried: smooth networks so small that they come to an answer.

Searches take fewer steps here than by default, as many as bring them near the table that is seen: what is calibrated is
whether a near answer about one table is taken for one about another. The last digits do not matter to that.
"""

from __future__ import annotations

from collections.abc import Mapping

from fedleak.attacks.networks.cafe_pictures import CafePictures
from fedleak.attacks.networks.cafe_printed import CafePrinted
from fedleak.attacks.networks.gradient_matching import CosineMatching, DeepLeakage, KernelMatching, LabelledDeepLeakage
from fedleak.calibration.layouts import BANK, FINTECH, HOSPITAL, HUB, Horizontal, Vertical
from fedleak.calibration.stage import GROWN, Solved, Split, Stage, by
from fedleak.core.finding import Mode
from fedleak.core.steps import Role

FEW_ROWS = {"normal": (2, 5, 20), "skewed": (5,), "correlated": (20,), "constant": (20,), "binary": (5,)}
FEW_PICTURES = {"normal": (2, 5), "skewed": (5,), "correlated": (10,), "constant": (5,), "binary": (5,)}
CONVOLVED = ("convolution 4 3 padding=1", "activation sigmoid", "flatten", "linear 24", "activation sigmoid")
IN_DOUBLES: Mapping[str, object] = {"precision": "float64", "known_batches": True, "batches": "shuffled"}
AT_A_HIGH_RATE: Mapping[str, object] = {"learning_rate": 0.5, **IN_DOUBLES}
SOME_KNOWN = {"normal": (20, 100), "skewed": (100,), "correlated": (20, 100), "binary": (20,), "imbalanced-5": (100,)}
RIVALS = (DeepLeakage(work=240), LabelledDeepLeakage(work=240), CosineMatching(work=240), KernelMatching(work=240))
MATCHING = tuple(rival.name for rival in RIVALS)
NETWORK_STAGES = (
    Stage(
        "labels behind a split network",
        ("gradient-norm-labels", "gradient-direction-labels", "gradient-clustering"),
        Vertical("split-network", FINTECH, n_own=3, n_hidden=2),
        Split(),
        by(FINTECH),
        sizes=GROWN,
    ),
    Stage(
        "columns behind a split network",
        ("embedding-gram", "embedding-gram-inversion", "embedding-regression"),
        Vertical("split-network", BANK, n_own=3, n_hidden=2),
        Split({"rounds": 5, "precision": "float64", "top": ("linear 8", "activation tanh")}, one_batch=True),
        by(BANK, cells=0.3),
        sizes=GROWN,
    ),
    Stage(
        "batches of a cut network",
        ("gradient-separation", "cafe-printed"),
        Vertical("vertical-network", BANK, n_own=2, n_hidden=3, helper=Role.SERVER),
        Solved("vertical-network", 4, 40, {"bottom": ("linear 8", "activation sigmoid", "linear 4")}),
        by(BANK, HUB),
        sizes=FEW_ROWS,
        slow=("cafe-printed",),
        shorter=(CafePrinted(n_steps=1600),),
    ),
    Stage(
        "halves of pictures",
        ("picture-separation", "cafe-printed-pictures"),
        Vertical("vertical-network", BANK, n_own=16, n_hidden=16, helper=Role.SERVER, side=4),
        Solved("vertical-network", 4, 40, {"bottom": (*CONVOLVED, "linear 4")}),
        by(BANK, HUB),
        sizes=FEW_PICTURES,
        slow=("picture-separation", "cafe-printed-pictures"),
        shorter=(CafePictures(n_steps=150),),
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
        "one update of local steps",
        ("update-factoring",),
        Horizontal("horizontal-network", 3, regression=False),
        Solved(
            "horizontal-network",
            2,
            2,
            {"layers": ("linear 16", "activation sigmoid"), "update": "change", "local_steps": 2, **AT_A_HIGH_RATE},
        ),
        by(HOSPITAL, HUB),
        sizes=FEW_ROWS,
        slow=("update-factoring",),
    ),
    Stage(
        "one gradient of pictures",
        ("picture-factoring",),
        Horizontal("horizontal-network", 16, regression=False, side=4),
        Solved("horizontal-network", 3, 1, {"layers": CONVOLVED, **IN_DOUBLES}),
        by(HOSPITAL, HUB),
        sizes=FEW_PICTURES,
        slow=("picture-factoring",),
    ),
    Stage(
        "gradients that are matched",
        MATCHING,
        Horizontal("horizontal-network", 16, regression=False, side=4),
        Solved("horizontal-network", 2, 1, {"layers": ("flatten", "linear 24", "activation tanh"), **IN_DOUBLES}),
        by(HOSPITAL, HUB),
        sizes=FEW_PICTURES,
        slow=MATCHING,
        shorter=RIVALS,
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
