"""What every codec is: two functions, to and from JSON values, for one Python type."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from fedleak.core.arrays import AnyArray
from fedleak.core.storage.array_ref import ArrayRef
from fedleak.core.storage.limits import Limits

Put = Callable[[AnyArray], ArrayRef]  # stores an array's numbers and says where
Resolve = Callable[[ArrayRef], AnyArray]  # the way back


@dataclass
class Reading:
    """One value that is being read: the bounds, the arrays, how deep in trees we are."""

    limits: Limits
    resolve: Resolve
    level: int = 0


class Codec(ABC):
    @abstractmethod
    def encode(self, value: object, put: Put) -> object:
        """A JSON value; raises Malformed if ``value`` is not of the type."""

    @abstractmethod
    def decode(self, value: object, reading: Reading) -> object:
        """The way back, from a JSON value that a stranger may have written."""
