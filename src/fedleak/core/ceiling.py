"""What theory allows any attack, beside what one reached."""

from __future__ import annotations

from dataclasses import dataclass, field

from fedleak.core.described import meaning


@dataclass(frozen=True)
class Ceiling:
    """No attack does better, whatever it computes, where the conditions hold."""

    metric: str = field(metadata=meaning("what it bounds: the finding's own metric"))
    value: float = field(metadata=meaning("the best that any attack can reach"))
    words: str = field(metadata=meaning("what it says, in a sentence"))
    conditions: tuple[str, ...] = field(metadata=meaning("what it rests on, a sentence each; all of it holds"))


@dataclass(frozen=True)
class Budget:
    """A privacy budget as it was declared, beside what was measured."""

    epsilon: float = field(metadata=meaning("as declared", least=0))
    delta: float = field(metadata=meaning("as declared", least=0, most=1))
    measured_epsilon: float = field(
        metadata=meaning(
            "what the epsilon is at least, by this attack on redrawn labels, 95 %; 0 says nothing", least=0
        )
    )
