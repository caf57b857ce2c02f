"""Points under two secrets: commutative, on the curve and never on its twist; small orders are refused."""

from __future__ import annotations

import pytest

from fedleak.core.errors import CryptoError
from fedleak.crypto.bigint import legendre
from fedleak.crypto.blinded_points import (
    COEFFICIENT,
    POINT_BYTES,
    PRIME,
    PointSecret,
    is_on_curve,
    packed,
    point_of,
    unpacked,
)
from fedleak.crypto.sent_keys import is_private_key

TEXTS = [str(number).encode() for number in range(60)]
BASE = 9  # the u coordinate of RFC 7748's base point


def side_of(point: bytes) -> int:
    u = int.from_bytes(point, "little")
    return legendre(u * (u * (u + COEFFICIENT) + 1) % PRIME, PRIME)


def test_texts_go_to_points_of_the_curve_each_to_its_own():
    points = [point_of(text) for text in TEXTS]
    assert {side_of(point) for point in points} == {1}
    assert len(set(points)) == len(TEXTS)
    assert points == [point_of(text) for text in TEXTS]


def test_the_curve_is_the_one_of_the_standard():
    assert is_on_curve(BASE)
    assert not any(is_on_curve(u) for u in (0, PRIME, PRIME + BASE))
    on_curve = sum(is_on_curve(u) for u in range(2, 1002))
    assert 400 < on_curve < 600, "half of all numbers; the other half is the twist's"


def test_two_secrets_commute_and_one_alone_hides():
    points, one, other = [point_of(text) for text in TEXTS], PointSecret(), PointSecret()
    there, back = other.blind(one.blind(points)), one.blind(other.blind(points))
    assert there == back
    assert not set(there) & set(one.blind(points)) & set(points)
    assert {side_of(point) for point in there} == {1}


@pytest.mark.parametrize("u", [0, 1, PRIME - 1])
def test_points_of_small_order_are_refused(u: int):
    with pytest.raises(CryptoError, match="point of large order"):
        PointSecret().blind([u.to_bytes(POINT_BYTES, "little")])


def test_payloads_keep_the_bytes_and_secrets_are_known_as_keys():
    points = [point_of(text) for text in TEXTS]
    assert unpacked(packed(points)) == points
    assert unpacked(packed([])) == []
    assert is_private_key(PointSecret().payload())
    assert not is_private_key(packed(points))
