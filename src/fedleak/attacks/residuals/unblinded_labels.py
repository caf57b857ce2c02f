"""Labels from residuals that are not blinded, also where scores are so large that signs do not tell them.

Opened, a value is slope x (score - target). Three things tell the label, and they are put together: batches that recur
show the directions in which scores move (``batch_visits``), which proves labels where few directions and many rows are
seen to the last digit; one regression over all rows on those directions and the own columns, whose two branches the
labels are (``label_mixture``); and the last bits of floating-point numbers (``rounding_evidence``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.residuals.batch_visits import Visits, recurring, series_of
from fedleak.attacks.residuals.label_mixture import Mixture
from fedleak.attacks.residuals.own_side import OwnNoise, OwnScore, own_members
from fedleak.attacks.residuals.rounding_evidence import log_ratio, precision_of
from fedleak.attacks.residuals.unblinded_exchange import BLINDED, OPENS, opened_rounds, predicted_opening
from fedleak.attacks.verdicts import nothing
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray, IntArray, positions_of
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array
from fedleak.core.steps import FEATURES
from fedleak.core.view import View
from fedleak.protocols.linear import vocabulary as linear

BY_SIGN = "a residual has the sign of its label while scores are below 2"
BY_VISITS = "rows that recur show how scores move, and what is left is the label or nearly so"
BY_BITS = "score minus target is rounded in another way for each label"
PROVED = (
    "in every batch one labeling alone leaves scores within the {most} directions in which they were seen to move, to "
    "within rounding; labels that mean nothing would do so with probability below 1e-9"
)
MOST_BY_SIZE, LEAST_VARIANCE = 6.0, 0.25  # logarithms; of scores
MOST_ODDS = 15.0  # logarithms: beyond it the other label is as good as ruled out


@dataclass(frozen=True, eq=False)
class _Opened:
    """Values around the middle of both targets, by round, without the coalition's own part."""

    rows: IntArray  # ids, sorted
    rounds: tuple[tuple[IntArray, FloatArray], ...]  # positions and values
    by_bits: FloatArray  # log odds of label 1 a row
    half: float
    noise: float  # deviation of a value's rounding and of noise that partners add
    quiet: bool  # nothing but rounding is in it


