"""A scenario: which data, which federation, which adversaries and defenses, and what does not go together."""

from __future__ import annotations

from collections import Counter
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import get_args

from fedleak.attacks import ATTACKS
from fedleak.core.errors import DataError, ScenarioError, UnknownNameError, nearest_or_list
from fedleak.core.finding import Mode
from fedleak.core.steps import DATA_ROLES, Role
from fedleak.core.transcript import EVERYONE
from fedleak.core.whole.federation import Settings, setting
from fedleak.core.whole.hooks import Defense
from fedleak.data.partition.by_columns import UnassignedPolicy
from fedleak.data.partition.by_patches import ByNamedPatches
from fedleak.data.spec import DataSpec
from fedleak.protocols import PROTOCOLS

MAX_NAME_CHARS = 64
MAX_COLUMNS, MAX_ROWS, MAX_GRID = 1_000_000, 10_000_000, 1_000  # what is declared is made, before any data are read


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

    patches: tuple[int, ...] = setting(
        (), "by patches: which part of the picture it holds, as numbers of patches in reading order from 1"
    )

    def __post_init__(self) -> None:
        if not 0 < len(self.name) <= MAX_NAME_CHARS or not self.name.isprintable() or self.name == EVERYONE:
            raise ScenarioError(
                f"name must be 1 to {MAX_NAME_CHARS} printable characters, and not {EVERYONE!r} (everybody); "
                f"got {self.name[: MAX_NAME_CHARS + 1]!r}"
            )
        ways = ("columns", "n_columns", "share", "patches")
        given = [name for name in ways if getattr(self, name) not in ((), None)]
        if len(given) > 1:
            raise ScenarioError(
                f"{self.name!r} must have columns, n_columns, share or patches, one of them; got {', '.join(given)}"
            )
        if self.n_columns is not None and not 0 <= self.n_columns <= MAX_COLUMNS:
            raise ScenarioError(f"n_columns of {self.name!r} must be from 0 to {MAX_COLUMNS:,}; got {self.n_columns}")
        if self.share is not None and not 0 <= self.share <= 1:
            raise ScenarioError(f"share of {self.name!r} must be from 0 to 1; got {self.share}")


@dataclass(frozen=True, kw_only=True)
class PartitionSpec:
    """The ``[federation.partition]`` table."""

    by: str = setting(
        "columns",
        'how columns go to parties; "patches" deals parts of pictures out, "rows" whole rows by share',
        choices=("columns", "ratio", "correlation", "patches", "rows"),
    )
    grid: tuple[int, ...] = setting(
        (), "by patches: into how many pictures are cut from top to bottom, and from left to right; [1, 2] for halves"
    )
    unassigned: UnassignedPolicy = setting(
        "error",
        "what a column does that no party names: stop with an error, or be left out of the federation",
        choices=get_args(UnassignedPolicy),
    )
    train_rows: int | None = setting(
        None, "number of training rows, for `check`, which reads no data; the audit counts them itself", unit="rows"
    )
    test_share: float = setting(0.2, "rows held out from training, to measure the model", unit="0 to 1")

    def __post_init__(self) -> None:
        if (self.by == "patches") != bool(self.grid):
            raise ScenarioError('grid must be given with by = "patches", and left out otherwise; [1, 2] cuts in halves')
        if self.grid and (len(self.grid) != 2 or not 1 <= min(self.grid) <= max(self.grid) <= MAX_GRID):
            raise ScenarioError(f"grid must be two whole numbers from 1 to {MAX_GRID:,}; got {list(self.grid)}")
        if self.train_rows is not None and not 1 <= self.train_rows <= MAX_ROWS:
            raise ScenarioError(f"train_rows must be from 1 to {MAX_ROWS:,}; got {self.train_rows}")
        if not 0 <= self.test_share < 1:
            raise ScenarioError(f"test_share must be at least 0 and below 1; got {self.test_share}")


@dataclass(frozen=True, kw_only=True)
class KnowledgeSpec:
    """An ``[adversary.knowledge]`` table: what the adversary knows of its victim beforehand."""

    cells: float = setting(0.0, "share of the victim's cells that it knows, drawn at random", unit="0 to 1")
    decimals: int = setting(-1, "to so many decimals, as they enter the training; -1 for all digits", unit="digits")
    ranges: bool = setting(False, "it knows the lowest and highest value of each of the victim's columns")
    kinds: bool = setting(False, "it knows which of the victim's columns are binary or whole numbers, and their steps")
    sample: int = setting(0, "rows of similar people, from the held-out rows, that it has", unit="rows")
    labels: int = setting(
        0, "rows of each class whose labels it knows, drawn at random (of labels that are numbers: rows)", unit="rows"
    )

    def __post_init__(self) -> None:
        if not 0 <= self.cells <= 1:
            raise ScenarioError(f"cells must be a share from 0 to 1; got {self.cells}")
        if not -1 <= self.decimals <= 15:
            raise ScenarioError(f"decimals must be from 0 to 15, or -1 for all digits; got {self.decimals}")
        for name in ("sample", "labels"):
            if not 0 <= getattr(self, name) <= MAX_ROWS:
                raise ScenarioError(f"{name} must be from 0 to {MAX_ROWS:,}; got {getattr(self, name)}")


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
    seed: int  # of what is public: splits, the order of batches, known cells, intervals
    data: DataSpec
    protocol: str
    settings: Settings
    partition: PartitionSpec
    parties: tuple[PartySpec, ...]
    adversaries: tuple[AdversarySpec, ...]
    defenses: tuple[Defense, ...]
    folder: Path | None = None  # where relative paths of data start: beside the scenario file


