"""A word before the work where keys are too short for what it shows to mean anything."""

from __future__ import annotations

from fedleak.cli.output import say
from fedleak.core.whole.federation import Settings
from fedleak.crypto.cipher import short_key


def warn_of_short_key(settings: Settings) -> None:
    words = short_key(getattr(settings, "key_bits", None))
    if words and getattr(settings, "cipher", "").startswith("paillier"):
        say(f"fedleak: of this federation: {words}", err=True)
