"""Text that cannot change what it is shown in: one way for the terminal, for pages and for JSON.

Names and texts come from strangers' files. What a terminal obeys (escape codes), what changes the order of writing, and
what is not seen at all is written out as an escape.
"""

from __future__ import annotations

import unicodedata

KEPT = frozenset("\n\t")
MAX_NAME_CHARS = 200
# Control, format (directions of writing, joiners, tags), surrogates, separators of lines and paragraphs.
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible(text: str) -> str:
    """The text with every character that is obeyed or not seen written out as an escape; lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(character if character in KEPT else _shown(character) for character in text)


def visible_name(text: str) -> str:
    """A name: on one line, and cut where it is longer than any name is."""
    shown = text if text.isprintable() else "".join(map(_shown, text[: MAX_NAME_CHARS + 1]))
    return shown if len(text) <= MAX_NAME_CHARS else f"{shown[:MAX_NAME_CHARS]}... ({len(text)} characters)"


def one_line(text: str) -> str:
    return " ".join(visible(text).split())


def visible_json(text: str) -> str:
    """JSON with the same characters as its own escapes, so that it reads back the same."""
    if text.isprintable():
        return text
    return "".join(character if character in KEPT else _in_json(character) for character in text)


def is_seen(character: str) -> bool:
    return unicodedata.category(character) not in UNSEEN


def _shown(character: str) -> str:
    if is_seen(character):
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _in_json(character: str) -> str:
    if is_seen(character) or unicodedata.category(character) == "Cs":  # half of a pair is no text in JSON either
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))
