"""Annotations behind a ``type`` alias: numpy 2.5 makes NDArray one where Python has them (from 3.12 on)."""

from __future__ import annotations

from types import GenericAlias
from typing import Any, TypeVar

import numpy as np
import pytest

from fedleak.schema.codec_containers import ListCodec, codec_for
from fedleak.storage.stored_form import STORED, ArrayCodec

ScalarT = TypeVar("ScalarT")


class Alias:
    """What ``type Name[T] = value`` makes, as far as the codecs look at it."""

    def __init__(self, value: object) -> None:
        self.__value__ = value

    def __getitem__(self, arguments: object) -> GenericAlias:
        return GenericAlias(self, arguments)  # type: ignore[arg-type]


NDARRAY = Alias(np.ndarray[Any, np.dtype[ScalarT]])  # type: ignore[valid-type, type-var]


@pytest.mark.parametrize(
    ("annotation", "scalar_type"),
    [
        (NDARRAY[np.float64], np.float64),
        (NDARRAY[Any], Any),
        (Alias(NDARRAY[np.uint8]), np.uint8),
    ],
)
def test_an_array_behind_an_alias_is_an_array(annotation, scalar_type):
    codec = codec_for(annotation, STORED)
    assert isinstance(codec, ArrayCodec)
    assert codec._scalar_type is scalar_type


def test_an_alias_inside_another_annotation():
    assert isinstance(codec_for(tuple[NDARRAY[np.float64], ...], STORED), ListCodec)  # type: ignore[misc]


def test_what_is_behind_an_alias_must_still_be_known():
    with pytest.raises(TypeError, match="annotation must be one that the file format knows"):
        codec_for(Alias(complex), STORED)
