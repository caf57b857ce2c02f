"""Text from a report made harmless: reports come from strangers, and terminals obey control characters."""

from __future__ import annotations

import unicodedata

# Overrides of the writing direction: they can make a name read as another one.
DIRECTION_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
KEPT = frozenset("\n\t")


def visible(text: str) -> str:
    """The text with every control character written out as an escape, so that none is obeyed."""
    if text.isprintable():
        return text
    return "".join(_escaped(character) if _is_control(character) else character for character in text)


def _is_control(character: str) -> bool:
    if character in KEPT:
        return False
    return unicodedata.category(character) in {"Cc", "Cs"} or character in DIRECTION_CONTROLS


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
