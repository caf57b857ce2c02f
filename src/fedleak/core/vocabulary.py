"""The words of one family of protocols: what others may know of it without knowing how it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedleak.core.facts import ProtocolFacts
from fedleak.core.steps import RecordName, Step


@dataclass(frozen=True)
class Vocabulary:
    """Each protocol's module has one in the module ``vocabulary`` beside it, under the name ``VOCABULARY``."""

    steps: tuple[Step[Any], ...]
    records: tuple[RecordName, ...]
    facts: tuple[type[ProtocolFacts], ...]
