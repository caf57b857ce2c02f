"""A small federation in which attacks are tried at several sizes, and the settings of its protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from fedleak.auditing.scenario import AdversarySpec, KnowledgeSpec
from fedleak.calibration.layouts import HOSPITAL, N_TRAINED, LayoutOf
from fedleak.core.attack import Attack
from fedleak.core.finding import Mode
from fedleak.core.whole.federation import Settings
from fedleak.core.whole.hooks import Defense
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
# Of trees and networks, which learn nothing from fewer.
GROWN = {"normal": (20, 100), "skewed": (20, 100), "correlated": (20, 100), "binary": (20,), "imbalanced-5": (100,)}
# Of ciphers that are opened: a real one takes its time.
OPENED = {"normal": (5, 20), "skewed": (20,), "correlated": (20,), "binary": (20,), "imbalanced-5": (100,)}


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
    shorter: tuple[Attack, ...] = ()  # searches that take fewer steps here than by default

    def cells(self) -> list[tuple[str, int]]:
        """Each table with each number of rows that it has."""
        return [(table, n) for table, sizes in self.sizes.items() for n in sizes]

    def tried(self, attack: type[Attack]) -> Attack | type[Attack]:
        """With the steps that it takes here."""
        return next((one for one in self.shorter if type(one) is attack), attack)

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
        given = {"cipher": "sealed", "batch_size": size, "epochs": epochs}
        return _settings(self.protocol, **{**given, **self.changes})


@dataclass(frozen=True)
class Averaged:
    """The hospital's changing batches keep the models apart."""

    protocol: str
    rounds: int
    learning_rate: float
    changes: Mapping[str, object] = field(default_factory=dict)

    def __call__(self, n: int) -> Settings:
        given = {"rounds": self.rounds, "batch_size": n, "shuffled": (HOSPITAL,), "learning_rate": self.learning_rate}
        return _settings(self.protocol, **{**given, **self.changes})


@dataclass(frozen=True)
class Predicted:
    changes: Mapping[str, object]

    def __call__(self, n: int) -> Settings:
        return _settings("vertical-prediction", prediction_share=n / (n + N_TRAINED), **self.changes)


@dataclass(frozen=True)
class Boosted:
    """Few shallow trees, under the ideal cipher unless an attack reads ciphertexts."""

    changes: Mapping[str, object] = field(default_factory=dict)

    def __call__(self, n: int) -> Settings:
        given = {"cipher": "sealed", "n_trees": 3, "depth": 2, "bins": 8, "unit_box": False}
        return _settings("secureboost", **{**given, **self.changes})


@dataclass(frozen=True)
class Split:
    """Small networks over a few batches, or over one of all rows again and again."""

    changes: Mapping[str, object] = field(default_factory=dict)
    one_batch: bool = False

    def __call__(self, n: int) -> Settings:
        size = n if self.one_batch else min(n, 10)
        given = {"rounds": 20, "batch_size": size, "batches": "shuffled", "bottom": ("linear 4",)}
        return _settings("split-network", **{**given, "learning_rate": 0.1, **self.changes})


def openly_boosted(_: int) -> Settings:
    """The same in plaintext."""
    return _settings("plain-boosting", n_trees=3, depth=2, bins=8, min_child_weight=0.0)


@dataclass(frozen=True)
class Solved:
    """A small smooth network over batches of a few rows, whose parameters stay as they were drawn."""

    protocol: str
    batch_size: int
    rounds: int
    changes: Mapping[str, object]

    def __call__(self, n: int) -> Settings:
        given = {"rounds": self.rounds, "batch_size": min(n, self.batch_size), "trained": False}
        return _settings(self.protocol, **given, **self.changes)


def by(
    *parties: str, mode: Mode = Mode.PASSIVE, cells: float = 0.0, told: bool = False, labels: int = 0
) -> AdversarySpec:
    knowledge = KnowledgeSpec(cells=cells, ranges=told, labels=labels)
    return AdversarySpec(parties=parties, mode=mode, knowledge=knowledge)
