"""Who learns what in an alignment: the intersection, its size, and nothing of anybody else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import run, vertical
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import InputError
from fedleak.core.payload import Array, IntegerArray, Scalar, Tree
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.run import Run
from fedleak.deviations.named_strangers import ClaimedIdentifiers
from fedleak.protocols.alignment import vocabulary as alignment
from fedleak.protocols.alignment.entity_alignment import AlignmentSettings, EntityAlignment
from fedleak.protocols.alignment.vocabulary import identifier_of, person_of

THREE = {"bank": 3, "fintech": 4, "shop": 2}


def aligned(parties: dict[str, int] | None = None, **changes: object) -> Federation:
    settings = AlignmentSettings(**{"identifiers": 500, **changes})
    return vertical(parties or {"bank": 3, "fintech": 4}, settings, protocol="entity-alignment")


def people_of(result: Run, party: str) -> set[int]:
    found = result.truth.of(Secret(SecretKind.MEMBERS, party))
    return set(found.ids[found.values[:, 0] == 1].tolist())


def matched(result: Run, partner: str) -> set[int]:
    (record,) = [one for one in result.locals["bank"] if one.name == "matched-rows"]
    assert isinstance(record.value, Tree)
    rows = record.value.items[partner]
    assert isinstance(rows, Array)
    return set(rows.values.tolist())


def sent(result: Run, step: str, receiver: str | None = None) -> list:
    return [m.payload for m in result.transcript.messages if m.step == step and receiver in (None, m.receiver)]


@pytest.mark.parametrize("matching", ["elliptic-curve", "digests"])
def test_the_active_party_learns_each_pair_and_others_what_all_have(matching: str):
    result = run(aligned(THREE, matching=matching))
    bank, fintech, shop = (people_of(result, name) for name in THREE)
    assert matched(result, "fintech") == bank & fintech
    assert matched(result, "shop") == bank & shop
    assert bank & fintech & shop < (bank & fintech) | (bank & shop), (
        "of three the active party learns more than what all have"
    )
    for receiver in ("fintech", "shop"):
        (heard,) = sent(result, "setup.common-rows", receiver)
        assert set(heard.values.tolist()) == bank & fintech & shop


def test_sizes_are_told_and_no_point_comes_twice():
    result = run(aligned())
    first, second = sent(result, "setup.blinded-identifiers")
    assert len(first.data) == len(people_of(result, "bank"))
    assert len(second.data) == len(people_of(result, "fintech"))
    messages = [m.payload for m in result.transcript.messages if isinstance(m.payload, IntegerArray)]
    points = [row.tobytes() for payload in messages for row in payload.data]
    assert len(set(points)) == len(points), "the same person looks different from every sender"


def test_a_size_alone_is_the_right_one_and_nobody_is_named():
    result = run(aligned(output="size"))
    (counts,) = [one.value for one in result.locals["bank"] if one.name == "matched-counts"]
    assert isinstance(counts, Tree)
    both = people_of(result, "bank") & people_of(result, "fintech")
    assert counts.items["fintech"] == Scalar(len(both))
    assert not [one for one in result.locals["bank"] if one.name == "matched-rows"]
    assert not sent(result, "setup.common-rows")


def test_shuffled_points_do_not_come_back_in_order():
    """Otherwise the order would tell whom a size is about."""
    ordered, shuffled = run(aligned()), run(aligned(output="size"))
    for result, in_order in ((ordered, True), (shuffled, False)):
        (secret,) = [one.value for one in result.locals["fintech"] if one.name == "point-secret-for-bank"]
        scalar = secret.items["scalar"].data[0].tobytes()
        (first, _), (twice,) = (
            sent(result, "setup.blinded-identifiers"),
            sent(result, "setup.twice-blinded-identifiers"),
        )
        expected = [times(scalar, row.tobytes()) for row in first.data]
        returned = [row.tobytes() for row in twice.data]
        assert sorted(expected) == sorted(returned)
        assert (expected == returned) == in_order


def times(scalar: bytes, point: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    return X25519PrivateKey.from_private_bytes(scalar).exchange(X25519PublicKey.from_public_bytes(point))


def test_people_without_a_value_are_not_the_partys():
    federation = aligned(held_share=1.0)
    bank, fintech = federation.parties
    features = fintech.train.features.copy()
    features[:5] = np.nan
    features[5, 0] = np.nan  # one cell that is missing does not make a stranger
    fintech = replace(fintech, train=replace(fintech.train, features=features))
    result = run(replace(federation, parties=(bank, fintech)))
    assert people_of(result, "fintech") == set(fintech.train.ids[5:].tolist())
    assert people_of(result, "bank") == set(bank.train.ids.tolist())


def test_a_dishonest_party_names_strangers_up_to_the_limit():
    deviation = ClaimedIdentifiers(guesses=500, identifiers=500)
    result = run(aligned(), hooks=deviation.hooks("bank"))
    assert matched(result, "fintech") == people_of(result, "fintech"), "all identifiers: the whole list"
    limited = aligned(most_identifiers=60)
    with pytest.raises(InputError, match="at most 60 identifiers"):
        run(limited, hooks=deviation.hooks("bank"))
    facts = EntityAlignment.facts(limited.settings, limited.party_facts, limited.n_rows)
    informed = deviation.informed(facts)
    assert (informed.guesses, informed.identifiers) == (60, 500)
    (put_in,) = [one.value for one in run(limited, hooks=informed.hooks("bank")).locals["bank"] if one.name == "put-in"]
    assert len(put_in.values) == len(set(put_in.values.tolist())) == 60


@pytest.mark.parametrize("count", [2, 7, 500, 2**31, alignment.MOST_IDENTIFIERS])
def test_identifiers_are_of_one_person_each(count: int):
    people = range(min(count, 200))
    numbers = [identifier_of(person, count) for person in people]
    assert len(set(numbers)) == len(numbers)
    assert all(0 <= number < count for number in numbers)
    assert [person_of(number, count) for number in numbers] == list(people)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"identifiers": 1}, "identifiers must be 2 to"),
        ({"most_identifiers": -1}, "most_identifiers must be 0 or more"),
        ({"held_share": 0.0}, "held_share must be above 0"),
        ({"matching": "digests", "output": "size"}, 'output must be "rows"'),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, object], said: str):
    with pytest.raises(InputError, match=said):
        AlignmentSettings(**changes)


def test_fewer_identifiers_than_people_and_unknown_parties_are_refused():
    with pytest.raises(InputError, match="identifiers must be above the largest row number"):
        run(aligned(identifiers=3))
    with pytest.raises(InputError, match="everybody_at must name parties"):
        run(aligned(everybody_at=("grocer",)))
