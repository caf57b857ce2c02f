"""The counts of the cost model, against what small runs really do with ciphertexts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from boosted_runs import boosted
from federations import run, sealed, sealed_arbiter, vertical
from fedleak.core.payload import CipherArray, Tree
from fedleak.crypto.cipher import PrivateKey, PublicKey
from fedleak.crypto.cipher_speed import CipherSpeed, Operations, measured_speed
from fedleak.crypto.paillier_cipher import Paillier
from fedleak.crypto.sealed import Sealed
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.averaging.horizontal_logistic import HorizontalLogisticSettings
from fedleak.protocols.cost_model import operations

SIZES = {  # what each operation is done on, by its arguments
    (PublicKey, "encrypt"): ("encryptions", lambda values, bits: len(values)),
    (PublicKey, "matvec"): ("cells", lambda matrix, c, **_: matrix.size),
    (PublicKey, "add"): ("additions", lambda a, b: len(a.data)),
    (PublicKey, "multiply"): ("multiplications", lambda a, scalars, **_: len(a.data)),
    (PublicKey, "grouped_sum"): (
        "additions",
        lambda c, groups, n_groups, n_running=0: groups.size + len(groups) * max(n_running - 1, 0),
    ),
    (PublicKey, "rerandomise"): ("rerandomisations", lambda c: len(c.data)),
    (PrivateKey, "decrypt"): ("decryptions", lambda c: len(c.data)),
}


@pytest.fixture
def counted(monkeypatch):
    """What is done from now on."""
    found = Counter()

    def watched(kind, name, what, size):
        inner = getattr(kind, name)

        def call(self, *args, **kwargs):
            found[what] += size(*args, **kwargs)
            return inner(self, *args, **kwargs)

        monkeypatch.setattr(kind, name, call)

    for (kind, name), (what, size) in SIZES.items():
        watched(kind, name, what, size)
    for cipher in (Paillier, Sealed):
        watched(cipher, "generate", "keys", lambda *_: 1)
    return found


def n_sent(result) -> int:
    return sum(_n_ciphertexts(message.payload) for message in result.transcript.messages)


def _n_ciphertexts(payload) -> int:
    if isinstance(payload, Tree):
        return sum(map(_n_ciphertexts, payload.items.values()))
    return len(payload.data) if isinstance(payload, CipherArray) else 0


def predicted(federation) -> Operations:
    protocol = PROTOCOLS.get(federation.protocol)
    facts = protocol.public_facts(federation, parties=federation.party_facts, n_rows=federation.n_rows)
    return operations(federation.settings, facts)


REGRESSIONS = {
    "two": ({"bank": 3, "shop": 4}, sealed(), "vertical-logistic"),
    "real cipher": ({"bank": 2, "shop": 1}, sealed(cipher="paillier", epochs=1, batch_size=8), "vertical-logistic"),
    "three, a smaller last batch": ({"bank": 2, "shop": 4, "web": 1}, sealed(batch_size=7), "vertical-logistic"),
    "packed": (
        {"bank": 3, "shop": 11, "web": 1},
        sealed(pack_products=True, batch_size=7),
        "vertical-logistic",
    ),
    "packed, labels alone": ({"bank": 0, "shop": 4}, sealed(pack_products=True), "vertical-logistic"),
    "labels alone": ({"bank": 0, "shop": 4}, sealed(), "vertical-logistic"),
    "cubic": ({"bank": 3, "shop": 2}, sealed(approximation="cubic"), "vertical-logistic"),
    "cubic of three": ({"bank": 3, "shop": 2, "web": 1}, sealed(approximation="cubic"), "vertical-logistic"),
    "opened shares": ({"bank": 3, "shop": 2}, sealed(approximation="piecewise"), "vertical-logistic"),
    "shares": ({"bank": 3, "shop": 2}, sealed(gradients="secret-shared"), "vertical-logistic"),
    "arbiter": ({"bank": 3, "shop": 4, "referee": 0}, sealed_arbiter(), "vertical-logistic-arbiter"),
    "arbiter, no loss": (
        {"bank": 3, "shop": 4, "web": 2, "referee": 0},
        sealed_arbiter(batch_size=7),
        "vertical-logistic-arbiter",
    ),
    "no blinding": (
        {"bank": 2, "shop": 2, "referee": 0},
        sealed_arbiter(cipher="paillier", blinding="none", epochs=1, batch_size=12),
        "vertical-logistic-arbiter",
    ),
}


@pytest.mark.parametrize("case", REGRESSIONS)
def test_the_counts_of_a_regression_are_exact(case, counted):
    widths, settings, protocol = REGRESSIONS[case]
    federation = vertical(widths, settings, protocol=protocol)
    result = run(federation)
    assert predicted(federation) == Operations(**counted, sent=n_sent(result))


@pytest.mark.parametrize("packed", [True, False])
def test_the_counts_of_boosted_trees_are_the_most_and_near(packed, counted):
    federation = boosted({"bank": 1, "shop": 3}, packed=packed, n_trees=2, min_child_weight=0.0, min_gain=0.0)
    result = run(federation)
    done, most = Operations(**counted, sent=n_sent(result)), predicted(federation)
    assert done.encryptions == most.encryptions
    for name in ("additions", "multiplications", "rerandomisations", "decryptions", "sent"):
        assert getattr(most, name) / 2 <= getattr(done, name) <= getattr(most, name), name


def test_what_has_no_ciphertexts_costs_none_and_what_nobody_counted_is_unknown():
    facts = PROTOCOLS.get("vertical-logistic").facts(sealed(), (), 10)
    assert operations(HorizontalLogisticSettings(), facts) == Operations()

    class Foreign:
        cipher = "paillier"

    assert operations(Foreign(), facts) is None


def test_seconds_are_counts_times_measured_speeds():
    ticks = iter(range(1000))
    speed = measured_speed("sealed", 1024, 20, np.ones((4, 2)), clock=lambda: float(next(ticks)))
    assert speed == CipherSpeed(2.0, 1 / 12, 1 / 8, 1 / 12, 1 / 12, 1 / 12, 1 / 12)
    assert speed.seconds(Operations(keys=1, encryptions=24, cells=8, sent=1000)) == pytest.approx(2 + 2 + 1)


def test_operations_add_up():
    once = Operations(keys=1, encryptions=500, sent=3)
    assert once + once == once.times(2) == Operations(keys=2, encryptions=1000, sent=6)
    assert not once.is_long
    assert once.times(3).is_long
