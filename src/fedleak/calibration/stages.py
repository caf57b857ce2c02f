"""Where each attack is tried: a small federation in which it has something to say at every size."""

from __future__ import annotations

from collections.abc import Mapping

from fedleak.calibration.layouts import (
    BANK,
    CLINIC,
    FINTECH,
    HOSPITAL,
    HUB,
    REFEREE,
    Horizontal,
    Vertical,
    one_among_constants,
    served,
)
from fedleak.calibration.network_stages import NETWORK_STAGES
from fedleak.calibration.stage import OPENED, SIZES, Averaged, Encrypted, Predicted, Stage, by
from fedleak.calibration.tree_stages import TREE_STAGES
from fedleak.core.finding import Mode
from fedleak.core.steps import Role
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.protocols.alignment.entity_alignment import AlignmentSettings

LOGISTIC, ARBITER = "vertical-logistic", "vertical-logistic-arbiter"
ALIGNED = "entity-alignment"
WITH_SERVICE: Mapping[str, object] = {"initialisation": "normal", "l2": 0.01, "loss": False, "prediction_service": True}
BARE: Mapping[str, object] = {"cipher": "paillier", "blinding": "none", "key_bits": 1024, "loss": False}
LACKING: Mapping[str, object] = {"recovery_threshold": 2, "colluders": 0, "dropouts": (f"{CLINIC}:3", f"{CLINIC}:5")}
LIED_TO: Mapping[str, object] = {"recovery_threshold": 2, "colluders": 0, "confirm_senders": False}
PEOPLE = {"normal": (20, 100), "binary": (20,)}  # whom a party has is a draw of its own, whatever the columns
RARE = {"imbalanced-5": (200,), "imbalanced-1": (200,)}
LABEL_ATTACKS = ("residual-sign", "own-weights", "minimum-norm-labels", "bounded-score-labels")
STAGES = (
    Stage(
        "labels",
        ("residual-recovery", *LABEL_ATTACKS),
        Vertical(LOGISTIC, FINTECH, n_own=12, n_hidden=3),
        Encrypted(LOGISTIC, batch_size=10, n_rounds=3),
        by(FINTECH),
        unit_rows=True,
    ),
    Stage(
        "labels alone",
        ("sign-system-labels",),
        Vertical(LOGISTIC, FINTECH, n_own=12, n_hidden=0),
        Encrypted(LOGISTIC, batch_size=10, n_rounds=3),
        by(FINTECH),
        unit_rows=True,
    ),
    Stage(
        "noise",
        ("residual-recovery", *LABEL_ATTACKS),
        Vertical(LOGISTIC, FINTECH, n_own=12, n_hidden=3),
        Encrypted(LOGISTIC, batch_size=10, n_rounds=3),
        by(FINTECH),
        sizes={"normal": SIZES["normal"]},
        unit_rows=True,
        defense=GaussianNoise(sigma=1000.0),
        own_truth=True,
    ),
    Stage(
        "packed products",
        ("packed-residual-recovery", "packed-residual-sign"),
        Vertical(LOGISTIC, FINTECH, n_own=3, n_hidden=3),
        Encrypted(LOGISTIC, batch_size=20, n_rounds=2, changes={"initialisation": "xavier"}),
        by(FINTECH, mode=Mode.ACTIVE),
        unit_rows=True,
    ),
    Stage(
        "claimed columns",
        ("claimed-residual-recovery",),
        Vertical(LOGISTIC, FINTECH, n_own=3, n_hidden=3),
        Encrypted(LOGISTIC, batch_size=20, n_rounds=2, changes={"initialisation": "xavier"}),
        by(FINTECH, mode=Mode.ACTIVE),
        unit_rows=True,
    ),
    Stage(
        "one column",
        ("single-column-recovery",),
        Vertical(LOGISTIC, BANK, n_own=12, n_hidden=1),
        Encrypted(LOGISTIC, batch_size=10, n_rounds=4, changes={"initialisation": "xavier"}),
        by(BANK),
        unit_rows=True,
    ),
    Stage(
        "one column, packed products",
        ("packed-single-column",),
        Vertical(LOGISTIC, BANK, n_own=12, n_hidden=1),
        Encrypted(LOGISTIC, batch_size=48, n_rounds=3, changes={"initialisation": "xavier"}),
        by(BANK, mode=Mode.ACTIVE),
        unit_rows=True,
    ),
    Stage(
        "columns beside an arbiter",
        (
            "score-recovery",
            "gram-recovery",
            "prediction-queries",
            "gram-inversion",
            "rotation-matching",
            "rotation-matching-unnamed",
        ),
        Vertical(ARBITER, BANK, n_own=12, n_hidden=2, helper=Role.ARBITER),
        Encrypted(ARBITER, batch_size=10, n_rounds=8, changes=WITH_SERVICE),
        by(BANK, cells=0.3, told=True),
        slow=("gram-inversion", "rotation-matching", "rotation-matching-unnamed"),
    ),
    Stage(
        "fake features",
        ("gram-inversion-fake-features",),
        Vertical(ARBITER, BANK, n_own=4, n_hidden=2, helper=Role.ARBITER),
        Encrypted(ARBITER, batch_size=10, n_rounds=8, changes=WITH_SERVICE),
        by(BANK, mode=Mode.ACTIVE, cells=0.3, told=True),
        slow=("gram-inversion-fake-features",),
    ),
    Stage(
        "validated in plaintext",
        ("validation-scores",),
        Vertical(ARBITER, BANK, n_own=4, n_hidden=2, helper=Role.ARBITER),
        Encrypted(ARBITER, batch_size=10, n_rounds=8, changes={"validate_every": 1}),
        by(BANK),
    ),
    Stage(
        "with the arbiter",
        ("arbiter-collusion",),
        Vertical(ARBITER, BANK, n_own=4, n_hidden=2, helper=Role.ARBITER),
        Encrypted(ARBITER, batch_size=10, n_rounds=8, changes=WITH_SERVICE),
        by(BANK, REFEREE),
    ),
    Stage(
        "averages",
        ("average-inversion",),
        Horizontal("horizontal-linear", 3, regression=True),
        Averaged("horizontal-linear", 12, 0.01),
        by(HOSPITAL, cells=0.7),
    ),
    Stage(
        "sums of updates",
        ("column-products", "binary-records"),
        Horizontal("horizontal-logistic", 4, regression=False),
        Averaged("horizontal-logistic", 8, 0.01),
        by(HOSPITAL),
    ),
    Stage(
        "weights in plaintext",
        ("sent-products",),
        Horizontal("horizontal-logistic", 4, regression=False, by_server=True),
        Averaged("horizontal-logistic", 8, 0.01, {"secure_aggregation": False}),
        by(HUB),
    ),
    Stage(
        "a sum that lacks somebody",
        ("row-owners",),
        Horizontal("horizontal-logistic", 4, regression=False, lab=True),
        Averaged("horizontal-logistic", 8, 0.01, LACKING),
        by(HOSPITAL),
    ),
    Stage(
        "a server that lies",
        ("divided-senders",),
        Horizontal("horizontal-logistic", 4, regression=False, lab=True),
        Averaged("horizontal-logistic", 8, 0.01, LIED_TO),
        by(HUB, HOSPITAL, mode=Mode.ACTIVE),
    ),
    Stage(
        "a served regression",
        (
            "equality-solving",
            "equality-projection",
            "equality-bayes",
            "equality-grid",
            "grid-match",
            "generative-regression",
            "posterior-inference",
        ),
        served,
        Predicted({"model": "logistic"}),
        by(BANK, told=True),
        slow=("generative-regression",),
    ),
    Stage(
        "contributions",
        ("contribution-scaling",),
        served,
        Predicted({"model": "logistic", "reveal": "contributions"}),
        by(BANK),
    ),
    Stage("a served tree", ("path-restriction",), served, Predicted({"model": "tree"}), by(BANK)),
    Stage(
        "a served forest",
        ("forest-path-restriction",),
        served,
        Predicted({"model": "forest", "n_trees": 10}),
        by(BANK),
    ),
    Stage(
        "scores under bare ciphertexts",
        ("unblinded-scores",),
        Vertical(ARBITER, BANK, n_own=4, n_hidden=2, helper=Role.ARBITER),
        Encrypted(ARBITER, batch_size=10, n_rounds=2, changes=BARE),
        by(BANK),
        sizes=OPENED,
    ),
    Stage(
        "residuals under bare ciphertexts",
        ("unblinded-labels",),
        Vertical(ARBITER, FINTECH, n_own=4, n_hidden=2, helper=Role.ARBITER),
        Encrypted(ARBITER, batch_size=10, n_rounds=2, changes=BARE),
        by(FINTECH),
        sizes=OPENED,
        unit_rows=True,
    ),
    Stage(
        "residuals under signed ciphertexts",
        ("ciphertext-sign",),
        Vertical(ARBITER, FINTECH, n_own=4, n_hidden=2, helper=Role.ARBITER),
        Encrypted(ARBITER, batch_size=10, n_rounds=2, changes={**BARE, "blinding": "signed"}),
        by(FINTECH),
        sizes=OPENED,
        unit_rows=True,
    ),
    Stage(
        "whom a partner has",
        ("aligned-members",),
        Vertical(ALIGNED, BANK, n_own=2, n_hidden=2),
        lambda n: AlignmentSettings(identifiers=4 * n),
        by(BANK),
        sizes=PEOPLE,
    ),
    Stage(
        "whom a partner has, by naming everybody",
        ("identifier-enumeration",),
        Vertical(ALIGNED, FINTECH, n_own=2, n_hidden=2),
        lambda n: AlignmentSettings(identifiers=4 * n),
        by(FINTECH, mode=Mode.ACTIVE),
        sizes=PEOPLE,
    ),
    Stage(
        "whom a partner has, by digests",
        ("digest-enumeration",),
        Vertical(ALIGNED, BANK, n_own=2, n_hidden=2),
        lambda n: AlignmentSettings(identifiers=4 * n, matching="digests"),
        by(BANK),
        sizes=PEOPLE,
    ),
    *TREE_STAGES,
    *NETWORK_STAGES,
)


# Attacks that no stage has: of how often the decision is wrong about them nothing is known, and results say so.
UNCALIBRATED: tuple[str, ...] = ()

# What has to be found besides the controls: rare labels, and one column among many.
LEAKING = (
    Stage(
        "rare labels",
        ("residual-sign", "minimum-norm-labels"),
        Vertical(LOGISTIC, FINTECH, n_own=12, n_hidden=3),
        Encrypted(LOGISTIC, batch_size=10, n_rounds=20),
        by(FINTECH),
        sizes=RARE,
        unit_rows=True,
        own_truth=True,
        leaks=True,
    ),
    Stage(
        "one column among ten constant ones",
        ("equality-projection", "posterior-inference"),
        one_among_constants,
        Predicted({"model": "logistic"}),
        by(BANK),
        sizes={"skewed": (100,)},
        own_truth=True,
        leaks=True,
        leaking=(f"{FINTECH}0",),
    ),
)
_BY_NAME = {stage.name: stage for stage in (*STAGES, *LEAKING)}


def stage_named(name: str) -> Stage:
    return _BY_NAME[name]
