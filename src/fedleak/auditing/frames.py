"""A table and a few words about it, as a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from fedleak.auditing.scenario import PartitionSpec
from fedleak.core.errors import InputError
from fedleak.core.steps import DATA_ROLES, Role
from fedleak.core.whole.protocol import Protocol
from fedleak.data.spec import DataSpec
from fedleak.protocols import PROTOCOLS

Holding = Sequence[str] | int | float | str  # columns by name, how many, a share, or the role of one that holds none
Parties = Mapping[str, Holding] | Sequence[str]
Adversaries = Sequence[str | Sequence[str] | Mapping[str, object]]
DEFAULT_PROTOCOL = "vertical-logistic"
OF_THE_DATA = frozenset(field.name for field in fields(DataSpec)) - {"source", "target"}
OF_THE_PARTITION = frozenset(field.name for field in fields(PartitionSpec))
ON_TOP = ("title", "seed")


@dataclass(frozen=True, eq=False)
class FrameOptions:
    target: str | None = None
    parties: Parties | None = None
    labels: str | None = None
    protocol: str | None = None
    adversaries: Adversaries | None = None
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def named(self) -> list[str]:
        """Those that somebody gave."""
        own = ("target", "parties", "labels", "protocol", "adversaries")
        return [name for name in own if getattr(self, name) is not None] + list(self.settings)


def raw_scenario(n_rows: int, options: FrameOptions, source: str = "in memory") -> dict[str, object]:
    """A dictionary of a scenario's shape. Every setting goes to the table that has a key of that name."""
    protocol = PROTOCOLS.get(options.protocol or DEFAULT_PROTOCOL)
    holdings = _holdings(options.parties)
    parties = _party_tables(holdings, options.labels, protocol)
    settings = dict(options.settings)
    top = {name: settings.pop(name) for name in ON_TOP if name in settings}
    data = {name: settings.pop(name) for name in sorted(OF_THE_DATA & settings.keys())}
    partition = {name: settings.pop(name) for name in sorted(OF_THE_PARTITION & settings.keys())}
    partition = {"by": _dealt_by(holdings, protocol), **_train_rows(n_rows, {**data, **partition}), **partition}
    return {
        "title": "a data frame",
        **top,
        "data": {"source": source, **({"target": options.target} if options.target else {}), **data},
        "federation": {"protocol": protocol.name, **settings, "partition": partition, "parties": parties},
        "adversary": [_adversary(item) for item in options.adversaries or [str(party["name"]) for party in parties]],
    }


def _holdings(parties: Parties | None) -> Mapping[str, Holding]:
    if parties is None:
        raise InputError('parties must say who holds what, such as {"bank": ["income"], "shop": ["basket"]}; got none')
    if isinstance(parties, Mapping):
        return parties
    return {name: 1 / len(parties) for name in parties}


def _party_tables(
    holdings: Mapping[str, Holding], labels: str | None, protocol: type[Protocol]
) -> list[dict[str, object]]:
    """The first party holds the labels unless another is named; where nobody is passive, all have their own."""
    members = [name for name, held in holdings.items() if not isinstance(held, str)]
    holder = labels or next(iter(members), None)
    if labels is not None and labels not in members:
        raise InputError(f"labels must name one of the parties that hold data ({', '.join(members)}); got {labels!r}")
    tables: list[dict[str, object]] = []
    for name, held in holdings.items():
        active = name == holder or Role.PASSIVE not in protocol.roles
        role = Role.ACTIVE.value if active else Role.PASSIVE.value
        tables.append({"name": name, **({"role": held} if isinstance(held, str) else {"role": role, **_held(held)})})
    given = {table["role"] for table in tables}
    helpers: list[dict[str, object]] = [
        {"name": role.value, "role": role.value} for role in sorted(protocol.roles - DATA_ROLES)
    ]
    return tables + [table for table in helpers if table["role"] not in given]


def _held(held: Sequence[str] | float) -> dict[str, object]:
    if isinstance(held, bool | int):
        return {"n_columns": held}
    return {"share": held} if isinstance(held, float) else {"columns": [str(column) for column in held]}


def _dealt_by(holdings: Mapping[str, Holding], protocol: type[Protocol]) -> str:
    if Role.PASSIVE not in protocol.roles:
        return "rows"
    return "ratio" if any(isinstance(held, int | float) for held in holdings.values()) else "columns"


def _train_rows(n_given: int, settings: Mapping[str, object]) -> dict[str, object]:
    """For a check, which reads no cell; unknown where cells decide which rows stay. An audit counts them itself."""
    held_out, most = settings.get("test_share", PartitionSpec.test_share), settings.get("max_rows") or n_given
    by_cells = settings.get("classes") or settings.get("missing") == "drop"
    if by_cells or not isinstance(held_out, int | float) or not isinstance(most, int):
        return {}
    n_rows = min(n_given, most)
    n_trained = n_rows - round(held_out * n_rows)
    return {"train_rows": n_trained} if n_trained > 0 else {}


def _adversary(item: str | Sequence[str] | Mapping[str, object]) -> dict[str, object]:
    if isinstance(item, Mapping):
        return dict(item)
    return {"parties": [item] if isinstance(item, str) else list(item)}
