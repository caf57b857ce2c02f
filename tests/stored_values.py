"""Hypothesis strategies for everything that is stored, and equality that looks into arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isnan, prod
from typing import get_args, get_type_hints

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fedleak.core.adversary import Capability, Index, Secret, SecretKind
from fedleak.core.arrays import freeze
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownCells, KnownColumn, PublicSample
from fedleak.core.oracle import Answer, Exchange, OracleSpec, ReplayOracle
from fedleak.core.payload import Array, CipherArray, IntegerArray, ModelSpec, Scalar, Table, Texts, Tree
from fedleak.core.steps import Role
from fedleak.core.transcript import EVERYONE, Message, Record, StoredSequence
from fedleak.core.view import View
from fedleak.core.whole.truth import SecretValues, Served, Truth
from fedleak.protocols import vocabularies
from fedleak.protocols.averaging.vocabulary import Dropout
from fedleak.protocols.linear.vocabulary import LinearResidual
from fedleak.storage.segments import DTYPES

PARTIES = ("active", "passive", "arbiter")

names = st.text(st.characters(exclude_categories=("Cs",)), max_size=12) | st.sampled_from(["../../x", "a\nb", "\0"])
numbers = st.floats() | st.integers() | st.just(2**70) | st.just(-(2**4096) + 1)
scalars = st.none() | st.booleans() | names | numbers
words = st.integers(-(2**63), 2**63 - 1)


def arrays(dtype: object = None, **options: object) -> st.SearchStrategy:
    shapes = options.get("shape", hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
    return hnp.arrays(dtype or st.sampled_from(list(DTYPES.values())), shapes).map(freeze)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    n_rows, columns = draw(st.integers(0, 3)), draw(st.lists(names, max_size=3))
    return Table(tuple(columns), draw(arrays("<i8", shape=n_rows)), draw(arrays(">f4", shape=(n_rows, len(columns)))))


@st.composite
def byte_rows(draw: st.DrawFn) -> tuple[np.ndarray, tuple[int, ...]]:
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=2))
    return draw(arrays("u1", shape=(prod(shape), draw(st.integers(0, 5))))), shape


@st.composite
def ciphers(draw: st.DrawFn) -> CipherArray:
    data, shape = draw(byte_rows())
    exponents = draw(st.none() | arrays("<i8", shape=len(data)))
    signs = draw(st.none() | hnp.arrays("i1", len(data), elements=st.integers(-1, 1)).map(freeze))
    return CipherArray(draw(names), draw(names), data, shape, draw(words), exponents, signs)


model_specs = st.builds(
    ModelSpec, names, st.dictionaries(names, scalars, max_size=3), st.dictionaries(names, arrays(), max_size=3)
)
leaves = (
    arrays().map(Array)
    | ciphers()
    | byte_rows().map(lambda rows: IntegerArray(*rows))
    | scalars.map(Scalar)
    | st.lists(names, max_size=3).map(lambda values: Texts(tuple(values)))
    | tables()
    | model_specs
)
payloads = st.recursive(leaves, lambda inner: st.dictionaries(names, inner, max_size=3).map(Tree), max_leaves=6)

messages = st.builds(Message, names, words, st.sampled_from(PARTIES), st.sampled_from((*PARTIES, EVERYONE)), payloads)
records = st.builds(Record, names, words, names, payloads)

party_facts = st.builds(PartyFacts, names, st.sampled_from(Role), st.none() | words)
BY_ANNOTATION = {
    bool: st.booleans(),
    int: words,
    float: st.floats(),
    str: names,
    tuple[str, ...]: st.lists(names, max_size=3).map(tuple),
    tuple[Dropout, ...]: st.lists(st.builds(Dropout, names, words), max_size=2).map(tuple),
    LinearResidual: st.builds(LinearResidual, st.floats(), st.floats(), st.floats()),
}


def own_facts(kind: type) -> st.SearchStrategy:
    """Of one protocol, each field unknown or not."""
    hints = {name: get_args(hint)[0] for name, hint in get_type_hints(kind).items() if name != "kind"}
    return st.builds(kind, **{name: st.none() | BY_ANNOTATION[hint] for name, hint in hints.items()})


FACT_STRATEGIES = {
    "protocol": names,
    "parties": st.lists(party_facts, max_size=3).map(tuple),
    "n_rows": st.none() | words,
    "batch_size": st.none() | words,
    "n_epochs": st.none() | words,
    "learning_rate": st.none() | st.floats(),
    "initialisation": st.none() | names,
    "approximation": st.none() | names,
    "score_noise": st.none() | st.floats(),
    "max_row_norm": st.none() | st.floats(),
    "cipher": st.none() | names,
    "key_bits": st.none() | words,
    "fraction_bits": st.none() | words,
    "own": st.none() | st.one_of([own_facts(kind) for words in vocabularies() for kind in words.facts]),
    "defense": st.none() | names,
    "adversary": st.lists(names, max_size=2).map(tuple),
    "capabilities": st.none() | st.frozensets(st.sampled_from(Capability)),
}
facts = st.builds(Facts, **FACT_STRATEGIES)

secrets = st.builds(Secret, st.sampled_from(SecretKind), names)


@st.composite
def known_cells(draw: st.DrawFn) -> KnownCells:
    n = draw(st.integers(0, 4))
    return KnownCells(
        draw(names), draw(arrays("<i8", shape=n)), draw(arrays("<i8", shape=n)), draw(arrays("<f8", shape=n))
    )


finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def known_columns(draw: st.DrawFn) -> KnownColumn:
    low, high = sorted((draw(finite), draw(finite)))
    return KnownColumn(
        draw(names),
        draw(names),
        draw(st.none() | st.sampled_from(ColumnKind)),
        draw(st.sampled_from((None, low))),
        draw(st.sampled_from((None, high))),
        draw(st.none() | st.floats(min_value=1e-300, allow_infinity=False)),
        draw(st.floats(min_value=0, allow_infinity=False)),
    )


knowledge = st.builds(
    Knowledge,
    st.lists(known_cells(), max_size=2).map(tuple),
    st.lists(known_columns(), max_size=3).map(tuple),
    st.lists(st.builds(PublicSample, names, tables()), max_size=2).map(tuple),
)

exchanges = st.builds(Exchange, payloads, st.lists(messages, max_size=2).map(lambda sent: Answer(tuple(sent))))
oracles = st.builds(
    ReplayOracle,
    st.builds(OracleSpec, names, names, names, st.none() | words),
    st.lists(exchanges, max_size=2).map(tuple),
)

views = st.builds(
    View,
    coalition=st.just(("active", "arbiter")),
    target=secrets,
    facts=facts,
    messages=st.lists(messages.filter(lambda sent: sent.concerns(frozenset({"active", "arbiter"}))), max_size=4),
    locals=st.dictionaries(st.sampled_from(["active", "arbiter"]), st.lists(records, max_size=3)),
    knowledge=knowledge,
    oracles=st.dictionaries(names, oracles, max_size=2),
)


@st.composite
def secret_values(draw: st.DrawFn, index: Index = Index.ROW) -> SecretValues:
    """A table with named columns, or rows of another shape."""
    n_rows, columns = draw(st.integers(0, 3)), tuple(draw(st.lists(names, max_size=3)))
    shape = draw(st.just((len(columns),)) | hnp.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=2))
    return SecretValues(
        draw(arrays("<i8", shape=index.shape_of(n_rows))),
        columns if len(shape) == 1 else (),
        draw(arrays("<f8", shape=(n_rows, *shape))),
        draw(arrays("<f8", shape=(*shape, 2) if len(shape) == 1 else st.sampled_from([(2,), (*shape, 2)]))),
    )


@st.composite
def served_models(draw: st.DrawFn) -> Served:
    rows = draw(tables())
    confidences = draw(arrays("<f8", shape=(len(rows.ids), 2)))
    return Served(draw(model_specs), rows, confidences, tuple(rows.columns[:1]))


@st.composite
def truths(draw: st.DrawFn) -> Truth:
    about = draw(st.lists(secrets, max_size=3, unique=True))
    values = {secret: draw(secret_values(secret.kind.indexed_by)) for secret in about}
    return Truth(values, draw(st.none() | served_models()))


def same(one: object, other: object) -> bool:
    """Equal in type and in every bit; all NaNs outside of arrays are one."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and _same_array(one, other)
    if isinstance(one, Mapping):
        return (
            isinstance(other, Mapping) and list(one) == list(other) and all(same(one[key], other[key]) for key in one)
        )
    if is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one)
        )
    if isinstance(one, list | tuple | StoredSequence):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return (isnan(one) and isnan(other)) or repr(one) == repr(other)
    if isinstance(one, ReplayOracle):
        return same(one.spec, other.spec) and same(one.log, other.log)
    return type(one) is type(other) and one == other


def _same_array(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype.str == other.dtype.str and one.shape == other.shape and one.tobytes() == other.tobytes()
