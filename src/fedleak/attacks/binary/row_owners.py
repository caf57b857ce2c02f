"""Whose records are whose, from rounds in which a party is missing (Li et al. 2019, section 3.4, taken further).

A sum of updates hides who sent what. But a round without a party is the sum over the others' rows alone, and with all
records known it is linear in how many of each kind of record each party has:

    Δ(t) = λ Σ_g Σ_{p sent} k_gp x_g (x_g·θ/4 − y_g/2),    Σ_p k_gp = m_g,    Σ_g k_gp = m_p,

d equations a round. The numbers of rows are public. Where the system determines a party's counts, they are whole
numbers, and its records follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedleak.attacks.binary.binary_records import BinaryRecords
from fedleak.attacks.binary.completed_rows import determined_unknowns
from fedleak.attacks.binary.observations import Observations, SummedRound, observations, summed_rounds
from fedleak.attacks.verdicts import from_assessment
from fedleak.core.adversary import Capability, Secret, SecretKind, Symmetry, together
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.theory.missing_parties import MissingParties

WHOLE = 0.05  # a count is this close to a whole number, and its error below it
EXPLAINED = 8.0  # times the rounding of an update


class RowOwners(Attack):
    name = "row-owners"
    summary = "tells whose records are whose, from rounds in which a party is missing"
    reference = Reference("fedleak", "beyond li2019, section 3.4")
    requires = frozenset({Capability.UPDATE_SUM, Capability.AVERAGED_WEIGHTS, Capability.SENDERS})
    preloads = BinaryRecords.preloads
    produces = SecretKind.RECORDS
    up_to = frozenset({Symmetry.ROW_ORDER})
    apart = True

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        seen = observations(view)
        names = [party.name for party in seen.outsiders]
        lacking = [one for one in summed_rounds(view) if len(one.senders) < len(names)]
        if not lacking:  # any other division of the rows leaves every message as it is
            return _silent(view, seen, Status.NOT_IDENTIFIABLE, "nobody outside is missing in any round")
        if seen.local_steps or any(len(party.batch_sizes) > 1 or party.shuffled for party in seen.outsiders):
            return _silent(view, seen, Status.UNDETERMINED, "updates are not of all rows of each party at once")
        union = BinaryRecords().run(replace(view, target=Secret(self.produces, together(names))), rng=rng)
        if union.status is not Status.RECOVERED:
            return _silent(view, seen, Status.UNDETERMINED, f"the records of all outside are open: {union.why}")
        return _divided(view, seen, lacking, union)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(MissingParties.assess(facts), if_fails=MissingParties.if_fails(facts))


@dataclass(frozen=True, eq=False)
class _Division:
    """Unknowns k_gp, a party after the other; equations with an error of ``scale`` each."""

    kinds: FloatArray  # distinct records
    system: FloatArray
    right: FloatArray
    scale: FloatArray


def _divided(view: View, seen: Observations, lacking: Sequence[SummedRound], union: Guess) -> Guess:
    division = _division(seen, lacking, union.values)
    place = [party.name for party in seen.outsiders].index(view.target.owner)
    mine = slice(place * len(division.kinds), (place + 1) * len(division.kinds))
    inverse = np.linalg.pinv(division.system, rcond=1e-10)
    counts = inverse @ division.right
    evidence = {
        "rounds without somebody": len(lacking),
        "kinds of records": len(division.kinds),
        "rank": int(np.linalg.matrix_rank(division.system, tol=1e-9 * float(np.linalg.norm(division.system, 2)))),
        "unknowns": division.system.shape[1],
    }
    known = determined_unknowns(division.system)[mine]
    error = 4 * np.sqrt(np.square(inverse[mine]) @ np.square(division.scale))
    off = np.abs(division.system @ counts - division.right)
    if not (off <= EXPLAINED * division.scale + 1e-9).all():
        return _silent(view, seen, Status.UNDETERMINED, "no division of the records explains the sums", evidence)
    whole = np.rint(counts[mine])
    if not known.all() or (np.maximum(error, np.abs(counts[mine] - whole)) > WHOLE).any() or (whole < 0).any():
        why = f"the rounds without somebody determine {int(known.sum())} of {len(known)} kinds of records"
        return _silent(view, seen, Status.UNDETERMINED, why, evidence)
    rows = np.repeat(division.kinds, whole.astype(np.int64), axis=0)
    why = f"{len(lacking)} rounds without somebody divide the records in one way"
    spare = division.system.shape[0] - evidence["rank"]
    proof = f"{union.certificate}; {why}, with {spare} equations to spare" if union.certificate and spare else ""
    return Guess(
        view.target, Status.RECOVERED, np.arange(len(rows)), rows, evidence=evidence, why=why, certificate=proof
    )


def _division(seen: Observations, lacking: Sequence[SummedRound], records: FloatArray) -> _Division:
    kinds, sizes = np.unique(records, axis=0, return_counts=True)
    names = [party.name for party in seen.outsiders]
    of_kinds = np.tile(np.eye(len(kinds)), (1, len(names)))
    of_parties = np.repeat(np.eye(len(names)), len(kinds), axis=1)
    rounds = [_of_round(one, kinds, names) for one in lacking]
    sums = [one.update / one.rate for one in lacking]
    exact = np.zeros(len(kinds) + len(names))
    rounding = np.concatenate([np.full(len(one.update), len(names) * seen.noise / one.rate) for one in lacking])
    return _Division(
        kinds,
        np.vstack([of_kinds, of_parties, *rounds]),
        np.concatenate([sizes, [party.n_rows for party in seen.outsiders], *sums]),
        np.concatenate([exact, rounding]),
    )


def _of_round(one: SummedRound, kinds: FloatArray, names: Sequence[str]) -> FloatArray:
    """∇ = Σ x (x·θ/4 − y/2), y = ±1 (section 3.1), of one record of each kind, for the parties that sent."""
    features, signs = kinds[:, :-1], 2 * kinds[:, -1] - 1
    pushes = (features * (features @ one.model / 4 - signs / 2)[:, None]).T
    return np.hstack([pushes if name in one.senders else np.zeros_like(pushes) for name in names])


def _silent(view: View, seen: Observations, status: Status, why: str, evidence: dict[str, int] | None = None) -> Guess:
    n_rows = next(party.n_rows for party in seen.outsiders if party.name == view.target.owner)
    ids = np.arange(n_rows)
    return Guess(
        view.target, status, ids, np.full((n_rows, seen.n_columns + 1), np.nan), evidence=evidence or {}, why=why
    )
