"""Whose records are whose, where parties were missing in some rounds of a secure sum."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fedleak.attacks.binary.row_owners import RowOwners
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from horizontal import binary, federation, train
from random_cases import seeds

CLINIC = Secret(SecretKind.RECORDS, "clinic")


def attacked(dropouts, *, sizes=(6, 5), width=16, seed=0, fix=None, **changes):
    given = {"rounds": 30, "batch_size": 8, "shuffled": ("hospital",), "recovery_threshold": 3}
    settings = HorizontalLogisticSettings(**{**given, "dropouts": dropouts, **changes})
    clinic, lab = (binary(size, width, 100 * seed + place) for place, size in enumerate(sizes, start=1))
    if fix is not None:
        fix(clinic, lab)
    tables = {"hospital": binary(40, width, 100 * seed), "clinic": clinic, "lab": lab, "ward": binary(8, width, 7)}
    fed = federation(tables, settings, seed)
    result = train(fed, seed=seed)
    facts = result.transcript.facts
    coalition = ("hospital", "ward")
    seen = facts.seen_by(coalition, type_of(fed).reveals(settings, facts.parties, coalition))
    view = result.view(coalition, CLINIC, seen)
    return RowOwners().run(view, rng=np.random.default_rng(seed)), result.truth.of(CLINIC).values, seen


def type_of(fed):
    from fedleak.protocols import PROTOCOLS

    return PROTOCOLS.get(fed.protocol)


def as_set(rows: np.ndarray) -> Counter:
    return Counter(map(tuple, rows.astype(int).tolist()))


@pytest.mark.parametrize("dropouts", [("clinic:4",), ("lab:4",), ("lab:4", "clinic:11")])
def test_one_round_without_a_party_divides_the_records(dropouts):
    guess, truth, facts = attacked(dropouts)
    assert guess.status is Status.RECOVERED, guess.why
    assert as_set(guess.values) == as_set(truth)
    assert "equations to spare" in guess.certificate
    assert RowOwners.predict(facts).verdict is Verdict.UNKNOWN


def test_nobody_missing_leaves_it_open_and_a_member_missing_does_not_help():
    for dropouts in ((), ("hospital:4",)):
        guess, _, facts = attacked(dropouts)
        assert guess.status is Status.NOT_IDENTIFIABLE
        assert RowOwners.predict(facts).verdict is Verdict.IMPOSSIBLE


def test_a_record_that_both_have_is_counted():
    def same(clinic, lab):
        lab[0] = clinic[0]

    guess, truth, _ = attacked(("clinic:4", "lab:7"), fix=same)
    assert guess.status is Status.RECOVERED, guess.why
    assert as_set(guess.values) == as_set(truth)


def test_records_that_are_not_known_are_not_divided():
    guess, _, _ = attacked(("clinic:4",), width=6)
    assert guess.status is Status.UNDETERMINED
    assert not np.isfinite(guess.values).any()


@pytest.mark.parametrize("seed", seeds(6))
def test_what_is_called_recovered_is(seed):
    rng = np.random.default_rng(seed)
    lost = tuple(f"{rng.choice(['clinic', 'lab'])}:{rounds}" for rounds in rng.permutation(30)[: rng.integers(1, 4)])
    sizes = (int(rng.integers(1, 8)), int(rng.integers(1, 8)))
    guess, truth, _ = attacked(lost, sizes=sizes, width=int(rng.integers(6, 18)), seed=seed)
    if guess.status is Status.RECOVERED:
        assert as_set(guess.values) == as_set(truth), (seed, guess.why)
