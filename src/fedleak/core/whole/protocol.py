"""A protocol: it runs a federation for real and says what it reveals to whom."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role, Step
from fedleak.core.whole.federation import Federation, Settings
from fedleak.core.whole.hooks import Defense, Hook
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Run, Sink


class Protocol(ABC):
    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    reference: ClassVar[Reference]
    settings_type: ClassVar[type[Settings]]
    roles: ClassVar[frozenset[Role]]  # the roles that a federation of this protocol has
    takes_missing: ClassVar[bool] = False  # cells may be missing (NaN)
    shaped_cells: ClassVar[bool] = False  # takes images as they are; otherwise they come as tables of named pixels
    named_steps: ClassVar[frozenset[Step[Any]]]  # where its messages and records arise, and hooks may act
    replays: ClassVar[bool] = False  # its runs took place elsewhere: no scenario describes one, no defense changes it
    # What ``reveals`` may ever give to anybody, whatever the settings; a protocol that does not say rules nothing out.
    may_reveal: ClassVar[frozenset[Capability]] = frozenset(Capability)

    @classmethod
    def misfit(cls, defense: Defense) -> str | None:
        """Why a defense would do nothing here: a setting or a step that this protocol does not have."""
        settings = {field.name: field.metadata.get("choices", ()) for field in fields(cls.settings_type)}
        lacking = [f"the setting {name}" for name in sorted(defense.changes - settings.keys())]
        lacking += [
            f"{name} = {value!r}"
            for name, value in sorted(defense.chooses.items())
            if settings.get(name) and value not in settings[name]
        ]
        lacking += [f"the step {name}" for name in sorted(step.name for step in defense.acts_at - cls.named_steps)]
        return f"{defense.name} needs {' and '.join(lacking)}, which {cls.name} does not have" if lacking else None

    @abstractmethod
    def run(
        self, federation: Federation, *, facts: Facts, randomness: Randomness, hooks: Sequence[Hook[Any]], sink: Sink
    ) -> Run:
        """Run the federation; every message and every party's own records go through the sink.

        ``facts`` are what is public of it; the sink is finished with them.
        """

    @classmethod
    def public_facts(
        cls,
        federation: Federation,
        defense: Defense | None = None,
        *,
        parties: tuple[PartyFacts, ...],
        n_rows: int | None,
    ) -> Facts:
        """What everybody knows of a federation that is configured for a defense, with what that declares.

        Plan, view and transcript hold these, and nobody makes any others. ``parties`` and ``n_rows`` are what is known
        of the federation; without data that is less than it holds.
        """
        facts = cls.with_data(cls.facts(federation.settings, parties, n_rows), federation)
        facts = facts.with_max_row_norm(federation.max_row_norm)
        return replace(defense.declare(facts), defense=defense.label) if defense else facts

    @classmethod
    @abstractmethod
    def facts(cls, settings: Settings, parties: tuple[PartyFacts, ...], n_rows: int | None) -> Facts:
        """What everybody knows, data or no data."""

    @classmethod
    def with_data(cls, facts: Facts, federation: Federation) -> Facts:
        """Add the public facts that the data decide, such as the number of classes."""
        return facts

    @classmethod  # noqa: B027 (most protocols have no cipher)
    def check_headroom(cls, settings: Settings, facts: Facts) -> None:
        """Refuse, before anything runs, what public sizes say cannot be computed without an overflow."""

    @classmethod
    @abstractmethod
    def reveals(
        cls, settings: Settings, parties: tuple[PartyFacts, ...], coalition: tuple[str, ...]
    ) -> frozenset[Capability]:
        """What a coalition has to work with in a run with these settings."""
