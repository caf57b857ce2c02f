"""Labels from ciphertexts of gradients that are not blinded, or blinded all alike (the passive side).

Paillier's ciphertext is (1 + m n) r^n mod n^2. Without the factor r^n the public key opens it: m = (c - 1) / n. With
one r for all rows equal gradients have equal ciphertexts, and in the first tree gradients have one value a class.
A gradient is p - y, so that its sign is the label.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.boosting.gradient_signs import SignsOfTree, labels_of_signs, score_of_tree
from fedleak.attacks.boosting.label_holder_sums import integers
from fedleak.attacks.unblinded import integers_of, moduli_of, opened
from fedleak.core.adversary import Capability, SecretKind, Symmetry
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.payload import CipherArray, Payload, Scalar, Tree
from fedleak.core.steps import FEATURES
from fedleak.core.transcript import Message
from fedleak.core.view import View
from fedleak.protocols.boosting import vocabulary as boosting

WIDEST_SLOT = 124  # bits of two sums in machine words; more is room for something else than g and h
FRESH = "every ciphertext is blinded by itself"


class BareCiphertexts(Attack):
    name = "bare-ciphertexts"
    summary = "opens gradients that were encrypted without blinding, or sorts rows by equal ciphertexts"
    reference = Reference("fedleak", "docs/attacks/bare-ciphertexts.md")
    requires = frozenset({Capability.CIPHERTEXTS, Capability.OWN_FEATURES, Capability.NODE_ROWS})
    produces = SecretKind.LABELS
    up_to = frozenset({Symmetry.CLASS_NAMES})
    measured_by = "label-accuracy"

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        facts = view.facts.of(boosting.BoostingFacts)
        if facts.n_classes is None:
            raise MissingFromViewError("the number of classes must be known, and labels must be classes")
        ids = np.asarray(view.table(FEATURES, view.coalition[0]).ids, dtype=np.int64)
        trees = [_Sent(view, message.round, message.payload, ids) for message in _messages(view)]
        moduli = moduli_of(view.at(boosting.GRADIENT_KEY))
        signs = signs_in(trees, moduli[0]) if moduli else None
        if signs is not None:
            labels, how = labels_of_signs(signs, len(ids), facts.n_classes), "the public key opens every ciphertext"
        else:
            labels, how = by_equality(trees, len(ids), facts.n_classes), "rows of one class have equal ciphertexts"
        return _answer(view, ids, labels, how, certain=signs is not None and facts.label_epsilon == 0)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        if facts.capabilities is not None and not cls.requires <= facts.capabilities:
            return Prediction(Verdict.IMPOSSIBLE, ("no ciphertexts of gradients are received",))
        blinding = facts.of(boosting.BoostingFacts).blinding
        if blinding is None or facts.of(boosting.BoostingFacts).objective in (None, "squared"):
            return Prediction(Verdict.UNKNOWN, ("how gradients are blinded, or that labels are classes, is not known",))
        if blinding == "fresh":
            return Prediction(Verdict.UNKNOWN, (f"{FRESH}: nothing is known that opens it",))
        return Prediction(Verdict.PARTIAL, ("gradients that are not blinded one by one tell their labels",))


class _Sent:
    """Ciphertexts of one tree: those of g, or of g and h packed, by the row's place in the table."""

    def __init__(self, view: View, number: int, payload: Payload, ids: IntArray) -> None:
        place = {int(row): position for position, row in enumerate(ids)}
        self.rows = np.array([place[int(row)] for row in integers(payload, "rows")], dtype=np.int64)
        values = payload.items.get("values") if isinstance(payload, Tree) else None
        if not isinstance(values, CipherArray):
            raise MissingFromViewError("gradients must come as ciphertexts")
        self.values = integers_of(values)[: len(self.rows)]
        self.score = score_of_tree(view, number)
        slot = payload.items.get("slot_bits") if isinstance(payload, Tree) else None
        self.honest = isinstance(slot, Scalar) and isinstance(slot.value, int) and slot.value <= WIDEST_SLOT

    def plaintexts(self, modulus: int) -> list[int] | None:
        """Around zero; None where they are blinded."""
        return opened(self.values, modulus)


def signs_in(trees: list[_Sent], modulus: int) -> list[SignsOfTree] | None:
    """None where something is blinded, or has more in it than gradients."""
    found = []
    for tree in trees:
        plain = tree.plaintexts(modulus) if tree.honest else None
        if plain is None:
            return None
        signs = np.sign(np.array(plain, dtype=object)).astype(np.int64)
        found.append(SignsOfTree(tree.rows, signs, tree.score))
    return found


def by_equality(trees: list[_Sent], n_rows: int, n_classes: int) -> FloatArray:
    """Groups by the first round's ciphertexts, if those are as many as classes."""
    first = trees[: 1 if n_classes == 2 else n_classes]
    keys: list[tuple[int, ...]] = [()] * n_rows
    for tree in first:
        for row, value in zip(tree.rows.tolist(), tree.values, strict=True):
            keys[row] = (*keys[row], value)
    names = {key: float(number) for number, key in enumerate(sorted({key for key in keys if len(key) == len(first)}))}
    if not 2 <= len(names) <= n_classes:
        return np.full(n_rows, np.nan)
    return np.array([names.get(key, np.nan) for key in keys])


def _messages(view: View) -> list[Message]:
    found = list(view.at(boosting.ENCRYPTED_GRADIENTS, view.coalition[0]))
    if not found:
        raise MissingFromViewError("the view holds no ciphertexts of gradients")
    return found


def _answer(view: View, ids: IntArray, labels: FloatArray, how: str, *, certain: bool) -> Guess:
    told = np.isfinite(labels)
    if not told.any():
        return Guess(view.target, Status.UNDETERMINED, ids, labels[:, None], why=FRESH)
    status = Status.RECOVERED if certain and told.all() else Status.PARTIAL
    certificate = "the signs of the opened gradients are the labels" if certain else ""
    evidence = {"rows told": float(told.mean())}
    return Guess(
        view.target,
        status,
        ids,
        labels[:, None],
        confidence=np.where(told, 1.0, 0.5)[:, None],
        evidence=evidence,
        why=how,
        certificate=certificate,
    )
