"""What Gaussian noise leaves to any attack at all: ceilings on labels told and on records reconstructed.

Noise of deviation sigma on a vector that moves by Delta makes two worlds as hard to tell apart as N(0, 1) and N(mu, 1),
mu = Delta / sigma: the mechanism of lemma D.4 of Hu et al. 2022, stated without an epsilon (Gaussian differential
privacy: Dong, Roth and Su 2022). Rounds compose, each given what was seen before: mu^2 adds up. Nothing that is
computed from the noised vectors does any better.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from statistics import NormalDist

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.protocols.linear.vocabulary import VerticalLogisticFacts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, approximated_by, at_most, equals
from fedleak.theory.privacy_budget import DpPaillier

NORMAL = NormalDist()
LABEL_STEP = 4.0  # by how much f = theta x - 2y moves with the label, y = -1 or 1 (eq. 5)


@dataclass(frozen=True)
class LabelSeparation:
    """mu of the worlds in which one row's label is the one or the other, and in which two rows' labels are swapped."""

    one: float
    pair: float


def label_separation(
    *, sigma: float, n_rows: int, batch_size: int, epochs: int, learning_rate: float, max_row_norm: float
) -> LabelSeparation:
    """From all noised scores of the label party, first-order polynomial.

    A row's own score moves by ``LABEL_STEP`` once an epoch. The label party's weights move too, and with them the
    scores of all rows: a step is (I - eta/4s sum x x') theta plus what was received, so a difference in its weights
    does not grow by itself while eta |x|^2 <= 8, and each visit of the row adds at most eta |x| / s to it, s the
    smallest batch. No assumption on the path is needed, nor on what others send, which both worlds have in common.
    """
    smallest = n_rows % batch_size or min(batch_size, n_rows)
    drift = learning_rate * max_row_norm**2 / smallest  # of a score, with each epoch
    return LabelSeparation(*(sqrt(_moved(flips, drift, n_rows, epochs)) / sigma for flips in (1, 2)))


def _moved(flips: int, drift: float, n_rows: int, epochs: int) -> float:
    """The squared distance between all scores of the two worlds, whose labels differ in so many rows."""
    by_epoch = [flips * epoch * drift for epoch in range(1, epochs + 1)]
    others = max(n_rows - flips, 0)
    return sum(flips * (LABEL_STEP + moved) ** 2 + others * moved**2 for moved in by_epoch)


def accuracy_ceiling(mu: float, prior: float = 0.5) -> float:
    """The largest share of labels told right, where ``prior`` of them are positive; Phi(mu / 2) for 1/2.

    The likelihood ratio test with the threshold that the prior asks for (Neyman and Pearson).
    """
    if mu == 0 or not 0 < prior < 1:
        return max(prior, 1 - prior)
    shift = log((1 - prior) / prior) / mu
    return prior * NORMAL.cdf(mu / 2 - shift) + (1 - prior) * NORMAL.cdf(mu / 2 + shift)


def area_ceiling(separation: LabelSeparation) -> float:
    """Of the area under the ROC curve: of two rows with different labels, which is which. Where labels have nothing to
    do with the rows, either way is as likely, so it is the balanced accuracy between the two worlds."""
    return accuracy_ceiling(separation.pair)


def reconstruction_ceiling(mu: float, prior: float) -> float:
    """The largest probability of a record within some distance of the true one, if the best guess beforehand has the
    probability ``prior``: Phi(Phi^-1(prior) + mu).

    Balle, Cherubin and Hayes 2022 (reconstruction robustness), in the form of Hayes, Mahloujifar and Balle 2023: no
    event is likelier than the trade-off function allows one of probability ``prior``.
    """
    if prior <= 0 or prior >= 1:
        return max(0.0, min(1.0, prior))
    return NORMAL.cdf(NORMAL.inv_cdf(prior) + mu)


def separation_of_budget(epsilon: float, delta: float) -> float:
    """mu of the noise that lemma D.4 asks for: sigma = sqrt(2 ln(1.25 / delta)) Delta / epsilon."""
    return epsilon / sqrt(2 * log(1.25 / delta))


class LabelCeiling(Theorem):
    name = "fedleak/label-ceiling"
    summary = "noise on the label party's scores bounds what any attack tells of a label beyond what its row predicts"
    reference = Reference("fedleak", "lemma D.4 of Hu et al. 2022, composed as in Dong, Roth and Su 2022")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        conditions = label_conditions(facts)
        settled = all(condition.state is State.HOLDS for condition in conditions)
        return Assessment(cls.name, conditions, conclusion=_conclusion(facts) if settled else _UNSETTLED)


_UNSETTLED = "no attack tells a label beyond what its row predicts, but for what the noise leaves"


def _conclusion(facts: Facts) -> str:
    found = _separation(facts)
    right, area = accuracy_ceiling(found.one), area_ceiling(found)
    return f"of two equally likely labels, no attack tells more than {right:.1%} right; no AUC is above {area:.3f}"


def label_conditions(facts: Facts) -> tuple[Condition, ...]:
    norm = facts.max_row_norm
    largest = None if norm is None else 8 / norm**2 if norm else 8.0
    return (
        _label_noise(facts),
        equals("all of the labels' way is noised scores", facts.of(VerticalLogisticFacts).gradients, _EXCHANGED),
        approximated_by("taylor", facts),
        at_most("differences in weights do not grow by themselves", facts.learning_rate, largest),
        _sizes(facts),
    )


_EXCHANGED = "encrypted-exchange"


def _holder(facts: Facts) -> PartyFacts | None:
    holders = [party for party in facts.with_role(Role.ACTIVE) if party.name not in facts.adversary]
    return holders[0] if len(holders) == 1 else None


def _sigma(facts: Facts) -> float | None:
    holder = _holder(facts)
    if holder is None:
        return None
    return facts.score_noise if holder.score_noise is None else holder.score_noise


def _label_noise(facts: Facts) -> Condition:
    statement = "the label party, outside the coalition, noises the scores that it shares"
    sigma = _sigma(facts)
    if sigma is None:
        state = State.FAILS if _holder(facts) is None else State.UNKNOWN
        return Condition(statement, state, "no single label party" if state is State.FAILS else "not known")
    return Condition(statement, State.HOLDS if sigma > 0 else State.FAILS, f"standard deviation {sigma:g}")


def _sizes(facts: Facts) -> Condition:
    known = facts.n_rows and facts.batch_size and facts.n_epochs
    figures = f"{facts.n_rows} rows, batches of {facts.batch_size}, {facts.n_epochs} epochs"
    return Condition("rows, batch size and epochs are known", State.HOLDS if known else State.UNKNOWN, figures)


def _separation(facts: Facts) -> LabelSeparation:
    """Where the conditions hold, all figures are there."""
    return label_separation(
        sigma=_sigma(facts) or 0.0,
        n_rows=facts.n_rows or 0,
        batch_size=facts.batch_size or 0,
        epochs=facts.n_epochs or 0,
        learning_rate=facts.learning_rate or 0.0,
        max_row_norm=facts.max_row_norm or 0.0,
    )


def label_ceiling(facts: Facts) -> LabelSeparation | None:
    """None where a condition fails or is not known: then nothing is said."""
    return _separation(facts) if LabelCeiling.assess(facts).state is State.HOLDS else None


class ReconstructionCeiling(Theorem):
    """The sensitivity is not clipped anywhere: it rests on an assumption on the path, so that no finding gets a ceiling
    from it. With noise of no declared budget not even the assumption is there."""

    name = "fedleak/reconstruction-ceiling"
    summary = "a privacy budget bounds how likely any attack reconstructs a record that was hard to guess beforehand"
    reference = Reference("fedleak", "Balle, Cherubin and Hayes 2022; Hayes, Mahloujifar and Balle 2023")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        own = facts.of(VerticalLogisticFacts)
        conclusion = "a record that is guessed with probability p beforehand is reconstructed with Phi(Phi^-1(p) + mu)"
        if own.epsilon and own.delta and own.epsilon < 1:
            mu = separation_of_budget(own.epsilon, own.delta)
            figures = ", ".join(f"{reconstruction_ceiling(mu, p):.1%} for {p:.0%}" for p in (0.01, 0.1, 0.5))
            conclusion += f", mu = {mu:.3g}: {figures}"
        return Assessment(cls.name, DpPaillier.assess(facts).conditions, conclusion)
