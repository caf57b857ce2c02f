"""Who holds what of a drawn table: the adversary's part is drawn once, the victim's for every table anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedleak.calibration.populations import Population
from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Settings, Slice

BANK, FINTECH, REFEREE = "bank", "fintech", "referee"
HOSPITAL, CLINIC, LAB, HUB = "hospital", "clinic", "lab", "hub"
HELPERS = {Role.ARBITER: REFEREE, Role.SERVER: HUB}
N_TRAINED = 40  # rows that a served model is trained on, beside those that it predicts
N_LAB_ROWS = 3
N_OWN_ROWS = 24  # of the adversary, where parties hold rows of their own
N_CLASSES = 3  # of a served model
Draw = np.random.Generator


@dataclass(frozen=True, eq=False)
class Layout:
    """``federation`` completes a victim's latent cells; labels that are the victim's come from the generator."""

    victim: str
    own: FloatArray  # what the adversary has of the victim's rows
    width: int  # columns of the victim
    federation: Callable[[FloatArray, Draw], Federation]


LayoutOf = Callable[[Population, int, Settings, Draw], Layout]


@dataclass(frozen=True)
class Vertical:
    """Columns of the same rows, or pixels of the same pictures, as many a side. The bank has the labels: its partner's
    view says something of them, or they are its own and its partner's columns are the secret."""

    protocol: str
    adversary: str
    n_own: int
    n_hidden: int
    helper: Role | None = None
    side: int = 0

    def __call__(self, population: Population, n: int, settings: Settings, rng: Draw) -> Layout:
        own = population.latent(np.zeros((n, 0)), self.n_own, rng)
        if self.adversary == FINTECH:
            return Layout(BANK, own, self.n_hidden, self._of_the_bank(population, own, settings))
        labels = population.classes(own, rng)
        known = np.column_stack([own, 2.0 * labels - 1])
        held = _party(BANK, Role.ACTIVE, self._cells(population, own), labels)
        return Layout(FINTECH, known, self.n_hidden, self._of_the_fintech(population, held, settings))

    def _of_the_bank(self, population: Population, own: FloatArray, settings: Settings) -> Callable[..., Federation]:
        held = _party(FINTECH, Role.PASSIVE, population.link(own))

        def federation(latent: FloatArray, rng: Draw) -> Federation:
            # Where own columns tell of hidden ones, they tell of labels too, by a rule that each table has for itself.
            labels = population.classes(np.hstack([own, latent]) if population.slope else latent, rng)
            return self._together(_party(BANK, Role.ACTIVE, population.link(latent), labels), held, settings)

        return federation

    def _of_the_fintech(self, population: Population, held: Party, settings: Settings) -> Callable[..., Federation]:
        def federation(latent: FloatArray, _rng: Draw) -> Federation:
            return self._together(held, _party(FINTECH, Role.PASSIVE, self._cells(population, latent)), settings)

        return federation

    def _cells(self, population: Population, latent: FloatArray) -> FloatArray:
        return pictures(population, latent, self.side) if self.side else population.link(latent)

    def _together(self, bank: Party, fintech: Party, settings: Settings) -> Federation:
        helpers = (_helper(HELPERS[self.helper], self.helper),) if self.helper else ()
        return Federation(self.protocol, (bank, fintech, *helpers), settings)


def served(population: Population, n: int, settings: Settings, rng: Draw) -> Layout:
    """A served model: the bank sees predictions of ``n`` rows, of which the fintech has two columns."""
    own = population.latent(np.zeros((n + N_TRAINED, 0)), 2, rng)

    def federation(latent: FloatArray, rng: Draw) -> Federation:
        labels = population.classes(np.hstack([own, 2 * latent]), rng, n_classes=N_CLASSES)
        bank = _party(BANK, Role.ACTIVE, _in_unit_box(population, own), labels)
        return Federation(
            "vertical-prediction",
            (bank, _party(FINTECH, Role.PASSIVE, _in_unit_box(population, latent))),
            settings,
        )

    return Layout(FINTECH, own, 2, federation)


N_CONSTANT = 10


