"""Small federations for tests, made in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Settings, Slice
from fedleak.core.whole.randomness import Randomness
from fedleak.protocols.linear.vertical_arbiter import VerticalLogisticArbiterSettings
from fedleak.protocols.linear.vertical_logistic import VerticalLogisticSettings

ROLES = {"bank": Role.ACTIVE, "referee": Role.ARBITER}


def vertical(
    widths: dict[str, int], settings: Settings, *, n_rows: int = 24, seed: int = 0, protocol: str = "vertical-logistic"
) -> Federation:
    """Gaussian rows of norm at most 1, labels from a hidden linear rule; the party "bank" has the labels."""
    rng = np.random.default_rng(seed)
    total = sum(widths.values())
    rows = rng.standard_normal((n_rows, total))
    rows /= np.linalg.norm(rows, axis=1).max()
    labels = (rows @ rng.standard_normal(total) > 0).astype(np.int64)
    parties, start = [], 0
    for name, width in widths.items():
        role = ROLES.get(name, Role.PASSIVE)
        part = Slice(np.arange(100, 100 + n_rows), rows[:, start : start + width], labels if name == "bank" else None)
        parties.append(Party(name, role, tuple(f"{name}{i}" for i in range(width)), part))
        start += width
    return Federation(protocol, tuple(parties), settings, max_row_norm=1.0)


def rescaled(federation: Federation, factors: np.ndarray | float) -> Federation:
    """Every party's columns times these factors (one number, or one a column of all parties in order)."""
    parties, start = [], 0
    for party in federation.parties:
        width = len(party.columns)
        mine = factors if np.isscalar(factors) else np.asarray(factors)[start : start + width]
        features = party.train.features * mine if width else party.train.features
        parties.append(replace(party, train=Slice(party.train.ids, features, party.train.labels)))
        start += width
    return replace(federation, parties=tuple(parties), max_row_norm=None)


def sealed(**changes: object) -> VerticalLogisticSettings:
    defaults = {"cipher": "sealed", "key_bits": 1024, "batch_size": 6, "epochs": 2, "learning_rate": 0.1}
    return VerticalLogisticSettings(**{**defaults, **changes})


def sealed_arbiter(**changes: object) -> VerticalLogisticArbiterSettings:
    defaults = {"cipher": "sealed", "key_bits": 1024, "batch_size": 6, "epochs": 2, "learning_rate": 0.1}
    return VerticalLogisticArbiterSettings(**{**defaults, **changes})


def run(federation: Federation, *, seed: int = 1, hooks: tuple = (), defense=None, protocol=None):
    from fedleak.core.whole.run import MemorySink
    from fedleak.protocols import PROTOCOLS

    protocol = protocol or PROTOCOLS.get(federation.protocol)()
    facts = protocol.public_facts(federation, defense, parties=federation.party_facts, n_rows=federation.n_rows)
    return protocol.run(federation, facts=facts, randomness=Randomness.published(seed), hooks=hooks, sink=MemorySink())


def seen(result, coalition: tuple[str, ...], target, protocol: str = "vertical-logistic"):
    """A coalition's view of a run."""
    from fedleak.protocols import PROTOCOLS

    facts = result.transcript.facts
    capabilities = PROTOCOLS.get(protocol).reveals(None, facts.parties, coalition)
    return result.view(coalition, target, facts.seen_by(coalition, capabilities))
