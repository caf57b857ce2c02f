"""A service that the adversary may query: the only impure thing in a view.

On disk an oracle is its specification and its log. Loaded without a live service it replays the
log, and a query that is not in it is an error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from fedleak.core.errors import BudgetSpentError, NotReplayableError
from fedleak.core.payload import UNLESS_GIVEN, Array, Payload, Table, digest
from fedleak.core.transcript import Message


@dataclass(frozen=True)
class OracleSpec:
    name: str
    input: str  # what a query holds, in words
    answer: str  # what comes back, in words
    budget: int | None = None  # number of queries allowed; None is without limit
    record_budget: int | None = field(default=None, metadata=UNLESS_GIVEN)  # of rows, over all queries

    def check_budget(self, n_asked: int, n_records: int, batch: Payload) -> None:
        """Before a query, after so many of them with so many rows."""
        if self.budget is not None and n_asked >= self.budget:
            raise BudgetSpentError(f"oracle {self.name}: the budget of {self.budget} queries is spent")
        if self.record_budget is not None and n_records + records_in(batch) > self.record_budget:
            left = self.record_budget - n_records
            raise BudgetSpentError(
                f"oracle {self.name}: the budget of {self.record_budget} records has {left} left; "
                f"got {records_in(batch)}"
            )


def records_in(query: Payload) -> int:
    """Rows of a table or an array; anything else is one record."""
    if isinstance(query, Table):
        return len(query.ids)
    return len(query.values) if isinstance(query, Array) and query.values.ndim else 1


@dataclass(frozen=True, eq=False)
class Answer:
    """The messages that a query made the service send (one a hop, for a tree over many parties)."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, eq=False)
class Exchange:
    query: Payload
    answer: Answer


class Oracle(ABC):
    spec: OracleSpec

    @abstractmethod
    def query(self, batch: Payload) -> Answer:
        """Ask the service; raises BudgetSpentError when the budget is used up."""

    @property
    @abstractmethod
    def log(self) -> tuple[Exchange, ...]:
        """Everything that was asked and answered so far."""


@dataclass(frozen=True, eq=False)
class Service:
    """A service that outlives the training: who runs it, who may ask, and how it answers."""

    owner: str
    clients: tuple[str, ...]
    spec: OracleSpec
    serve: Callable[[Payload], Answer]
    _one_at_a_time: Lock = field(default_factory=Lock)

    def answer(self, query: Payload) -> Answer:
        """Attempts may ask side by side; a service, which may be anybody's model, is asked by one at a time."""
        with self._one_at_a_time:
            return self.serve(query)


class LiveOracle(Oracle):
    """A service in this process; counts the budget and keeps the log."""

    def __init__(self, spec: OracleSpec, serve: Callable[[Payload], Answer]) -> None:
        self.spec = spec
        self._serve = serve
        self._log: list[Exchange] = []
        self._n_records = 0

    def query(self, batch: Payload) -> Answer:
        self.spec.check_budget(len(self._log), self._n_records, batch)
        answer = self._serve(batch)
        self._log.append(Exchange(batch, answer))
        self._n_records += records_in(batch)
        return answer

    @property
    def log(self) -> tuple[Exchange, ...]:
        return tuple(self._log)


class ReplayOracle(Oracle):
    """Answers from a log. The same query asked twice gets its answers in the order of the log."""

    def __init__(self, spec: OracleSpec, log: tuple[Exchange, ...]) -> None:
        self.spec = spec
        self._log = log
        self._waiting: dict[str, list[Answer]] = {}
        for exchange in log:
            self._waiting.setdefault(digest(exchange.query), []).append(exchange.answer)
        self._asked = self._n_records = 0

    def query(self, batch: Payload) -> Answer:
        self.spec.check_budget(self._asked, self._n_records, batch)
        waiting = self._waiting.get(digest(batch))
        if not waiting:
            raise NotReplayableError(
                f"oracle {self.spec.name}: this query is not in the log; attach a live oracle to ask new questions"
            )
        self._asked += 1
        self._n_records += records_in(batch)
        return waiting.pop(0)

    @property
    def log(self) -> tuple[Exchange, ...]:
        return self._log