def one_among_constants(population: Population, n: int, settings: Settings, rng: Draw) -> Layout:
    """The same, where the fintech has one column that tells something, the first, beside ten constant ones."""
    beside = np.full((n + N_TRAINED, N_CONSTANT), 0.5)
    whole = served(population, n, settings, rng)

    def federation(latent: FloatArray, rng: Draw) -> Federation:
        bank, fintech = whole.federation(latent, rng).parties
        features = np.hstack([fintech.train.features[:, :1], beside])
        return Federation("vertical-prediction", (bank, _party(FINTECH, Role.PASSIVE, features)), settings)

    return replace(whole, federation=federation)


def _in_unit_box(population: Population, latent: FloatArray) -> FloatArray:
    """By a public rule: the values that all but a few cells have, onto 0 to 1."""
    low, high = population.link(np.array([-5.0, 5.0])) if population.name != "constant" else (-5.0, 5.0)
    return np.clip((population.link(latent) - low) / (high - low), 0.0, 1.0)


def pictures(population: Population, latent: FloatArray, side: int) -> FloatArray:
    """Grey ones, of so many pixels a side."""
    return _in_unit_box(population, latent).reshape(len(latent), side, -1, 1)


@dataclass(frozen=True)
class Horizontal:
    """Rows of a hospital, which is the adversary, and of a clinic, with shifts of its own; with ``lab`` also of a third
    party outside. With ``by_server`` the adversary is the server alone, and the hospital's rows are hidden too. With a
    ``side``, rows are pictures of so many pixels a side."""

    protocol: str
    width: int
    regression: bool
    lab: bool = False
    by_server: bool = False
    side: int = 0

    def __call__(self, population: Population, n: int, settings: Settings, rng: Draw) -> Layout:
        nothing = np.zeros((n, 0))

        def draw_hospital(rng: Draw) -> Party:
            theirs = population.latent(np.zeros((N_OWN_ROWS, 0)), self.width, rng)
            return self._party(HOSPITAL, population, theirs, rng, first=1000)

        own = draw_hospital(rng)

        def federation(latent: FloatArray, rng: Draw) -> Federation:
            hospital = draw_hospital(rng) if self.by_server else own
            others = [self._party(CLINIC, population, latent, rng, first=0), _helper(HUB, Role.SERVER)]
            if self.lab:
                theirs = population.latent(np.zeros((N_LAB_ROWS, 0)), self.width, rng)
                others.append(self._party(LAB, population, theirs, rng, first=2000))
            return Federation(self.protocol, (hospital, *others), settings)

        return Layout(CLINIC, nothing, self.width, federation)

    def _party(self, name: str, population: Population, latent: FloatArray, rng: Draw, *, first: int) -> Party:
        labels: AnyArray = population.outcomes(latent, rng) if self.regression else population.classes(latent, rng)
        cells = pictures(population, latent, self.side) if self.side else population.link(latent)
        party = _party(name, Role.ACTIVE, cells, labels)
        columns = tuple(f"column{index}" for index in range(self.width))
        return replace(party, columns=columns, train=replace(party.train, ids=party.train.ids + first))


def _party(name: str, role: Role, features: FloatArray, labels: AnyArray | None = None) -> Party:
    columns = tuple(f"{name}{index}" for index in range(features[0].size))
    return Party(name, role, columns, Slice(np.arange(len(features)), features, labels))


def _helper(name: str, role: Role) -> Party:
    return Party(name, role, (), Slice(np.zeros(0, dtype=np.int64), np.zeros((0, 0))))


def with_unit_rows(federations: Sequence[Federation]) -> tuple[Federation, ...]:
    """All divided by one number, so that no row of any of them is longer than 1, as preprocessing can guarantee."""
    longest = max(_longest_row(federation) for federation in federations)
    return tuple(
        replace(federation, parties=tuple(_divided(party, longest) for party in federation.parties), max_row_norm=1.0)
        for federation in federations
    )


def _longest_row(federation: Federation) -> float:
    rows = np.hstack([party.train.features for party in federation.parties if len(party.train.ids)])
    return float(np.linalg.norm(rows, axis=1).max())


def _divided(party: Party, by: float) -> Party:
    return replace(party, train=replace(party.train, features=party.train.features / by))
