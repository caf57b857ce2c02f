"""Run a row of table 2 or 3: the real protocol, on one recurring batch or on shuffled mini-batches."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray
from fedleak.core.knowledge import Knowledge
from fedleak.core.view import View
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.randomness import Randomness
from fedleak.deviations.extra_columns import FakeFeatures
from fedleak.papers.dealing import deal_columns
from fedleak.papers.li2021.printed import VerticalCase
from fedleak.papers.li2021.tables import independent_columns, paper_table, spanning_rows
from fedleak.protocols.linear.linear_settings import LINEAR, LOGISTIC
from fedleak.protocols.linear.vertical_arbiter import (
    VerticalArbiterSettings,
    VerticalLinearArbiter,
    VerticalLinearArbiterSettings,
    VerticalLogisticArbiter,
    VerticalLogisticArbiterSettings,
)
from fedleak.trial.play import Played, play

ATTACKER, VICTIM, ARBITER = "attacker", "victim", "arbiter"
PROTOCOL_NAMES = {True: VerticalLogisticArbiter.name, False: VerticalLinearArbiter.name}  # by: logistic
L2 = 0.01
FAKE_SCALE = 0.5
RECURRING_ROUNDS = 200
RECURRING_STEP = 1.8  # of the largest stable step, which is 2
SHUFFLED_STEP = 0.4
SOLID = 1e-5  # singular values below this share of the largest count as missing
N_RANK_CHECKS = 20
SPARE_FAKES = 6  # for batches with fewer independent rows than those that were looked at
MORE_EPOCHS = 10  # than the N + 1 that determine the inner products of N rows


@dataclass(frozen=True, eq=False)
class VerticalRun:
    played: Played
    rows: FloatArray  # the victim's, as the truth has them
    n_fake: int
    n_rounds: int
    shuffled: bool

    def view(self, knowledge: Knowledge | None = None) -> View:
        """The attacker's, for the steps of the inversion, which are measured one by one."""
        return self.played.view((ATTACKER,), Secret(SecretKind.FEATURES, VICTIM), knowledge)


def run_case(
    case: VerticalCase, *, logistic: bool, shuffled: bool, seed: int, fraction_bits: int = 40, n_rounds: int = 0
) -> VerticalRun:
    """``shuffled``: twice as many rows as the paper's, in batches of its size. Otherwise its rows again and again."""
    rng = np.random.default_rng([seed, case.victim_features, case.samples, int(shuffled)])
    table = paper_table(case.dataset, binary=logistic)
    victim_columns = independent_columns(table.values, case.victim_features, rng)
    others = rng.permutation(np.setdiff1d(np.arange(table.values.shape[1]), victim_columns))
    attacker_columns = others[: case.attacker_features]
    n_rows = 2 * case.samples if shuffled else case.samples
    rows = spanning_rows(table.values[:, victim_columns], n_rows, rng)
    own, theirs = table.values[np.ix_(rows, attacker_columns)], table.values[np.ix_(rows, victim_columns)]
    n_fake = _fakes(own, case, rng)
    settings = _settings(case, logistic, shuffled, n_rounds or RECURRING_ROUNDS, fraction_bits)
    settings = replace(settings, learning_rate=_rate(own, theirs, n_fake, logistic, shuffled))
    federation = federation_of(own, theirs, table.labels[rows], settings, logistic)
    fakes = FakeFeatures(count=n_fake, scale=FAKE_SCALE) if n_fake else None
    played = play(federation, Randomness.published(seed, "li2021"), deviation=fakes, deviating=ATTACKER)
    n_epochs = settings.epochs
    return VerticalRun(played, theirs, n_fake, n_epochs * -(-n_rows // case.samples), shuffled)


def _fakes(own: FloatArray, case: VerticalCase, rng: np.random.Generator) -> int:
    """The paper's number, or as many more as the attacker's real columns are short of rank in some batch."""
    n_batches = N_RANK_CHECKS if len(own) > case.samples else 1
    batches = [own[rng.permutation(len(own))[: case.samples]] for _ in range(n_batches)]
    lowest = min(_solid_rank(batch) for batch in batches)
    missing = case.samples - lowest
    return max(case.fake_features, missing + (SPARE_FAKES if missing and n_batches > 1 else 0))


def _solid_rank(values: FloatArray) -> int:
    singular = np.linalg.svd(values, compute_uv=False)
    return int(np.sum(singular > SOLID * singular[0]))


def _rate(own: FloatArray, theirs: FloatArray, n_fake: int, logistic: bool, shuffled: bool) -> float:
    """A share of the largest stable step: 2 over the largest curvature of the whole model."""
    slope = (LOGISTIC if logistic else LINEAR).residual.slope
    curvature = float(np.linalg.norm(np.hstack([own, theirs]), 2) ** 2) / len(own) + n_fake * FAKE_SCALE**2
    return (SHUFFLED_STEP if shuffled else RECURRING_STEP) / (slope * curvature)


def _settings(
    case: VerticalCase, logistic: bool, shuffled: bool, n_rounds: int, fraction_bits: int
) -> VerticalArbiterSettings:
    kind = VerticalLogisticArbiterSettings if logistic else VerticalLinearArbiterSettings
    return kind(
        batch_size=case.samples,
        epochs=2 * case.samples + 1 + MORE_EPOCHS if shuffled else n_rounds,
        shuffle=shuffled,
        initialisation="normal",
        cipher="sealed",
        key_bits=1024,
        fraction_bits=fraction_bits,
        l2=L2,
        loss=False,
        prediction_service=True,
    )


def federation_of(
    own: FloatArray, theirs: FloatArray, labels: FloatArray, settings: VerticalArbiterSettings, logistic: bool
) -> Federation:
    n_own, n_theirs = own.shape[1], theirs.shape[1]
    names = [*(f"own{index}" for index in range(n_own)), *(f"their{index}" for index in range(n_theirs))]
    shares = {ATTACKER: range(n_own), VICTIM: range(n_own, n_own + n_theirs)}
    parties = deal_columns(np.hstack([own, theirs]), names, labels, shares, arbiter=ARBITER)
    return Federation(PROTOCOL_NAMES[logistic], parties, settings)
