"""Write a capture from a training loop of your own, in ten lines.

    with Recorder("capture", {"bank": "active", "fintech": "passive"}, learning_rate=0.1, score_noise=0.0) as recorder:
        recorder.record("fintech", "features", rows, ids=ids)
        for number, batch in enumerate(batches):
            recorder.message("train.batch", "bank", EVERYONE, ids[batch], round=number)
            ...
            recorder.record("fintech", "gradient", gradient, round=number)

The folder appears when the block ends; a loop that fails leaves nothing. ``fedleak audit --transcript capture`` audits
it. docs/captures.md lists the names of steps and records that attacks read.

Needs numpy and the standard library alone, so that it runs inside any framework's environment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import InputError, RunError, UnknownNameError, nearest, nearest_or_list
from fedleak.core.fact_checks import NAME_RULE, is_party_name, wrong_fact
from fedleak.core.facts import Facts, PartyFacts, ProtocolFacts
from fedleak.core.payload import Payload, Table
from fedleak.core.steps import FEATURES, OWN_DATA, Role
from fedleak.core.transcript import EVERYONE, SETUP_ROUND, Message, Record
from fedleak.core.whole.truth import KeptSecret, SecretValues, Truth
from fedleak.protocols import vocabularies
from fedleak.protocols.captured.sound_values import refuse, released_steps, unsound, unsound_message
from fedleak.protocols.linear.vocabulary import RESIDUALS
from fedleak.recorded_values import Ciphertexts, as_payload, as_table, numbers_of, row_ids
from fedleak.storage.capture_and_truth import DiskSink, save_truth
from fedleak.storage.folder import check_place

__all__ = ["EVERYONE", "Ciphertexts", "Recorder"]


class Recorder:
    """One run. ``parties`` are names with their roles: active (holds labels), passive, arbiter or server.

    Keywords are public facts, which everybody in the federation knows: n_rows, batch_size, n_epochs, learning_rate,
    initialisation, approximation, score_noise (0.0 where nobody adds noise; unknown unless you say so), max_row_norm,
    cipher, key_bits, fraction_bits. A ``family`` of protocols (vertical-linear, horizontal-linear … as docs/captures.md
    lists them) has facts of its own beside these. ``n_features`` is how many columns a party has whose features are
    not recorded. What you do not know, leave out.
    ``own_steps`` and ``own_records`` are names of yours beside those that fedleak knows. ``truth`` is a second folder,
    for what really was; keep it apart from the capture.
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        parties: Mapping[str, str],
        *,
        protocol: str = "captured",
        truth: str | PathLike[str] | None = None,
        own_steps: Sequence[str] = (),
        own_records: Sequence[str] = (),
        n_features: Mapping[str, int] | None = None,
        family: str | None = None,
        overwrite: bool = False,
        **facts: Any,
    ) -> None:
        self._roles = {name: _role(name, role) for name, role in _checked_parties(parties).items()}
        self._facts = _checked_facts(facts, family)
        self._n_features = dict(n_features or {})
        for name in self._n_features:
            self._check_party(name)
        self._protocol = protocol
        self._own_steps, self._own_records = frozenset(own_steps), frozenset(own_records)
        words = vocabularies()  # once: a training sends thousands of messages
        self._known_steps = {step.name for one in words for step in one.steps}
        self._known_records = tuple(record for one in words for record in one.records)
        self._released = released_steps()
        self._tables: dict[str, Table] = {}
        self._truth_folder = None if truth is None else Path(truth)
        self._truth: dict[Secret, KeptSecret] = {}
        self._overwrite = overwrite
        if self._truth_folder is not None and _overlap(self._truth_folder.absolute(), Path(folder).absolute()):
            raise InputError(f"truth must be a folder of its own, apart from the capture; got {truth} beside {folder}")
        # Whatever would keep the folders from being written at the end is told now, not after hours of training.
        if self._truth_folder is not None:
            check_place(self._truth_folder.absolute(), overwrite=overwrite)
        self._sink = DiskSink(folder, overwrite=overwrite)
        self._open = True
        try:
            self._check_facts()
        except BaseException:
            self.abandon()
            raise

    def message(self, step: str, sender: str, receiver: str | None, payload: object, *, round: int) -> None:  # noqa: A002
        """What one party sent another; everybody if ``receiver`` is None or "*". Rounds count from 0, setup is -1."""
        self._check_open()
        self._check_known("step", step, self._own_steps, self._known_steps, "own_steps")
        to = EVERYONE if receiver is None else receiver
        for name in (sender,) if to == EVERYONE else (sender, to):
            self._check_party(name)
        found, number = as_payload(payload, f"the payload of {step}"), _checked_round(round)
        refuse(unsound_message(step, number, found, self._released))
        self._sink.message(Message(step, number, sender, to, found))

    def record(
        self,
        party: str,
        name: str,
        value: object,
        *,
        round: int = SETUP_ROUND,  # noqa: A002
        ids: object = None,
        columns: Sequence[str] | None = None,
        step: str = OWN_DATA.name,
    ) -> None:
        """Something that a party has or computed: its features and labels (with the rows' ``ids``), weights, gradients.

        Weights of round t are those after it. A table's ``columns`` are x0, x1 … unless you name them.
        """
        self._check_open()
        self._check_party(party)
        forms = self._forms(name)
        wants_table = Table in forms or ids is not None or columns is not None
        payload: Payload = (
            as_table(value, f"{name} of {party}", ids, columns, default=_default_column(name))
            if wants_table and not isinstance(value, Table)
            else as_payload(value, f"{name} of {party}")
        )
        if forms and not isinstance(payload, forms):
            raise InputError(
                f"the record {name} must be of the form {forms[0].__name__}; got {type(payload).__name__}. Use a name "
                "of your own (own_records) for something else"
            )
        if name == FEATURES.name and isinstance(payload, Table):
            self._tables[party] = payload
        number = _checked_round(round)
        refuse(unsound(f"{name} of {party}", number, payload))
        self._sink.record(party, Record(step, number, name, payload))

    def truth(
        self,
        party: str,
        features: object = None,
        *,
        ids: object = None,
        columns: Sequence[str] | None = None,
        labels: object = None,
    ) -> None:
        """What a party really holds, for checking alone: it goes to the truth folder, never into the capture."""
        self._check_open()
        self._check_party(party)
        if self._truth_folder is None:
            raise InputError("truth must have a folder of its own: Recorder(..., truth=FOLDER)")
        if features is None and labels is None:
            raise InputError(f"the truth of {party} must be features, labels or both; got neither")
        if features is not None:
            table = as_table(features, f"the features of {party}", ids, columns, default="x")
            ids = table.ids
            self._truth[Secret(SecretKind.FEATURES, party)] = _values(table)
        if labels is not None:
            table = as_table(labels, f"the labels of {party}", ids, None, default="label")
            self._truth[Secret(SecretKind.LABELS, party)] = _values(table)

    def finish(self) -> None:
        """Give the folders their names; the end of a ``with`` block does it."""
        self._check_open()
        self._open = False
        self._sink.finish(self._public_facts())  # first: a capture is of use without its truth, not the other way round
        if self._truth_folder is not None and self._truth:
            save_truth(Truth(self._truth), self._truth_folder, overwrite=self._overwrite)

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._open = False
        self._sink.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if kind is None and self._open:
                self.finish()
        finally:
            self.abandon()

    def _check_facts(self) -> None:
        """A fact that cannot be is told before the training, not after it."""
        facts = self._public_facts()
        self._sink.check(facts)
        wrong = wrong_fact(facts)
        if wrong:
            raise InputError(wrong)

    def _public_facts(self) -> Facts:
        """Those that were given, and what the recorded tables show of themselves."""
        rows = {party: len(table.ids) for party, table in self._tables.items()}
        parties = tuple(
            PartyFacts(name, role, self._width(name, role), n_rows=rows.get(name)) for name, role in self._roles.items()
        )
        shown = {"n_rows": max(rows.values(), default=None), "score_noise": None}
        return Facts(protocol=self._protocol, parties=parties, **{**shown, **self._facts})

    def _width(self, name: str, role: Role) -> int | None:
        if name in self._tables:
            return len(self._tables[name].columns)
        return self._n_features.get(name, 0 if role in (Role.ARBITER, Role.SERVER) else None)

    def _forms(self, name: str) -> tuple[type, ...]:
        """The forms of a known record; none for a name of one's own."""
        forms = tuple(record.payload for record in self._known_records if record.covers(name))
        if not forms:
            known = [record.name for record in self._known_records]
            self._check_known("record", name, self._own_records, known, "own_records")
        return forms

    def _check_known(self, what: str, name: str, own: frozenset[str], known: Collection[str], declared_as: str) -> None:
        if name not in known and name not in own:
            hint = nearest(name, [*known, *own])
            raise UnknownNameError(
                f"unknown {what} {name!r}{hint}{' ' if hint else '. '}Declare a name of your own with "
                f"{declared_as}=({name!r},)"
            )

    def _check_party(self, name: str) -> None:
        if name not in self._roles:
            raise UnknownNameError(f"unknown party {name!r}{nearest_or_list(name, self._roles)}")

    def _check_open(self) -> None:
        if not self._open:
            raise RunError("the recorder must still be open; it was finished or abandoned")


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _default_column(name: str) -> str:
    return "label" if name == "labels" else "x"


