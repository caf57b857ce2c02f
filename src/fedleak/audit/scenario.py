"""A scenario: which data, which federation, which adversaries, which defenses."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field
from pathlib import Path

from fedleak.core.defense import Defense
from fedleak.core.finding import Mode
from fedleak.core.settings import Settings, setting
from fedleak.core.steps import Role
from fedleak.data.spec import DataSpec


@dataclass(frozen=True, kw_only=True)
class PartySpec:
    """A ``[[federation.parties]]`` table."""

    name: str = setting(MISSING, "how reports call the party")
    role: Role = setting(MISSING, "active (holds the labels), passive, arbiter or server")
    columns: tuple[str, ...] = setting((), "the columns that it holds, by name")
    n_columns: int | None = setting(None, "instead of columns: how many it gets, in the table's order", unit="columns")
    share: float | None = setting(
        None, "instead of columns: the share of all columns (by rows: of all rows) that it gets", unit="0 to 1"
    )


@dataclass(frozen=True, kw_only=True)
class PartitionSpec:
    """The ``[federation.partition]`` table."""

    by: str = setting(
        "columns",
        'how columns go to parties; "rows" deals whole rows out instead, by share',
        choices=("columns", "ratio", "correlation", "rows"),
    )
    train_rows: int | None = setting(
        None, "number of training rows, for `check`, which reads no data; the audit counts them itself", unit="rows"
    )
    test_share: float = setting(0.2, "rows held out from training, to measure the model", unit="0 to 1")


@dataclass(frozen=True, kw_only=True)
class KnowledgeSpec:
    """An ``[adversary.knowledge]`` table: what the adversary knows of its victim beforehand."""

    cells: float = setting(0.0, "share of the victim's cells that it knows, drawn at random", unit="0 to 1")
    ranges: bool = setting(False, "it knows the lowest and highest value of each of the victim's columns")
    kinds: bool = setting(False, "it knows which of the victim's columns are binary or whole numbers")
    sample: int = setting(0, "rows of similar people, from the held-out rows, that it has", unit="rows")


@dataclass(frozen=True, kw_only=True)
class AdversarySpec:
    """An ``[[adversary]]`` table."""

    parties: tuple[str, ...] = setting(MISSING, "who colludes; one name for a single curious party")
    mode: Mode = setting(Mode.PASSIVE, "passive follows the protocol; active may deviate from it")
    attacks: tuple[str, ...] = setting((), "only these attacks; all that apply if empty")
    knowledge: KnowledgeSpec = field(
        default_factory=KnowledgeSpec, metadata={"about": "what it knows beforehand, a table"}
    )


@dataclass(frozen=True)
class Scenario:
    title: str
    seed: int
    data: DataSpec
    protocol: str
    settings: Settings
    partition: PartitionSpec
    parties: tuple[PartySpec, ...]
    adversaries: tuple[AdversarySpec, ...]
    defenses: tuple[Defense, ...]
    folder: Path | None = None  # where relative paths of data start: beside the scenario file
