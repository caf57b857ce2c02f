"""Whether public facts and names that somebody else wrote down can be meant: what theory computes with must be numbers
of a size that real training has, and a name must be one that a report can show."""

from __future__ import annotations

from fedleak.core.errors import nearest_or_list
from fedleak.core.facts import EXACT, INITIALISATIONS, SIGMOIDS, Facts, PartyFacts
from fedleak.core.transcript import EVERYONE

MAX_NAME_CHARS = 64
NAME_RULE = f"1 to {MAX_NAME_CHARS} printable characters, no space at either end, and not {EVERYONE!r} (everybody)"
_COUNT, _SMALL_COUNT = 1 << 53, 1 << 16
_SMALLEST, _LARGEST = 1e-9, 1e9
_OF_ALL: dict[str, tuple[float, float]] = {
    "n_rows": (0, _COUNT),
    "batch_size": (1, _COUNT),
    "n_epochs": (0, _COUNT),
    "learning_rate": (_SMALLEST, _LARGEST),
    "score_noise": (0, _LARGEST),
    "max_row_norm": (_SMALLEST, _LARGEST),
    "key_bits": (1, _SMALL_COUNT),
    "fraction_bits": (0, _SMALL_COUNT),
}
# Another word is a slip, and would silently keep attacks from being tried.
_WORDS = {"initialisation": INITIALISATIONS, "approximation": (*SIGMOIDS, EXACT)}
_OF_A_PARTY: dict[str, tuple[float, float]] = {
    "n_features": (0, _COUNT),
    "n_rows": (0, _COUNT),
    "score_noise": (0, _LARGEST),
}


def is_party_name(name: object) -> bool:
    if not isinstance(name, str) or name == EVERYONE:
        return False
    return 0 < len(name) <= MAX_NAME_CHARS and name.isprintable() and name == name.strip()


def wrong_fact(facts: Facts) -> str:
    """What is wrong with the first fact that cannot be so; empty where none is."""
    found = _outside(facts, _OF_ALL) or _unknown_word(facts)
    for party in facts.parties:
        found = found or _outside(party, _OF_A_PARTY, f" of {party.name}")
    return found


def _unknown_word(facts: Facts) -> str:
    for name, known in _WORDS.items():
        value = getattr(facts, name)
        if value is not None and value not in known:
            hint = nearest_or_list(str(value)[:MAX_NAME_CHARS], known)
            return f"{name} must be one that theory knows, or left out where it is another; got {value!r:.40}{hint}"
    return ""


def _outside(said: Facts | PartyFacts, ranges: dict[str, tuple[float, float]], whose: str = "") -> str:
    for name, (low, high) in ranges.items():
        value = getattr(said, name)
        if value is not None and not low <= value <= high:  # NaN is in no range
            return (
                f"{name}{whose} must be from {low:g} to {high:g}, or left out where it is not known; got {value!r:.40}"
            )
    return ""
