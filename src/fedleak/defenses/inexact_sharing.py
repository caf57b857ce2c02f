"""What a party shares while training, made less exact: Gaussian noise, or only the largest entries.

The party changes the copy that it sends and keeps its own exact, so that its partners' view is blurred and its own use
is not. Scores before encryption: noise of a given size, or calibrated by a privacy budget. Updates before masking:
noise, or zeros for all but the largest entries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import ceil, inf
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array
from fedleak.core.steps import DATA_ROLES, NOISE, Role, Step
from fedleak.core.whole.federation import Federation, setting
from fedleak.core.whole.hooks import Defense, Hook, HookKind, LocalState
from fedleak.protocols.averaging import vocabulary as averaging
from fedleak.protocols.linear import vocabulary as linear
from fedleak.theory.privacy_budget import NoiseLevels, check_budget, noise_levels


@dataclass(frozen=True)
class GaussianNoise(Defense):
    """Partners' gradients are noised; the party's own use of its scores is not."""

    name = "gaussian-noise"
    summary = "adds Gaussian noise to the scores that a party encrypts for others"
    reference = Reference("hu2022", "algorithm 3")
    acts_at = frozenset({linear.SHARED_SCORE})

    sigma: float = setting(1.0, "standard deviation of the noise on f = theta x - 2y", unit="score", tells_less="more")
    parties: tuple[str, ...] = setting((), "who adds it; every data party if empty")

    def __post_init__(self) -> None:
        if not 0 < self.sigma < inf:
            raise InputError(f"sigma of gaussian-noise must be above 0 and finite; got {self.sigma}")
        if len(set(self.parties)) < len(self.parties):
            raise InputError(f"parties of gaussian-noise must differ; got {', '.join(self.parties)}")

    def declare(self, facts: Facts) -> Facts:
        noisy = [party.name for party in facts.parties if party.role in DATA_ROLES]
        return facts.with_score_noise(dict.fromkeys(self.parties or noisy, self.sigma))

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        everyone = [party.name for party in federation.parties if party.role in DATA_ROLES]
        for name in self.parties:
            if name not in everyone:
                raise InputError(f"parties must be among those with data, {', '.join(everyone)}; got {name!r}")
        noise = partial(_add_noise, step=linear.SHARED_SCORE, sigma=self.sigma)
        return tuple(Hook(linear.SHARED_SCORE, HookKind.SEND, name, noise) for name in self.parties or everyone)


@dataclass(frozen=True)
class DpPaillier(Defense):
    """Lines 3 and 6: each party noises the copy that it encrypts. Lines 5 and 8: its own exact share stays exact."""

    name = "dp-paillier"
    aliases = ("dp-paillier-mgd",)
    summary = "Gaussian noise on shared scores, calibrated by an (epsilon, delta) budget"
    reference = Reference("hu2022", "algorithm 3, eqs. 71 and 72")
    acts_at = frozenset({linear.SHARED_SCORE})

    epsilon: float = setting(
        0.5, "privacy budget of the whole training; below 1, where the bound is proved", tells_less="fewer"
    )
    delta: float = setting(0.1, "probability that is left out of the budget")
    gradient_bound: float = setting(1.0, "G: the path is assumed to keep ‖θ‖ within 4G − 2 (eq. 41)")
    rounds: int = setting(0, "T of eqs. 71 and 72; the true number of rounds if 0 (the paper's experiments take 30)")
    as_printed: bool = setting(False, "put all of eqs. 71 and 72 under the root, as they are typeset: less noise")

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta)
        if not 0.5 < self.gradient_bound < inf:
            raise InputError(f"gradient_bound of dp-paillier must be above 0.5 and finite; got {self.gradient_bound}")
        if self.rounds < 0:
            raise InputError(f"rounds of dp-paillier must be 0 or more; got {self.rounds}")

    def levels(self, *, epochs: int, rounds: int, learning_rate: float, batch_size: int) -> NoiseLevels:
        return noise_levels(
            epsilon=self.epsilon,
            delta=self.delta,
            epochs=epochs,
            rounds=self.rounds or rounds,
            learning_rate=learning_rate,
            batch_size=batch_size,
            gradient_bound=self.gradient_bound,
            as_printed=self.as_printed,
        )

    def declare(self, facts: Facts) -> Facts:
        """Everybody knows the budget, hence both deviations."""
        facts = facts.with_own(linear.LinearFacts, epsilon=self.epsilon, delta=self.delta)
        if facts.n_epochs is None or facts.n_rounds is None or not facts.learning_rate or not facts.batch_size:
            return replace(facts, score_noise=None)
        levels = self.levels(
            epochs=facts.n_epochs,
            rounds=facts.n_rounds,
            learning_rate=facts.learning_rate,
            batch_size=facts.batch_size,
        )
        by_role = {Role.ACTIVE: levels.active, Role.PASSIVE: levels.passive}
        noisy = {party.name: by_role[party.role] for party in facts.parties if party.role in by_role}
        return facts.with_score_noise(noisy)

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        levels = self._levels_in(federation)
        by_role = {Role.ACTIVE: levels.active, Role.PASSIVE: levels.passive}
        return tuple(
            Hook(
                linear.SHARED_SCORE,
                HookKind.SEND,
                party.name,
                partial(_add_noise, step=linear.SHARED_SCORE, sigma=by_role[party.role]),
            )
            for party in federation.parties
            if party.role in by_role
        )

    def notes(self, federation: Federation) -> tuple[str, ...]:
        levels = self._levels_in(federation)
        claim = "no proof covers the noise as printed" if self.as_printed else "a heuristic: proved for noiseless paths"
        return (
            f"noise of deviation {levels.active:.4g} (active) and {levels.passive:.4g} (passive) on shared scores",
            f"({self.epsilon:g}, {self.delta:g}) is about one row's presence in the whole table, {claim} with "
            f"‖θ‖ ≤ {4 * self.gradient_bound - 2:g}; parties know each other's rows anyway. It does not bound what is "
            "learnt about a label or a value, nor what the trained weights give away",
        )

    def _levels_in(self, federation: Federation) -> NoiseLevels:
        settings = federation.settings
        n_rows = max(len(party.train.ids) for party in federation.parties)
        batch_size, epochs = (_whole(settings, name) for name in ("batch_size", "epochs"))
        rate = getattr(settings, "learning_rate", None)
        if not isinstance(rate, float):
            raise InputError(f"dp-paillier must have a protocol with a learning rate; got {federation.protocol}")
        rounds = max(1, epochs * -(-n_rows // batch_size))
        return self.levels(epochs=epochs, rounds=rounds, learning_rate=rate, batch_size=batch_size)


def _whole(settings: object, name: str) -> int:
    value = getattr(settings, name, None)
    if not isinstance(value, int):
        raise InputError(f"dp-paillier must have a protocol with the setting {name}; got {type(settings).__name__}")
    return value


@dataclass(frozen=True)
class UpdateNoise(Defense):
    """The noise is added before the update is masked and summed."""

    name = "update-noise"
    summary = "adds Gaussian noise to every entry of the update that a party sends"
    reference = Reference("fedleak", "Gaussian mechanism on updates")
    acts_at = frozenset({averaging.LOCAL_UPDATE})

    sigma: float = setting(
        0.01, "standard deviation of the noise on an entry of an update", unit="weight", tells_less="more"
    )
    parties: tuple[str, ...] = setting((), "who adds it; every party with rows if empty")

    def __post_init__(self) -> None:
        if not self.sigma > 0:
            raise InputError(f"sigma of update-noise must be above 0; got {self.sigma}")

    def declare(self, facts: Facts) -> Facts:
        return facts.with_own(averaging.HorizontalLogisticFacts, update_noise=self.sigma)

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        return _at_updates(federation, self.parties, partial(_add_noise, step=averaging.LOCAL_UPDATE, sigma=self.sigma))


@dataclass(frozen=True)
class SelectiveSharing(Defense):
    """After Shokri and Shmatikov 2015."""

    name = "selective-sharing"
    aliases = ("top-k",)
    summary = "sends only the largest entries of an update, and zeros for the others"
    reference = Reference("li2019", "section 4.2")
    acts_at = frozenset({averaging.LOCAL_UPDATE})

    fraction: float = setting(0.5, "share of the entries that are sent", unit="0 to 1", tells_less="fewer")
    parties: tuple[str, ...] = setting((), "who selects; every party with rows if empty")

    def __post_init__(self) -> None:
        if not 0 < self.fraction < 1:
            raise InputError(f"fraction of selective-sharing must be between 0 and 1; got {self.fraction}")

    def declare(self, facts: Facts) -> Facts:
        return facts.with_own(averaging.HorizontalLogisticFacts, shared_fraction=self.fraction)

    def hooks(self, federation: Federation) -> tuple[Hook[Any], ...]:
        return _at_updates(federation, self.parties, self._select)

    def _select(self, update: FloatArray, local: LocalState, rng: np.random.Generator) -> FloatArray:
        n_sent = ceil(self.fraction * len(update))
        largest = np.argsort(-np.abs(update), kind="stable")[:n_sent]
        sent = np.zeros_like(update)
        sent[largest] = update[largest]
        return sent


def _at_updates(federation: Federation, parties: tuple[str, ...], act: Any) -> tuple[Hook[Any], ...]:
    """A hook on the update of every named party; of every party with rows where none is named."""
    everyone = [party.name for party in federation.with_role(Role.ACTIVE)]
    for name in parties:
        federation.party(name)
    return tuple(Hook(averaging.LOCAL_UPDATE, HookKind.SEND, name, act) for name in parties or everyone)


def _add_noise(
    sent: FloatArray, local: LocalState, rng: np.random.Generator, *, step: Step[FloatArray], sigma: float
) -> FloatArray:
    """The party remembers the noise; only it has both copies."""
    noise = sigma * rng.standard_normal(len(sent))
    local.record(step, NOISE, Array(noise))
    return sent + noise
