"""Labels from signs that stand beside blinded ciphertexts.

A library that computes (1 + m n) r^n in signed integers, with remainders towards zero, sends the sign of m with every
ciphertext, however well m itself is blinded. What the party with the labels encrypts is slope x (own score - target),
of logistic regression with target 2y for y = -1 or 1: its sign is that of -y while the party's own score is below 2.
A residual is a product of ciphertexts, and its sign the product of theirs: whoever sent the other factors divides.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedleak.attacks.verdicts import nothing
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, CipherArray
from fedleak.core.steps import Role
from fedleak.core.view import View
from fedleak.protocols.linear import vocabulary as linear
from fedleak.theory.condition import State, no_noise

BY_SIGN = "signs in plaintext are those of the labels while the scores of the party that holds them are below 2"
FROM_ZERO = "from weights of zero the sign beside each ciphertext is its label's"
NO_SIGNS = "no ciphertext that tells of labels has a sign beside it that the coalition can read"
FIRST_ODDS_BITS, MOST_ODDS_BITS = 2.0, 20.0  # of a sign alone; a step of the exponent is worth one more


class CiphertextSign(Attack):
    name = "ciphertext-sign"
    summary = "reads labels off the plaintext's sign that signed integers keep beside blinded ciphertexts"
    reference = Reference("fedleak", "docs/attacks/ciphertext-sign.md")
    requires = frozenset({Capability.CIPHERTEXTS, Capability.BATCH_IDS, Capability.TWO_CLASSES})
    produces = SecretKind.LABELS
    reads_bytes = True

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        found = sorted(_signed_rows(view), key=lambda one: one[0])
        if not found:
            return nothing(view, NO_SIGNS, {}, width=1, status=Status.UNDETERMINED)
        ids = np.concatenate([ids for _, ids, _, _ in found])
        rows, first = np.unique(ids, return_index=True)  # of each row the first round: later on scores are larger
        signs, sizes = (np.concatenate([one[part] for one in found])[first] for part in (2, 3))
        rounds = np.concatenate([np.full(len(ids), number) for number, ids, _, _ in found])[first]
        proved = _starts_at_zero(view.facts) & (rounds == 0)
        unsure = np.where(proved, 0.0, 2.0 ** -np.minimum(FIRST_ODDS_BITS + sizes, MOST_ODDS_BITS))
        whole = bool(proved.all()) and len(rows) == view.facts.n_rows
        return Guess(
            view.target,
            Status.RECOVERED if whole else Status.PARTIAL,
            rows,
            (signs < 0).astype(np.float64)[:, None],
            confidence=(1.0 - unsure)[:, None],
            evidence={"rows with a sign": len(rows), "rows from weights of zero": int(proved.sum())},
            why=FROM_ZERO if whole else BY_SIGN,
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if facts.capabilities is not None and not cls.requires <= facts.capabilities:
            return Prediction(Verdict.IMPOSSIBLE, ("no ciphertexts that tell of labels are received",))
        blinding = facts.of(linear.ArbiterFacts).blinding
        if blinding != "signed":
            reason = "it is not known" if blinding is None else "nothing says"
            return Prediction(Verdict.UNKNOWN, (f"{reason} that signs are sent beside ciphertexts",))
        if _others(facts):
            return Prediction(Verdict.UNKNOWN, ("signs of residuals have those of other parties' scores in them",))
        if _starts_at_zero(facts) and facts.batch_size and facts.n_rows and facts.n_rows <= facts.batch_size:
            return Prediction(Verdict.EXACT, (FROM_ZERO,))
        return Prediction(Verdict.PARTIAL, (BY_SIGN,))


def _signed_rows(view: View) -> Iterator[tuple[int, IntArray, IntArray, IntArray]]:
    """Round, ids, signs of what the party with the labels encrypted, and steps of its size above the smallest."""
    batches = {m.round: np.asarray(m.payload.values) for m in view.at(linear.BATCH) if isinstance(m.payload, Array)}
    received = 0
    for step in (linear.ENCRYPTED_SCORE, linear.ENCRYPTED_RESIDUAL):
        for m in view.at(step):
            if m.sender != view.target.owner or m.receiver not in view.coalition:
                continue
            received += 1
            c, ids = m.payload, batches.get(m.round)
            if not isinstance(c, CipherArray) or c.signs is None or ids is None or len(ids) != len(c.signs):
                continue
            alone = step is linear.ENCRYPTED_SCORE
            factors = np.ones(len(ids), dtype=np.int8) if alone else _signs_of_scores(view, m.round, len(ids))
            if factors is None:
                continue
            # The exponent of a sum is that of its smaller part, and tells nothing of the other one.
            sizes = c.exponents - c.exponents.min() if alone and c.exponents is not None else np.zeros(len(ids))
            yield m.round, ids.astype(np.int64), (c.signs * factors).astype(np.int64), np.asarray(sizes, dtype=np.int64)
    if not received:
        raise MissingFromViewError(f"no residuals of {view.target.owner} were received, encrypted or not")


def _signs_of_scores(view: View, number: int, n_rows: int) -> IntArray | None:
    """The product over all passive parties, where all of them are of the coalition and each sent its part once: with a
    factor left out, or in twice, the sign is another one."""
    sent = [m for m in view.at(linear.ENCRYPTED_SCORE) if m.round == number and m.receiver == view.target.owner]
    if _others(view.facts) or sorted(m.sender for m in sent) != _passive(view.facts):
        return None
    signs = np.ones(n_rows, dtype=np.int64)
    for m in sent:
        if not isinstance(m.payload, CipherArray) or m.payload.signs is None or len(m.payload.signs) != n_rows:
            return None
        signs *= m.payload.signs
    return signs


def _passive(facts: Facts) -> list[str]:
    return sorted(p.name for p in facts.parties if p.role is Role.PASSIVE)


def _others(facts: Facts) -> list[str]:
    """Passive parties outside."""
    return [name for name in _passive(facts) if name not in facts.adversary]


def _starts_at_zero(facts: Facts) -> bool:
    return facts.initialisation == "zero" and no_noise(facts).state is State.HOLDS
