"""What a coalition has to work with, inferred from what a transcript holds: a rule a capability.

Rules read steps, names of records, forms of payloads and public facts; which protocol it was they are not told. For our
own protocols they give what ``Protocol.reveals`` declares; a contract test says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fedleak.core.adversary import Capability
from fedleak.core.facts import EXACT, SIGMOIDS, Facts
from fedleak.core.payload import CipherArray
from fedleak.core.steps import DATA_ROLES, FEATURES, LABELS, RecordName, Step
from fedleak.protocols.alignment import vocabulary as alignment
from fedleak.protocols.averaging import vocabulary as averaging
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.protocols.captured.holdings import CoalitionHoldings, Holdings
from fedleak.protocols.linear import vocabulary as linear
from fedleak.protocols.networks import vocabulary as networks
from fedleak.protocols.prediction import vocabulary as prediction


@dataclass(frozen=True)
class Rule:
    capability: Capability
    source: str  # from what it is inferred, in words
    holds: Callable[[CoalitionHoldings, Facts], bool]


def inferred(holdings: Holdings, facts: Facts, coalition: tuple[str, ...]) -> frozenset[Capability]:
    own = holdings.of(coalition)
    return frozenset(rule.capability for rule in RULES if rule.holds(own, facts))


def _keeps(name: RecordName) -> Callable[[CoalitionHoldings, Facts], bool]:
    return lambda own, _: own.keeps(name)


def _gets(step: Step[Any]) -> Callable[[CoalitionHoldings, Facts], bool]:
    return lambda own, _: own.gets(step)


def _two_classes(own: CoalitionHoldings, facts: Facts) -> bool:
    return facts.approximation in SIGMOIDS and own.keeps(FEATURES)


def _linear_residual(_: CoalitionHoldings, facts: Facts) -> bool:
    return facts.of(linear.LinearFacts).residual is not None or facts.approximation == EXACT


def _ciphertexts(own: CoalitionHoldings, _: Facts) -> bool:
    shared = (linear.ENCRYPTED_SCORE, linear.ENCRYPTED_RESIDUAL)
    return any(own.gets(step, CipherArray) for step in shared) or own.gets(boosting.ENCRYPTED_GRADIENTS)


def _decryption_key(own: CoalitionHoldings, _: Facts) -> bool:
    return own.keeps(linear.PRIVATE_KEY) and own.gets(linear.ENCRYPTED_GRADIENT, CipherArray)


def _all_gradients(own: CoalitionHoldings, facts: Facts) -> bool:
    outside = [party.name for party in facts.parties if party.role in DATA_ROLES and party.name not in own.members]
    opened = all(own.keeps(linear.GRADIENT_OF.of(name)) for name in outside) and own.gets(linear.ENCRYPTED_GRADIENT)
    masked = facts.of(averaging.HorizontalFacts).secure_aggregation
    return opened or (masked is False and own.gets(averaging.SENT_WEIGHTS))


def _averaged_weights(own: CoalitionHoldings, _: Facts) -> bool:
    summed = own.gets(averaging.FIRST_MODEL) and own.gets(averaging.AGGREGATE)
    return own.gets(averaging.AVERAGED_WEIGHTS) or summed


def _model(own: CoalitionHoldings, facts: Facts) -> bool:
    return own.gets(prediction.MODEL) or _averaged_weights(own, facts)


def _model_of_kind(kind: str, output: str | None = None) -> Callable[[CoalitionHoldings, Facts], bool]:
    return lambda own, _: any(found == kind and output in (None, form) for found, form in own.models())


RULES = (
    Rule(Capability.OWN_FEATURES, f"a record `{FEATURES}`", _keeps(FEATURES)),
    Rule(
        Capability.OWN_WEIGHTS,
        f"a record `{linear.WEIGHTS}` or `{averaging.OWN_WEIGHTS}` of a round of training",
        lambda own, _: own.keeps(linear.WEIGHTS, trained=True) or own.keeps(averaging.OWN_WEIGHTS, trained=True),
    ),
    Rule(Capability.OWN_GRADIENT, f"a record `{linear.OWN_GRADIENT}`", _keeps(linear.OWN_GRADIENT)),
    Rule(Capability.LABELS, f"a record `{LABELS}`", _keeps(LABELS)),
    Rule(
        Capability.TWO_CLASSES,
        f"the public fact `approximation`, where it is that of a sigmoid, and a record `{FEATURES}`",
        _two_classes,
    ),
    Rule(
        Capability.LINEAR_RESIDUAL,
        'the public fact `residual`, or `approximation` = "exact"',
        _linear_residual,
    ),
    Rule(
        Capability.BATCH_IDS,
        f"a message `{linear.BATCH}`, `{networks.BATCH}` or `{networks.OWN_BATCH}`",
        lambda own, _: own.knows(linear.BATCH) or own.gets(networks.BATCH) or own.gets(networks.OWN_BATCH),
    ),
    Rule(
        Capability.CIPHERTEXTS,
        f"ciphertexts received at `{linear.ENCRYPTED_SCORE}`, `{linear.ENCRYPTED_RESIDUAL}` or "
        f"`{boosting.ENCRYPTED_GRADIENTS}`",
        _ciphertexts,
    ),
    Rule(
        Capability.DECRYPTION_KEY,
        f"a record `{linear.PRIVATE_KEY}`, and ciphertexts received at `{linear.ENCRYPTED_GRADIENT}`",
        _decryption_key,
    ),
    Rule(
        Capability.ALL_GRADIENTS,
        f"a record `{linear.GRADIENT_OF}…` of every party outside that holds data; or messages "
        f"`{averaging.SENT_WEIGHTS}` and the public fact `secure_aggregation` = false",
        _all_gradients,
    ),
    Rule(
        Capability.AVERAGED_WEIGHTS,
        f"a message `{averaging.AVERAGED_WEIGHTS}`, or `{averaging.FIRST_MODEL}` and `{averaging.AGGREGATE}`",
        _averaged_weights,
    ),
    Rule(Capability.UPDATE_SUM, f"a message `{averaging.AGGREGATE}`", _gets(averaging.AGGREGATE)),
    Rule(
        Capability.SENDERS,
        f"a message `{averaging.SENDERS}` or `{averaging.OPENED_SHARES}`",
        lambda own, _: own.gets(averaging.SENDERS) or own.gets(averaging.OPENED_SHARES),
    ),
    Rule(
        Capability.OPENED_SHARES,
        f"messages `{averaging.MASKED_UPDATE}` and `{averaging.OPENED_SHARES}`",
        lambda own, _: own.gets(averaging.MASKED_UPDATE) and own.gets(averaging.OPENED_SHARES),
    ),
    Rule(Capability.MODEL, f"a message `{prediction.MODEL}`, or the averaged model of every round", _model),
    Rule(Capability.PREDICTIONS, f"a message `{prediction.CONFIDENCES}`", _gets(prediction.CONFIDENCES)),
    Rule(
        Capability.VALIDATION_SCORES,
        f"a message `{linear.VALIDATION_SCORE}`",
        _gets(linear.VALIDATION_SCORE),
    ),
    Rule(
        Capability.PREDICTION_SERVICE,
        "a service that can be asked; of a capture a record `asked-of-…` and messages `predict.partial-score`",
        lambda own, facts: own.may_ask and not facts.of(boosting.BoostingFacts).enrolled_records,
    ),
    Rule(
        Capability.ENROLLED_RECORDS,
        "such a service, and the public fact `enrolled_records`",
        lambda own, facts: own.may_ask and bool(facts.of(boosting.BoostingFacts).enrolled_records),
    ),
    Rule(Capability.NODE_ROWS, f"a message `{boosting.NODE_ROWS}`", _gets(boosting.NODE_ROWS)),
    Rule(Capability.CANDIDATE_SUMS, f"a message `{boosting.CANDIDATE_SUMS}`", _gets(boosting.CANDIDATE_SUMS)),
    Rule(Capability.NODE_ROUTING, f"a message `{boosting.ROUTING}`", _gets(boosting.ROUTING)),
    Rule(Capability.SAMPLE_GRADIENTS, f"a message `{boosting.SAMPLE_GRADIENTS}`", _gets(boosting.SAMPLE_GRADIENTS)),
    Rule(Capability.SPLIT_POINTS, f"a message `{boosting.SPLIT_CANDIDATES}`", _gets(boosting.SPLIT_CANDIDATES)),
    Rule(Capability.LINEAR_MODEL, "a model received of kind `linear`", _model_of_kind("linear")),
    Rule(Capability.TREE_MODEL, "a model received of kind `tree`", _model_of_kind("tree")),
    Rule(
        Capability.FOREST_MODEL,
        "a model received of kind `forest` whose trees vote",
        _model_of_kind("forest", "one-hot"),
    ),
    Rule(Capability.OWN_NETWORK, f"a record `{networks.BOTTOM_NETWORK}`", _keeps(networks.BOTTOM_NETWORK)),
    Rule(Capability.NETWORK, f"a message `{networks.NETWORK}`", _gets(networks.NETWORK)),
    Rule(Capability.CUT_NETWORKS, f"a message `{networks.NETWORKS}`", _gets(networks.NETWORKS)),
    Rule(Capability.LAYER_GRADIENTS, f"a message `{networks.LAYER_GRADIENTS}`", _gets(networks.LAYER_GRADIENTS)),
    Rule(Capability.LAYER_UPDATES, f"a message `{networks.LAYER_UPDATES}`", _gets(networks.LAYER_UPDATES)),
    Rule(Capability.EMBEDDINGS, f"a message `{networks.EMBEDDINGS}`", _gets(networks.EMBEDDINGS)),
    Rule(
        Capability.EMBEDDING_GRADIENTS,
        f"a message `{networks.EMBEDDING_GRADIENTS}`",
        _gets(networks.EMBEDDING_GRADIENTS),
    ),
    Rule(
        Capability.ALIGNED_ROWS,
        f"a record `{alignment.MATCHED_ROWS}`, or a message `{alignment.COMMON_ROWS}`",
        lambda own, _: own.keeps(alignment.MATCHED_ROWS) or own.gets(alignment.COMMON_ROWS),
    ),
    Rule(Capability.IDENTIFIER_DIGESTS, f"a message `{alignment.DIGESTS}`", _gets(alignment.DIGESTS)),
    Rule(Capability.CONTRIBUTIONS, f"a message `{prediction.CONTRIBUTIONS}`", _gets(prediction.CONTRIBUTIONS)),
)
