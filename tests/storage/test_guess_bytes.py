"""A guess as bytes: equal guesses give equal bytes, and only those."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status
from fedleak.core.errors import FileFormatError
from fedleak.storage import guess_to_bytes


def _guess() -> Guess:
    return Guess(
        Secret(SecretKind.FEATURES, "passive"),
        Status.PARTIAL,
        np.arange(2),
        np.array([[1.0, np.nan], [0.0, 2.5]]),
        intervals=np.zeros((2, 2, 2)),
        confidence=np.ones((2, 2)),
        candidates=(np.ones((2, 2)),),
        evidence={"rank": 2, "residual": 1e-9, "bound": float("inf")},
        why="two of four cells",
    )


def test_equal_guesses_give_equal_bytes() -> None:
    assert guess_to_bytes(_guess()) == guess_to_bytes(_guess())


def test_the_order_of_evidence_and_the_layout_in_memory_do_not_matter() -> None:
    guess = _guess()
    other = replace(guess, evidence=dict(reversed(guess.evidence.items())), values=np.asfortranarray(guess.values))
    assert guess_to_bytes(other) == guess_to_bytes(guess)


@pytest.mark.parametrize(
    "change",
    [
        {"secret": Secret(SecretKind.LABELS, "passive")},
        {"secret": Secret(SecretKind.FEATURES, "active")},
        {"status": Status.RECOVERED},
        {"ids": np.array([0, 2])},
        {"ids": np.array([[0, 0], [0, 1]]), "secret": Secret(SecretKind.RESIDUALS, "passive")},
        {"values": np.array([[1.0, np.nan], [-0.0, 2.5]])},
        {"values": np.array([[1.0, np.nan], [0.0, np.nextafter(2.5, 3)]])},
        {"intervals": None},
        {"intervals": np.ones((2, 2, 2))},
        {"confidence": None},
        {"candidates": ()},
        {"candidates": (np.ones((2, 2)), np.ones((2, 2)))},
        {"evidence": {"rank": 2}},
        {"evidence": {"rank": 2.0, "residual": 1e-9, "bound": float("inf")}},
        {"why": ""},
    ],
)
def test_any_difference_shows(change: dict[str, object]) -> None:
    assert guess_to_bytes(replace(_guess(), **change)) != guess_to_bytes(_guess())


def test_what_has_no_fixed_bytes_is_refused() -> None:
    with pytest.raises(FileFormatError, match="guess cannot be stored: values"):
        guess_to_bytes(replace(_guess(), values=np.ones((2, 2), dtype=np.longdouble)))
    with pytest.raises(FileFormatError, match="guess cannot be stored: evidence"):
        guess_to_bytes(replace(_guess(), evidence={"rank": [1]}))


def test_every_array_of_a_guess_is_read_only() -> None:
    guess = _guess()
    for array in (guess.ids, guess.values, guess.intervals, guess.confidence, *guess.candidates):
        assert array is not None
        assert not array.flags.writeable


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match=r"intervals must have shape \(2, 2, 2\)"):
        replace(_guess(), intervals=np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"confidence must have shape \(2, 2\)"):
        replace(_guess(), confidence=np.zeros((2, 2, 1)))
