"""What an arbiter that opens every gradient learns: with a data party's ciphertexts, and by itself.

Every step of everybody's weights is known to it, W(t) = W0 + S(t). With a data party, residuals or scores open too, and
all that is seen is linear in the rows x_i of the parties outside:

    z_i(t) = x_i . S(t) + c_i                                     one equation a visit of the row,
    g(t) = sum over the batch of d_i(t) x_i / s + l2 (S(t) + W0)   one a round for each column.
"""

from __future__ import annotations

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.steps import Role
from fedleak.protocols.linear.vocabulary import ArbiterFacts
from fedleak.theory.condition import (
    Assessment,
    Condition,
    State,
    Theorem,
    at_most,
    batches_per_epoch,
    no_noise,
    outside_with_columns,
    revealed,
)
from fedleak.theory.countermeasures import NO_ARBITER

FEWEST_BITS = 32


class ArbiterCollusion(Theorem):
    """Either kind of equation alone is enough, and so are both together where neither is.

    Scores: n + 1 visits of every row (n from zero weights). Gradients: an independent residual vector a row, which is
    what the paper uses. Together: e epochs with batches of s give e (1 + n / s) equations a row for n + 1 unknowns, so
    that s (n + 1) / (s + n) epochs may do: a count, which no verdict rests on. With recurring batches gradients repeat
    themselves and scores remain. Columns that depend on each other linearly, or never move, are told apart by gradients
    alone.
    """

    name = "li2021/arbiter-collusion"
    summary = "with the arbiter's key, scores and gradients are linear equations that determine every party's rows"
    reference = Reference("li2021", "section 4.1, multi-party")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                revealed(Capability.DECRYPTION_KEY, facts),
                revealed(Capability.ALL_GRADIENTS, facts),
                revealed(Capability.CIPHERTEXTS, facts),
                _enough_equations(facts),
                _enough_digits(facts),
            ),
            conclusion="every row of every other party is determined",
            remedies=(NO_ARBITER,),
        )


def victim_width(facts: Facts) -> int | None:
    """The active party is sent each partner's scores apart; others see one sum, so that all outside are one victim."""
    outside = outside_with_columns(facts)
    counts = [party.n_features for party in outside]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts) or not known:
        return None
    active = any(party.name in facts.adversary for party in facts.with_role(Role.ACTIVE))
    return max(known) if active else sum(known)


def _enough_equations(facts: Facts) -> Condition:
    statement = "there are as many independent equations as unknowns"
    width, n_rows, epochs, n_rounds = victim_width(facts), facts.n_rows, facts.n_epochs, facts.n_rounds
    if width is None or n_rows is None or epochs is None or n_rounds is None:
        return Condition(statement, State.UNKNOWN, "rows, columns, batch size or epochs are not known")
    unknowns = width + 1
    if facts.outside_noise != 0:
        return _from_gradients(statement, facts, n_rows, n_rounds)
    if epochs > unknowns:  # with as many, nothing is left that shows whether scores hold noise nobody declared
        return Condition(statement, State.HOLDS, f"{epochs} visits a row, {unknowns} unknowns")
    equations, needed = epochs * n_rows + n_rounds * width, n_rows * unknowns + width
    detail = f"{equations} equations of scores and gradients, {needed} unknowns"
    if equations < n_rows * width:
        return Condition(statement, State.FAILS, detail)
    # A count: which of the rounds depend on each other is in the batches and in the data.
    return Condition(statement, State.UNKNOWN, detail)


def _from_gradients(statement: str, facts: Facts, n_rows: int, n_rounds: int) -> Condition:
    """Scores under noise count for little. Gradients are of the residuals that were used, noise included; it makes
    even those of a recurring batch independent. Twice as many rounds as unknowns leave them digits as well."""
    detail = f"scores are noisy; {n_rounds} rounds, {n_rows + 1} unknowns of a column"
    if facts.outside_noise is None:
        return Condition(statement, State.UNKNOWN, "whether noise is on the scores is not known")
    return Condition(statement, State.HOLDS if n_rounds > 2 * n_rows else State.UNKNOWN, detail)


def _enough_digits(facts: Facts) -> Condition:
    """Recurring batches are a Krylov sequence, in which a direction more costs digits: how many depends on the data.
    Batches drawn anew cost few, and noise makes rounds independent as well."""
    statement = "fixed point leaves enough digits"
    width, bits, n_batches = victim_width(facts), facts.fraction_bits, batches_per_epoch(facts)
    shuffle = facts.of(ArbiterFacts).shuffle
    if width is None or bits is None or n_batches is None or shuffle is None:
        return Condition(statement, State.UNKNOWN, "columns, fraction bits or batches are not known")
    fresh = (bool(shuffle) and n_batches > 1) or bool(facts.outside_noise)
    enough = bits >= FEWEST_BITS and fresh
    detail = f"{bits} fraction bits, {width} columns, rounds that {'differ' if fresh else 'recur'}"
    return Condition(statement, State.HOLDS if enough else State.UNKNOWN, detail)


class ArbiterAlone(Theorem):
    """Gradients and batches, no ciphertext of a partner: g(t) depends on the rows of a batch by their sums of x x^T and
    c x alone.

    A recurring batch gives these sums, over the columns of all parties together, and never more: any rotation of its
    rows and targets leaves every gradient as it is. Batches drawn anew tell rows apart: n (n + 3) / 2 unknowns a row,
    n equations a round: s (n + 3) / 2 epochs determine each x x^T, hence each row up to its sign; that sign is
    free, together with the target's.
    """

    name = "fedleak/arbiter-alone"
    summary = "the arbiter by itself has all parties' column products, and from fresh batches every row up to its sign"
    reference = Reference("fedleak", "beyond li2021, section 4.1")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                revealed(Capability.ALL_GRADIENTS, facts),
                revealed(Capability.BATCH_IDS, facts),
                revealed(Capability.LINEAR_RESIDUAL, facts),
                no_noise(facts),
                at_most("every batch or row has as many equations as unknowns", _epochs_alone(facts), facts.n_epochs),
            ),
            conclusion=_alone(facts),
            remedies=(NO_ARBITER,),
        )


def _epochs_alone(facts: Facts) -> float | None:
    """n + 1 visits of a recurring batch; s (n + 3) / 2 of rows that fresh batches tell apart."""
    n, size, shuffle = facts.n_features, facts.batch_size, facts.of(ArbiterFacts).shuffle
    if n is None or size is None or facts.n_rows is None or shuffle is None:
        return None
    return size * (n + 3) / 2 if _fresh(facts) else n + 1


def _fresh(facts: Facts) -> bool:
    n_batches = batches_per_epoch(facts)
    return bool(facts.of(ArbiterFacts).shuffle) and n_batches is not None and n_batches > 1


def _alone(facts: Facts) -> str:
    if _fresh(facts):
        return "every row of all parties, up to a sign that its target shares"
    return "the inner products of all parties' columns, and of columns with targets up to the first weights"