def check_scenario(scenario: Scenario) -> None:
    _check_roles(scenario)
    _check_columns(scenario.parties)
    _check_patches(scenario)
    _check_adversaries(scenario)
    _check_defenses(scenario)


def _check_roles(scenario: Scenario) -> None:
    allowed = PROTOCOLS.get(scenario.protocol).roles
    names = Counter(party.name for party in scenario.parties)
    for party in scenario.parties:
        if names[party.name] > 1:
            raise ScenarioError(f"federation.parties: two parties are called {party.name!r}")
        if party.role not in allowed:
            listed = ", ".join(sorted(role.value for role in allowed))
            raise ScenarioError(
                f"federation.parties: the role of {party.name!r} must be one of {listed} in {scenario.protocol}; "
                f"got {party.role.value!r}"
            )
    counts = Counter(party.role for party in scenario.parties)
    for role in sorted(allowed):
        if not counts[role] or (role not in DATA_ROLES and counts[role] > 1):
            wanted = "one party" if role not in DATA_ROLES else "a party"
            raise ScenarioError(
                f'federation.parties must have {wanted} with role = "{role.value}" in {scenario.protocol}; '
                f"got {counts[role]}"
            )


def _check_columns(parties: tuple[PartySpec, ...]) -> None:
    seen: dict[str, str] = {}
    for party in parties:
        if party.role not in DATA_ROLES and (party.columns or party.n_columns or party.share):
            raise ScenarioError(f"federation.parties: {party.name!r} is {party.role.value} and must hold no columns")
        for column in party.columns:
            if column in seen:
                raise ScenarioError(
                    f"federation.parties: the column {column!r} is claimed by {seen[column]!r} and {party.name!r}; "
                    "give it to one of them"
                )
            seen[column] = party.name


def _check_patches(scenario: Scenario) -> None:
    by_patches = scenario.partition.by == "patches"
    for party in scenario.parties:
        if party.patches and (not by_patches or party.role not in DATA_ROLES):
            raise ScenarioError(
                f'federation.parties: {party.name!r} must have no patches unless federation.partition.by = "patches" '
                "and its role is to hold data"
            )
        if by_patches and party.role is Role.PASSIVE and not party.patches:
            raise ScenarioError(f"federation.parties: {party.name!r} must name its patches, such as patches = [1]")
    if by_patches:
        patches_of(scenario)


def patches_of(scenario: Scenario) -> ByNamedPatches:
    """Who holds which part of the picture."""
    n_rows, n_columns = scenario.partition.grid
    held = {party.name: party.patches for party in scenario.parties if party.role in DATA_ROLES}
    try:
        return ByNamedPatches(held, (n_rows, n_columns), scenario.partition.unassigned)
    except DataError as error:
        raise ScenarioError(f"federation.parties: {error}") from error


def _check_adversaries(scenario: Scenario) -> None:
    if not scenario.adversaries:
        raise ScenarioError("adversary must name at least one adversary, in a table [[adversary]]")
    names = {party.name for party in scenario.parties}
    for index, adversary in enumerate(scenario.adversaries):
        _check_adversary(adversary, f"adversary[{index}]", names)
        first = scenario.adversaries.index(adversary)
        if first < index:
            raise ScenarioError(f"adversary[{index}] must differ from adversary[{first}]; leave one of them out")


def _check_adversary(adversary: AdversarySpec, place: str, names: set[str]) -> None:
    if not adversary.parties:
        raise ScenarioError(f"{place}.parties must name at least one party")
    for name in adversary.parties:
        if name not in names:
            raise ScenarioError(f"{place}: unknown party {name!r}{nearest_or_list(name, names)}")
        if adversary.parties.count(name) > 1:
            raise ScenarioError(f"{place}.parties must name each party once; got {name!r} twice")
    for attack in adversary.attacks:
        try:
            ATTACKS.get(attack)
        except UnknownNameError as error:
            raise ScenarioError(f"{place}.attacks: {error}") from error


def _check_defenses(scenario: Scenario) -> None:
    for index, defense in enumerate(scenario.defenses):
        first = scenario.defenses.index(defense)
        if first < index:
            raise ScenarioError(f"defense[{index}] must differ from defense[{first}]; leave one of them out")
        misfit = PROTOCOLS.get(scenario.protocol).misfit(defense)
        if misfit:
            raise ScenarioError(f"defense[{index}]: {misfit}; leave it out")
