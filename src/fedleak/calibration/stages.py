"""Where each attack is tried: a small federation in which it has something to say at every size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from fedleak.auditing.scenario import AdversarySpec, KnowledgeSpec
from fedleak.calibration.layouts import (
    BANK,
    FINTECH,
    HOSPITAL,
    N_TRAINED,
    REFEREE,
    Horizontal,
    LayoutOf,
    Vertical,
    one_among_constants,
    served,
)
from fedleak.core.finding import Mode
from fedleak.core.whole.federation import Settings
from fedleak.core.whole.hooks import Defense
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.protocols import PROTOCOLS

# Tables with their numbers of rows. With fewer, 5 % and 1 % of positives are one row, as a larger share is.
SIZES: Mapping[str, tuple[int, ...]] = {
    "normal": (2, 5, 20, 100),
    "skewed": (5, 100),
    "correlated": (5, 20, 100),
    "constant": (20,),
    "binary": (2, 20),
    "imbalanced-5": (20, 100),
    "imbalanced-1": (100,),
}


@dataclass(frozen=True)
class Stage:
    """``attacks`` have their home here. ``slow`` ones take more than a second of CPU, and get fewer seeds."""

    name: str
    attacks: tuple[str, ...]
    layout: LayoutOf
    settings: Callable[[int], Settings]
    adversary: AdversarySpec
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: SIZES)
    slow: tuple[str, ...] = ()
    unit_rows: bool = False
    defense: Defense | None = None
    own_truth: bool = False  # of the table that is seen: a leak, or a view that is drowned in noise
    leaks: bool = False
    leaking: tuple[str, ...] = ()  # columns that have to be named, and no other

    def cells(self) -> list[tuple[str, int]]:
        """Each table with each number of rows that it has."""
        return [(table, n) for table, sizes in self.sizes.items() for n in sizes]

    def adversary_at(self, table: str) -> AdversarySpec:
        """Kinds and steps of columns say something where columns have few values."""
        kinds = self.adversary.knowledge.ranges and table == "binary"
        return replace(self.adversary, knowledge=replace(self.adversary.knowledge, kinds=kinds))

    def shown(self, table: str) -> str:
        """What results call a table of this stage."""
        if self.defense:
            return f"{table} under {self.defense.label}"
        return f"{table}: {self.name}" if self.leaks else table


def _settings(protocol: str, **changes: object) -> Settings:
    return PROTOCOLS.get(protocol).settings_type(**changes)


@dataclass(frozen=True)
class Encrypted:
    """Few rounds, under the ideal cipher: what is calibrated is a decision over five runs of each."""

    protocol: str
    batch_size: int
    n_rounds: int
    changes: Mapping[str, object] = field(default_factory=dict)

    def __call__(self, n: int) -> Settings:
        size = min(n, self.batch_size)
        epochs = max(1, self.n_rounds * size // n)
        return _settings(self.protocol, cipher="sealed", batch_size=size, epochs=epochs, **self.changes)


@dataclass(frozen=True)
class Averaged:
    """The hospital's changing batches keep the models apart."""

    protocol: str
    rounds: int
    learning_rate: float

    def __call__(self, n: int) -> Settings:
        return _settings(
            self.protocol, rounds=self.rounds, batch_size=n, shuffled=(HOSPITAL,), learning_rate=self.learning_rate
        )


@dataclass(frozen=True)
class Predicted:
    changes: Mapping[str, object]

    def __call__(self, n: int) -> Settings:
        return _settings("vertical-prediction", prediction_share=n / (n + N_TRAINED), **self.changes)


@dataclass(frozen=True)
class Boosted:
    """Few shallow trees, under the ideal cipher."""

    changes: Mapping[str, object] = field(default_factory=dict)

    def __call__(self, n: int) -> Settings:
        return _settings(BOOSTED, cipher="sealed", n_trees=3, depth=2, bins=8, unit_box=False, **self.changes)


def _by(*parties: str, mode: Mode = Mode.PASSIVE, cells: float = 0.0, told: bool = False) -> AdversarySpec:
    knowledge = KnowledgeSpec(cells=cells, ranges=told)
    return AdversarySpec(parties=parties, mode=mode, knowledge=knowledge)


