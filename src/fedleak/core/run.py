"""The result of running a protocol. Attacks may not import this module: it holds the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from fedleak.core.facts import Facts
from fedleak.core.knowledge import Knowledge
from fedleak.core.message import Message, Record
from fedleak.core.oracle import LiveOracle, Oracle, Service
from fedleak.core.secret import Secret
from fedleak.core.transcript import Transcript
from fedleak.core.truth import Truth
from fedleak.core.view import View


@dataclass(frozen=True, eq=False)
class Run:
    transcript: Transcript
    locals: Mapping[str, Sequence[Record]]
    truth: Truth
    utility: Mapping[str, float] = field(default_factory=dict)  # the model's accuracy and the like
    notes: tuple[str, ...] = ()  # what a reader of the result must know, such as an ideal functionality in use
    services: Mapping[str, Service] = field(default_factory=dict)  # what can be queried after the training

    def view(
        self,
        coalition: tuple[str, ...],
        target: Secret,
        facts: Facts,
        *,
        knowledge: Knowledge | None = None,
        oracles: Mapping[str, Oracle] | None = None,
    ) -> View:
        """What the coalition sees of this run, and no more. ``facts`` are the public ones, as it sees them.

        Every view gets oracles of its own for the services that are open to a member: their logs are the view's.
        """
        members = frozenset(coalition)
        live = {
            name: LiveOracle(service.spec, service.serve)
            for name, service in self.services.items()
            if members.intersection(service.clients)
        }
        return View(
            coalition=coalition,
            target=target,
            facts=facts,
            messages=self._messages_of(members),
            locals={name: self.locals[name] for name in coalition if name in self.locals},
            knowledge=knowledge or Knowledge(),
            oracles=live if oracles is None else oracles,
        )

    def _messages_of(self, members: frozenset[str]) -> Sequence[Message]:
        """Kept: every attack of a coalition gets a view of its own, and a transcript on disk is dear to read."""
        if members not in self._seen:
            self._seen[members] = tuple(m for m in self.transcript.messages if m.concerns(members))
        return self._seen[members]

    @cached_property
    def _seen(self) -> dict[frozenset[str], tuple[Message, ...]]:
        return {}
