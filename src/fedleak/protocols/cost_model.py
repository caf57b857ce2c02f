"""How many ciphertexts a run makes, multiplies, opens and sends, by protocol and size, without running it.

Of an honest run: a deviation may add columns. Of vertical regression the counts are exact. Of boosted trees they are
the most that there can be where no cell is missing: how far trees grow is up to the data. What has no ciphertexts
counts nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from math import ceil

from fedleak.core.facts import Facts
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Settings
from fedleak.crypto.blinding import FRESH, NONE
from fedleak.crypto.cipher_speed import Operations
from fedleak.crypto.masked_product import ciphertexts_for, product_bits
from fedleak.crypto.packing import capacity
from fedleak.models.boosting.losses import LARGEST_HESSIAN, Objective
from fedleak.models.boosting.packed_gradients import layout_for
from fedleak.models.sigmoid import Approximation
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings
from fedleak.protocols.boosting.vocabulary import BoostingFacts
from fedleak.protocols.linear.encrypted_exchange import terms_of
from fedleak.protocols.linear.vertical_arbiter import VerticalArbiterSettings
from fedleak.protocols.linear.vertical_logistic import VerticalLogisticSettings

KEEPS_PLAINTEXTS = "sealed"  # an arbiter opens at once what only its key could open later


@singledispatch
def operations(settings: Settings, facts: Facts) -> Operations | None:  # noqa: ARG001  (others need them)
    """Of one run of a federation with these settings; None where nobody has counted them."""
    return None if hasattr(settings, "cipher") else Operations()


@operations.register
def _(settings: VerticalLogisticSettings, facts: Facts) -> Operations:
    """Protocol 1 of Hu et al. 2022 between every ordered pair of parties, in every batch."""
    widths = _widths(facts)
    terms = terms_of(Approximation(settings.approximation), len(widths))
    if terms is None or settings.source(len(widths)) != "encrypted-exchange":
        return Operations()
    n_others = len(widths) - 1
    total = Operations(keys=len(widths))
    for n_rows, n_times in _batches(facts):
        n_values = terms.n_blocks * n_rows
        slot_bits = product_bits(n_rows, n_others) if settings.pack_products else 0
        n_opened = sum(ciphertexts_for(width, settings.key_bits, slot_bits) for width in widths)
        once = Operations(
            encryptions=len(widths) * n_others * n_values,
            cells=n_others * n_values * sum(widths),
            additions=n_others * (sum(widths) - n_opened),
            multiplications=n_others * (sum(widths) - n_opened),
            rerandomisations=n_others * n_opened,
            decryptions=n_others * n_opened,
            sent=n_others * (len(widths) * n_values + n_opened),
        )
        total += once.times(n_times)
    return total


@operations.register
def _(settings: VerticalArbiterSettings, facts: Facts) -> Operations:
    """Scores to the active party, residuals back, gradients to the arbiter, and a loss where two parties have one."""
    widths, fresh = _widths(facts), settings.blinding != NONE
    n_passive = len(widths) - 1
    opened_at_once = settings.cipher == KEEPS_PLAINTEXTS
    total = Operations(keys=1)
    for n_rows, n_times in _batches(facts):
        once = Operations(
            encryptions=n_passive * (n_rows if fresh else 1),
            multiplications=0 if fresh else n_passive,
            cells=n_rows * sum(widths),
            additions=(n_passive - 1) * n_rows,
            rerandomisations=sum(widths) + (n_rows if fresh else 0),
            decryptions=sum(widths) + ((n_passive + 1) * n_rows if opened_at_once else 0),
            sent=2 * n_passive * n_rows + sum(widths),
        )
        if settings.loss and n_passive == 1:
            once += Operations(encryptions=1, cells=n_rows, additions=1, rerandomisations=1, decryptions=1, sent=2)
        total += once.times(n_times)
    return total


@operations.register
def _(settings: SecureBoostSettings, facts: Facts) -> Operations:
    """Gradients of every row once a tree; at every node the sums of every bin of every partner's columns."""
    own, n_rows = facts.of(BoostingFacts), ceil(_share_of_rows(settings) * _n_rows(facts))
    n_scores = own.n_classes or 1 if own.objective == Objective.SOFTMAX else 1
    n_trees = n_scores * (settings.n_trees - settings.first_tree_alone)
    if not n_trees:
        return Operations(keys=1)
    kinds, partners = 1 if settings.packed else 2, [party.n_features or 0 for party in facts.with_role(Role.PASSIVE)]
    n_encrypted = kinds * n_rows
    a_tree = Operations(
        encryptions=n_encrypted if settings.blinding == FRESH else kinds,
        multiplications=kinds if settings.blinding == "none" else 0,
        sent=n_encrypted * len(partners),
    )
    for n_columns in partners:
        for level in range(settings.depth):
            a_tree += _level(settings, own, n_rows, n_columns, level)
    return Operations(keys=1) + a_tree.times(n_trees)


def _level(settings: SecureBoostSettings, own: BoostingFacts, n_rows: int, n_columns: int, level: int) -> Operations:
    """One partner's sums at one depth. Of two siblings the smaller one is summed, the other follows by subtraction."""
    halved = settings.packed and level > 0
    n_nodes = min(2 ** (level - 1) if halved else 2**level, n_rows)
    n_summed = n_rows // 2 if halved else n_rows
    kinds = 1 if settings.packed else 2
    n_running = n_nodes * max(settings.bins - 1, 0)
    n_sums = kinds * n_nodes * n_columns * (settings.bins - 1)
    n_sent = -(-n_sums // _slots(settings, own, n_rows))
    return Operations(
        additions=kinds * n_columns * (n_summed + n_running) + n_sums - n_sent,
        multiplications=n_sums - n_sent,
        rerandomisations=n_sent,
        decryptions=n_sent,
        sent=n_sent,
    )


def _slots(settings: SecureBoostSettings, own: BoostingFacts, n_rows: int) -> int:
    """Candidates whose sums share a ciphertext. Numbers as labels are taken to have gradients of up to one."""
    if not settings.packed:
        return 1
    factor = settings.sampling.largest_factor
    hessian = LARGEST_HESSIAN[Objective(own.objective or Objective.LOGISTIC)]
    layout = layout_for(n_rows, settings.fraction_bits, factor, hessian * factor, packed=True)
    return capacity(settings.key_bits, layout.slot_bits)


def _share_of_rows(settings: SecureBoostSettings) -> float:
    return settings.goss_top + settings.goss_other if settings.goss else settings.row_share


def _widths(facts: Facts) -> list[int]:
    members = (*facts.with_role(Role.ACTIVE), *facts.with_role(Role.PASSIVE))
    return [party.n_features or 0 for party in members]


def _batches(facts: Facts) -> Iterator[tuple[int, int]]:
    """Rows of a batch, and how many batches have as many: the last of an epoch may be smaller."""
    n_full, n_left = divmod(_n_rows(facts), facts.batch_size or 1)
    yield facts.batch_size or 1, n_full * (facts.n_epochs or 1)
    if n_left:
        yield n_left, facts.n_epochs or 1


def _n_rows(facts: Facts) -> int:
    return facts.n_rows or 0
