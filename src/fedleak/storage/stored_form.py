"""The dialect of stored folders: payloads with their tags, enums by name, arrays in segments, floats of every kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from fedleak.core.arrays import AnyArray
from fedleak.core.facts import ProtocolFacts
from fedleak.core.payload import (
    Array,
    CipherArray,
    IntegerArray,
    ModelSpec,
    Payload,
    Scalar,
    ScalarValue,
    Table,
    Texts,
    Tree,
)
from fedleak.protocols import vocabularies
from fedleak.schema.codec import (
    BooleanCodec,
    Codec,
    EnumCodec,
    ExactFloatCodec,
    ExactScalarCodec,
    IntegerCodec,
    Put,
    Reading,
    TextCodec,
)
from fedleak.schema.codec_containers import Dialect, TaggedCodec, codec_for
from fedleak.schema.strict_json import Malformed
from fedleak.storage.safe_files import Limits
from fedleak.storage.segments import ArrayRef

PAYLOAD_TAGS: Mapping[str, type] = {
    "array": Array,
    "cipher-array": CipherArray,
    "integer-array": IntegerArray,
    "scalar": Scalar,
    "texts": Texts,
    "table": Table,
    "model": ModelSpec,
    "tree": Tree,
}


class ArrayCodec(Codec):
    words = "array"

    def __init__(self, scalar_type: object) -> None:
        self._scalar_type = scalar_type  # of the annotation; Any allows every storable dtype

    def encode(self, value: object, put: Put) -> object:
        if not isinstance(value, np.ndarray):
            raise Malformed(f"must be a numpy array; got {type(value).__name__}")
        return codec_for(ArrayRef, STORED).encode(put(value), put)

    def decode(self, value: object, reading: Reading) -> object:
        ref = cast(ArrayRef, codec_for(ArrayRef, STORED).decode(value, reading))
        array = reading.resolve(ref)
        if self._scalar_type is not Any and array.dtype.type is not self._scalar_type:
            raise Malformed(f"must be an array of type {getattr(self._scalar_type, '__name__', '?')}; got {ref.dtype}")
        return array


class ProtocolFactsCodec(Codec):
    """By the kinds that vocabularies of listed protocols declare, asked each time; a file names a kind, no module."""

    words = "facts of a protocol"

    def encode(self, value: object, put: Put) -> object:
        return self._kinds().encode(value, put)

    def decode(self, value: object, reading: Reading) -> object:
        return self._kinds().decode(value, reading)

    def _kinds(self) -> TaggedCodec:
        return TaggedCodec("kind", {facts.kind: facts for words in vocabularies() for facts in words.facts}, STORED)


def reading_within(limits: Limits, resolve: Callable[[ArrayRef], AnyArray]) -> Reading:
    """Arrays are looked for only where the limits let them be."""

    def checked(ref: ArrayRef) -> AnyArray:
        ref.check(limits)
        return resolve(ref)

    return Reading(limits, checked)


STORED = Dialect(
    leaves={
        str: TextCodec(),
        bool: BooleanCodec(),
        int: IntegerCodec(),
        float: ExactFloatCodec(),
        ScalarValue: ExactScalarCodec(),
        ProtocolFacts: ProtocolFactsCodec(),
    },
    enum=EnumCodec,
    array=ArrayCodec,
    # A payload carries its tag also where only one kind is possible.
    tags={
        Payload: ("type", PAYLOAD_TAGS),
        **{kind: ("type", {tag: kind}) for tag, kind in PAYLOAD_TAGS.items()},
    },
)