def _checked_parties(parties: Mapping[str, str]) -> Mapping[str, str]:
    if not isinstance(parties, Mapping) or not parties:
        raise InputError(f'parties must be names with roles, such as {{"bank": "active"}}; got {parties!r:.80}')
    for name in parties:
        if not is_party_name(name):
            raise InputError(f"a party's name must be {NAME_RULE}; got {name!r:.80}")
    return parties


def _role(name: str, role: str) -> Role:
    roles = [known.value for known in Role]
    if role not in roles:
        raise InputError(f"the role of {name} must be {', '.join(roles)}; got {role!r}{nearest(str(role), roles)}")
    return Role(role)


_GIVEN_ELSEWHERE = {"protocol", "parties", "own", "adversary", "capabilities"}


def _checked_facts(given: Mapping[str, Any], family: str | None) -> dict[str, Any]:
    """Facts by name; those of a family become one typed value."""
    common = [field.name for field in fields(Facts) if field.name not in _GIVEN_ELSEWHERE]
    kind = None if family is None else _family(family)
    own = [] if kind is None else [field.name for field in fields(kind)]
    for name in given:
        if name not in common and name not in own:
            raise UnknownNameError(f"unknown public fact {name!r}{nearest_or_list(name, [*common, *own])}")
    plain = {name: numbers_of(value) for name, value in given.items()}
    found = {name: value for name, value in plain.items() if name in common}
    if kind is None:
        return found
    of_family = {name: value for name, value in plain.items() if name in own}
    if "residual" in own and "residual" not in of_family:  # it follows from how the sigmoid is computed
        of_family["residual"] = RESIDUALS.get(str(found.get("approximation")))
    return {**found, "own": kind(**of_family)}


def _family(name: str) -> type[ProtocolFacts]:
    known = {facts.kind: facts for words in vocabularies() for facts in words.facts}
    if name not in known:
        raise UnknownNameError(f"unknown family {name!r}{nearest_or_list(name, known)}")
    return known[name]


def _checked_round(number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < SETUP_ROUND:
        raise InputError(f"round must be a whole number from {SETUP_ROUND} (setup) on; got {number!r:.80}")
    return int(number)


def _values(table: Table) -> SecretValues:
    return SecretValues.spanning(row_ids(table.ids, "ids"), table.columns, np.asarray(table.values, dtype=np.float64))