LOGISTIC, ARBITER, BOOSTED = "vertical-logistic", "vertical-logistic-arbiter", "secureboost"
WITH_SERVICE: Mapping[str, object] = {"initialisation": "normal", "l2": 0.01, "loss": False, "prediction_service": True}
GROWN = {"normal": (20, 100), "skewed": (20, 100), "correlated": (20, 100), "binary": (20,), "imbalanced-5": (100,)}
RARE = {"imbalanced-5": (200,), "imbalanced-1": (200,)}
LABEL_ATTACKS = ("residual-sign", "own-weights", "minimum-norm-labels", "bounded-score-labels")
STAGES = (
    Stage(
        "labels",
        ("residual-recovery", *LABEL_ATTACKS),
        Vertical(LOGISTIC, FINTECH, n_own=12, n_hidden=3),
        Encrypted(LOGISTIC, batch_size=10, n_rounds=3),
        _by(FINTECH),
        unit_rows=True,
    ),
    Stage(
        "labels alone",
        ("sign-system-labels",),
        Vertical(LOGISTIC, FINTECH, n_own=12, n_hidden=0),
        Encrypted(LOGISTIC, batch_size=10, n_rounds=3),
        _by(FINTECH),
        unit_rows=True,
    ),
    Stage(
        "noise",
        ("residual-recovery", *LABEL_ATTACKS),
        Vertical(LOGISTIC, FINTECH, n_own=12, n_hidden=3),
        Encrypted(LOGISTIC, batch_size=10, n_rounds=3),
        _by(FINTECH),
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
        _by(FINTECH, mode=Mode.ACTIVE),
        unit_rows=True,
    ),
    Stage(
        "claimed columns",
        ("claimed-residual-recovery",),
        Vertical(LOGISTIC, FINTECH, n_own=3, n_hidden=3),
        Encrypted(LOGISTIC, batch_size=20, n_rounds=2, changes={"initialisation": "xavier"}),
        _by(FINTECH, mode=Mode.ACTIVE),
        unit_rows=True,
    ),
    Stage(
        "one column",
        ("single-column-recovery",),
        Vertical(LOGISTIC, BANK, n_own=12, n_hidden=1),
        Encrypted(LOGISTIC, batch_size=10, n_rounds=4, changes={"initialisation": "xavier"}),
        _by(BANK),
        unit_rows=True,
    ),
    Stage(
        "one column, packed products",
        ("packed-single-column",),
        Vertical(LOGISTIC, BANK, n_own=12, n_hidden=1),
        Encrypted(LOGISTIC, batch_size=48, n_rounds=3, changes={"initialisation": "xavier"}),
        _by(BANK, mode=Mode.ACTIVE),
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
        Vertical(ARBITER, BANK, n_own=12, n_hidden=2, arbiter=True),
        Encrypted(ARBITER, batch_size=10, n_rounds=8, changes=WITH_SERVICE),
        _by(BANK, cells=0.3, told=True),
        slow=("gram-inversion", "rotation-matching", "rotation-matching-unnamed"),
    ),
    Stage(
        "fake features",
        ("gram-inversion-fake-features",),
        Vertical(ARBITER, BANK, n_own=4, n_hidden=2, arbiter=True),
        Encrypted(ARBITER, batch_size=10, n_rounds=8, changes=WITH_SERVICE),
        _by(BANK, mode=Mode.ACTIVE, cells=0.3, told=True),
        slow=("gram-inversion-fake-features",),
    ),
    Stage(
        "with the arbiter",
        ("arbiter-collusion",),
        Vertical(ARBITER, BANK, n_own=4, n_hidden=2, arbiter=True),
        Encrypted(ARBITER, batch_size=10, n_rounds=8, changes=WITH_SERVICE),
        _by(BANK, REFEREE),
    ),
    Stage(
        "averages",
        ("average-inversion",),
        Horizontal("horizontal-linear", 3, regression=True),
        Averaged("horizontal-linear", 12, 0.01),
        _by(HOSPITAL, cells=0.7),
    ),
    Stage(
        "sums of updates",
        ("column-products", "binary-records"),
        Horizontal("horizontal-logistic", 4, regression=False),
        Averaged("horizontal-logistic", 8, 0.01),
        _by(HOSPITAL),
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
        _by(BANK, told=True),
        slow=("generative-regression",),
    ),
    Stage(
        "contributions",
        ("contribution-scaling",),
        served,
        Predicted({"model": "logistic", "reveal": "contributions"}),
        _by(BANK),
    ),
    Stage("a served tree", ("path-restriction",), served, Predicted({"model": "tree"}), _by(BANK)),
    Stage(
        "a served forest",
        ("forest-path-restriction",),
        served,
        Predicted({"model": "forest", "n_trees": 10}),
        _by(BANK),
    ),
    Stage(
        "boosted trees",
        ("histogram-decoding", "routing-intervals", "threshold-search", "threshold-search-printed"),
        Vertical(BOOSTED, BANK, n_own=2, n_hidden=2),
        Boosted({"enrolled_records": True}),
        _by(BANK, told=True),
        sizes=GROWN,
    ),
    Stage(
        "boosted trees, a bit a row",
        ("reverse-sum",),
        Vertical(BOOSTED, BANK, n_own=2, n_hidden=2),
        Boosted(),
        _by(BANK, mode=Mode.ACTIVE),
        sizes=GROWN,
    ),
    Stage(
        "labels behind boosted trees",
        ("member-clustering",),
        Vertical(BOOSTED, FINTECH, n_own=3, n_hidden=2),
        Boosted(),
        _by(FINTECH),
        sizes=GROWN,
    ),
)


# What has to be found besides the controls: rare labels, and one column among many.
LEAKING = (
    Stage(
        "rare labels",
        ("residual-sign", "minimum-norm-labels"),
        Vertical(LOGISTIC, FINTECH, n_own=12, n_hidden=3),
        Encrypted(LOGISTIC, batch_size=10, n_rounds=20),
        _by(FINTECH),
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
        _by(BANK),
        sizes={"skewed": (100,)},
        own_truth=True,
        leaks=True,
        leaking=(f"{FINTECH}0",),
    ),
)
_BY_NAME = {stage.name: stage for stage in (*STAGES, *LEAKING)}


def stage_named(name: str) -> Stage:
    return _BY_NAME[name]
