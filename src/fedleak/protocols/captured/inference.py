"""What a coalition has to work with, inferred from what a transcript holds: a rule a capability.

Rules read steps, names of records, forms of payloads and public facts; which protocol it was they are not told. For our
own protocols they give what ``Protocol.reveals`` declares; a contract test says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fedleak.core import steps
from fedleak.core.adversary import Capability
from fedleak.core.facts import Facts
from fedleak.core.payload import CipherArray
from fedleak.core.steps import DATA_ROLES
from fedleak.models.sigmoid import Approximation
from fedleak.protocols.captured.holdings import CoalitionHoldings, Holdings

EXACT = "exact"  # the approximation of a model whose residual is its score minus its label
SIGMOIDS = frozenset(approximation.value for approximation in Approximation)


@dataclass(frozen=True)
class Rule:
    capability: Capability
    source: str  # from what it is inferred, in words
    holds: Callable[[CoalitionHoldings, Facts], bool]


def inferred(holdings: Holdings, facts: Facts, coalition: tuple[str, ...]) -> frozenset[Capability]:
    own = holdings.of(coalition)
    return frozenset(rule.capability for rule in RULES if rule.holds(own, facts))


def _keeps(name: str, *, trained: bool = False) -> Callable[[CoalitionHoldings, Facts], bool]:
    return lambda own, _: own.keeps(name, trained=trained)


def _gets(*names: str) -> Callable[[CoalitionHoldings, Facts], bool]:
    return lambda own, _: any(own.gets(name) for name in names)


def _two_classes(own: CoalitionHoldings, facts: Facts) -> bool:
    return facts.approximation in SIGMOIDS and own.keeps("features")


def _linear_residual(_: CoalitionHoldings, facts: Facts) -> bool:
    return facts.options.get("residual_slope") is not None or facts.approximation == EXACT


def _ciphertexts(own: CoalitionHoldings, _: Facts) -> bool:
    shared = (steps.ENCRYPTED_SCORE, steps.ENCRYPTED_RESIDUAL)
    return any(own.gets(step.name, CipherArray) for step in shared)


def _decryption_key(own: CoalitionHoldings, _: Facts) -> bool:
    return own.keeps("private-key") and own.gets(steps.ENCRYPTED_GRADIENT.name, CipherArray)


def _all_gradients(own: CoalitionHoldings, facts: Facts) -> bool:
    outside = [party.name for party in facts.parties if party.role in DATA_ROLES and party.name not in own.members]
    opened = all(own.keeps(f"gradient-of-{name}") for name in outside) and own.gets(steps.ENCRYPTED_GRADIENT.name)
    unmasked = facts.options.get("secure_aggregation") is False and own.gets(steps.SENT_WEIGHTS.name)
    return opened or unmasked


def _averaged_weights(own: CoalitionHoldings, _: Facts) -> bool:
    summed = own.gets(steps.FIRST_MODEL.name) and own.gets(steps.AGGREGATE.name)
    return own.gets(steps.AVERAGED_WEIGHTS.name) or summed


def _model(own: CoalitionHoldings, facts: Facts) -> bool:
    return own.gets(steps.MODEL.name) or _averaged_weights(own, facts)


def _model_of_kind(kind: str, output: str | None = None) -> Callable[[CoalitionHoldings, Facts], bool]:
    return lambda own, _: any(found == kind and output in (None, form) for found, form in own.models())


RULES = (
    Rule(Capability.OWN_FEATURES, "a record `features`", _keeps("features")),
    Rule(
        Capability.OWN_WEIGHTS,
        "a record `weights` or `local-weights` of a round of training",
        lambda own, _: own.keeps("weights", trained=True) or own.keeps("local-weights", trained=True),
    ),
    Rule(Capability.OWN_GRADIENT, "a record `gradient`", _keeps("gradient")),
    Rule(Capability.LABELS, "a record `labels`", _keeps("labels")),
    Rule(
        Capability.TWO_CLASSES,
        "the public fact `approximation`, where it is that of a sigmoid, and a record `features`",
        _two_classes,
    ),
    Rule(
        Capability.LINEAR_RESIDUAL,
        'the public fact of the residual\'s slope, or `approximation` = "exact"',
        _linear_residual,
    ),
    Rule(Capability.BATCH_IDS, f"a message `{steps.BATCH}`", _gets(steps.BATCH.name)),
    Rule(
        Capability.CIPHERTEXTS,
        f"ciphertexts received at `{steps.ENCRYPTED_SCORE}` or `{steps.ENCRYPTED_RESIDUAL}`",
        _ciphertexts,
    ),
    Rule(
        Capability.DECRYPTION_KEY,
        f"a record `private-key`, and ciphertexts received at `{steps.ENCRYPTED_GRADIENT}`",
        _decryption_key,
    ),
    Rule(
        Capability.ALL_GRADIENTS,
        "a record `gradient-of-…` of every party outside that holds data; or messages "
        f"`{steps.SENT_WEIGHTS}` and the public fact `secure_aggregation` = false",
        _all_gradients,
    ),
    Rule(
        Capability.AVERAGED_WEIGHTS,
        f"a message `{steps.AVERAGED_WEIGHTS}`, or `{steps.FIRST_MODEL}` and `{steps.AGGREGATE}`",
        _averaged_weights,
    ),
    Rule(Capability.UPDATE_SUM, f"a message `{steps.AGGREGATE}`", _gets(steps.AGGREGATE.name)),
    Rule(Capability.MODEL, f"a message `{steps.MODEL}`, or the averaged model of every round", _model),
    Rule(Capability.PREDICTIONS, f"a message `{steps.CONFIDENCES}`", _gets(steps.CONFIDENCES.name)),
    Rule(
        Capability.PREDICTION_SERVICE,
        "a service that can still be asked: a capture has none",
        lambda own, _: own.may_ask,
    ),
    Rule(Capability.LINEAR_MODEL, "a model received of kind `linear`", _model_of_kind("linear")),
    Rule(Capability.TREE_MODEL, "a model received of kind `tree`", _model_of_kind("tree")),
    Rule(
        Capability.FOREST_MODEL,
        "a model received of kind `forest` whose trees vote",
        _model_of_kind("forest", "one-hot"),
    ),
    Rule(Capability.CONTRIBUTIONS, f"a message `{steps.CONTRIBUTIONS}`", _gets(steps.CONTRIBUTIONS.name)),
)
