"""The parties outside a coalition as one victim of all their columns: their scores reach it as one sum.

A table [X1 X2] with weights [W1; W2] gives the same scores as one party's of n1 + n2 columns, and trains by the same
rule. So the inner products come out as the sum over the parties, and known cells or values turn the whole table into
place, from which each party's columns are cut. Without them nothing tells the parties apart: a rotation of all columns
together changes no message. Of a single party's scores and products the mean over these rotations is then known.
"""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.adversary import together
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import DATA_ROLES
from fedleak.core.view import View


def outsiders(facts: Facts, coalition: tuple[str, ...]) -> tuple[PartyFacts, ...]:
    """Parties with columns that are not in the coalition."""
    return tuple(
        party
        for party in facts.parties
        if party.name not in coalition and party.role in DATA_ROLES and party.n_features != 0
    )


@dataclass(frozen=True)
class JointVictim:
    parties: tuple[PartyFacts, ...]
    target: str  # one of them, or all of them together

    @property
    def owners(self) -> tuple[str, ...]:
        return tuple(party.name for party in self.parties)

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(map(_width, self.parties))

    @property
    def width(self) -> int:
        return sum(self.widths)

    @property
    def columns(self) -> slice:
        """The target's, among those of all owners."""
        if self.target not in self.owners:
            return slice(0, self.width)
        place = self.owners.index(self.target)
        start = sum(self.widths[:place])
        return slice(start, start + self.widths[place])

    @property
    def n_columns(self) -> int:
        """Of the target."""
        return int(self.columns.stop - self.columns.start)

    @property
    def several(self) -> bool:
        return len(self.parties) > 1

    @property
    def divided(self) -> bool:
        """One of several is asked for."""
        return self.several and self.target in self.owners

    @property
    def share(self) -> float:
        """What rotations of all columns leave the target of the sum, in the mean: its share of the columns."""
        return self.n_columns / self.width if self.divided else 1.0

    @property
    def how_divided(self) -> str:
        return (
            f"the sum over {' and '.join(self.owners)} is determined and how it divides is not: "
            f"{self.target} is given its share of the columns, {self.n_columns} of {self.width}"
        )


def joint_victim(view: View) -> JointVictim:
    found = outsiders(view.facts, view.coalition)
    owners, target = [party.name for party in found], view.target.owner
    if target not in owners and target != together(owners):
        raise MissingFromViewError(f"the target must be outside the coalition, with columns; got {target}")
    return JointVictim(found, target)


def _width(party: PartyFacts) -> int:
    if party.n_features is None:
        raise MissingFromViewError(f"the number of columns of {party.name} must be public; it is not known")
    return party.n_features