class UnblindedLabels(Attack):
    name = "unblinded-labels"
    summary = "opens encrypted residuals that have no random factor, and parts them into scores and labels"
    reference = Reference("fedleak", "docs/attacks/unblinded-labels.md")
    requires = frozenset({Capability.CIPHERTEXTS, Capability.BATCH_IDS, Capability.TWO_CLASSES})
    produces = SecretKind.LABELS
    preloads = ("scipy.linalg",)
    reads_bytes = True

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        found = _opened(view)
        if found is None:
            return nothing(view, BLINDED, {}, width=1, status=Status.UNDETERMINED)
        odds = _odds(found, _own_columns(view, found.rows))
        signs, proved, most = _proved(found, np.where(odds > 0, 1.0, -1.0))
        whole = bool(proved.all()) and len(proved) == view.facts.n_rows
        trusted = np.where(proved, np.inf, np.minimum(np.abs(odds), MOST_ODDS))
        return Guess(
            view.target,
            Status.RECOVERED if whole else Status.PARTIAL,
            found.rows,
            (signs > 0).astype(np.float64)[:, None],
            confidence=(1 / (1 + np.exp(-trusted)))[:, None],
            evidence={
                "rows opened": len(odds),
                "rows proved": int(proved.sum()),
                "rows told by last bits": int(np.sum(np.abs(found.by_bits) > MOST_ODDS)),
            },
            why=f"{OPENS}; {_by_what(found)}",
            certificate=PROVED.format(most=most) if whole else "",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predicted_opening(facts, cls.requires, linear.ENCRYPTED_RESIDUAL)


def _opened(view: View) -> _Opened | None:
    """The holder's scores alone where they were sent, which move in fewer directions; else residuals of all."""
    received = 0
    for step in (linear.ENCRYPTED_SCORE, linear.ENCRYPTED_RESIDUAL):
        sent = [m for m in view.at(step) if m.sender == view.target.owner and m.receiver in view.coalition]
        received += len(sent)
        rounds = list(opened_rounds(view, sent))
        if rounds:
            rule = view.facts.of(linear.LinearFacts).residual or linear.RESIDUALS["taylor"]
            own = _own_parts(view, rule) if step is linear.ENCRYPTED_RESIDUAL else {}
            return _around_the_middle(view, rounds, rule, own)
    if not received:
        raise MissingFromViewError(f"no residuals of {view.target.owner} were received, encrypted or not")
    return None


def _around_the_middle(
    view: View,
    rounds: list[tuple[int, IntArray, FloatArray]],
    rule: linear.LinearResidual,
    own: dict[int, dict[int, float]],
) -> _Opened:
    rows = np.unique(np.concatenate([ids for _, ids, _ in rounds]))
    zero, one = (float(rule.slope * target) for target in rule.target(np.array([0.0, 1.0])))
    placed, by_bits = [], np.zeros(len(rows))
    for number, ids, values in rounds:
        position = np.searchsorted(rows, ids)
        by_bits[position] += _bit_evidence(values, one, zero)
        known = own.get(number, {})
        placed.append((position, values + (one + zero) / 2 - np.array([known.get(int(row), 0.0) for row in ids])))
    everything = np.concatenate([values for *_, values in rounds])
    declared = view.facts.outside_noise
    noise = float(np.hypot(_rounding(everything), rule.slope * (declared or 0.0)))
    return _Opened(rows, tuple(placed), by_bits, (one - zero) / 2, noise, declared == 0.0)


def _own_parts(view: View, rule: linear.LinearResidual) -> dict[int, dict[int, float]]:
    """What the coalition knows of each round's residuals, by row."""
    if not all(any(True for _ in view.records(linear.WEIGHTS, member)) for member in _holders(view)):
        return {}
    score, noise = OwnScore(view), OwnNoise(view)
    found = {}
    for m in view.at(linear.BATCH):
        if isinstance(m.payload, Array):
            rows = m.payload.values.astype(np.int64)
            known = rule.slope * score.scores(m.round, score.positions(rows)) + noise.in_training(m.round)
            found[m.round] = dict(zip(rows.tolist(), known.tolist(), strict=True))
    return found


def _holders(view: View) -> list[str]:
    return [member for member in view.coalition if any(True for _ in view.records(FEATURES, member))]


def _own_columns(view: View, rows: IntArray) -> FloatArray:
    """The coalition's own ones, each with mean 0 and variance 1; constant ones are left out."""
    if not _holders(view):
        return np.zeros((len(rows), 0))
    tables = []
    for member in own_members(view):
        position = positions_of(member.ids)
        tables.append(member.features[[position[int(row)] for row in rows]])
    cells = np.hstack(tables)
    cells = cells - cells.mean(axis=0)
    spread = np.sqrt(np.mean(cells**2, axis=0))
    moves = spread > 1e-9 * np.maximum(np.abs(cells).max(axis=0), 1e-300)
    return np.asarray(cells[:, moves] / spread[moves])


def _odds(found: _Opened, own: FloatArray) -> FloatArray:
    """Log odds of label 1 from all rows at once."""
    series = series_of(found.rounds, len(found.rows))
    basis = Visits(series, found.half, found.noise).basis * np.sqrt(len(series))
    shown = own if own.shape[1] else basis
    sizes = np.mean(shown**2, axis=1) if shown.shape[1] else np.ones(len(series))
    by_size, by_bits = _size_evidence(series[:, 0], found.half), found.by_bits
    mixture = Mixture(series[:, 0], found.half, (basis, own), by_bits, sizes)
    # What sizes say is a beginning, not evidence: where scores follow labels they say the opposite of what is so.
    odds = mixture.best((by_bits, by_bits + by_size, by_size, by_bits - by_size)).odds
    return np.asarray(by_bits + MOST_BY_SIZE * np.tanh((odds - by_bits) / MOST_BY_SIZE))


def _proved(found: _Opened, signs: FloatArray) -> tuple[FloatArray, BoolArray, int]:
    """Labels, which are proved, and the most directions of a batch."""
    proved, most = np.zeros(len(signs), dtype=bool), 0
    if not found.quiet:
        return signs, proved, most
    for rows, values in recurring(found.rounds):
        visits = Visits(values, found.half, found.noise)
        one = visits.labeled(signs[rows])
        if one.fits:
            new = rows[~proved[rows]]
            signs[new], proved[rows] = one.signs[~proved[rows]], proved[rows] | one.proved
            most = max(most, visits.basis.shape[1])
    return signs, proved, most


def _size_evidence(values: FloatArray, half: float) -> FloatArray:
    """Log odds of label 1, of each row's first value (later on scores are larger): scores are taken to be normal
    around 0, their variance that of all values without the targets' part. Bounded, since scores need not be so."""
    spread = max(float(np.var(values)) - half**2, LEAST_VARIANCE * half**2 / 4)
    return np.asarray(MOST_BY_SIZE * np.tanh(-2 * half * values / spread / MOST_BY_SIZE))


def _bit_evidence(values: FloatArray, one: float, zero: float) -> FloatArray:
    """For label 1 against label 0, of slope x score - slope x target as a machine rounds it; 0 where it shows none."""
    precision = precision_of(values)
    return np.zeros(len(values)) if precision is None else log_ratio(values, one, zero, precision)


def _rounding(values: FloatArray) -> float:
    """Deviation of a value's rounding: half a last place of the largest one in floating point, where sums of products
    were seen to lose a third of it; a step of the grid in fixed point, which all parties' parts are rounded to."""
    largest = float(np.abs(values).max(initial=0.0))
    if np.array_equal(values.astype(np.float32), values):
        return 0.5 * largest * 2.0**-24
    mantissa, exponent = np.frexp(values[values != 0])
    whole = np.rint(np.abs(mantissa) * 2.0**53).astype(np.int64)
    steps = np.ldexp((whole & -whole).astype(np.float64), exponent - 53)  # the last bit that is set
    return max(float(steps.min(initial=1.0)), largest * 2.0**-52)


def _by_what(found: _Opened) -> str:
    ways = [BY_VISITS] if len(found.rounds) > 1 else [BY_SIGN]
    return "; ".join(ways + [BY_BITS] * bool(found.by_bits.any()))
