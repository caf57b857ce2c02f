"""Headers that were written before protocols had facts of their own: one bag of options, translated to those.

Lists of parties stood there as one text with commas between the names, so a name with a comma in it reads as two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields

from fedleak.core.facts import ProtocolFacts
from fedleak.protocols.averaging.vocabulary import HorizontalLinearFacts, HorizontalLogisticFacts
from fedleak.protocols.linear.vocabulary import ArbiterFacts, VerticalLogisticFacts
from fedleak.protocols.prediction.vocabulary import PredictionFacts
from fedleak.storage.strict_json import Malformed, shown

OF_PROTOCOLS: Mapping[str, type[ProtocolFacts]] = {
    "vertical-logistic": VerticalLogisticFacts,
    "vertical-logistic-arbiter": ArbiterFacts,
    "vertical-linear-arbiter": ArbiterFacts,
    "horizontal-logistic": HorizontalLogisticFacts,
    "horizontal-linear": HorizontalLinearFacts,
    "vertical-prediction": PredictionFacts,
}
RESIDUAL = {"slope": "residual_slope", "target_scale": "target_scale", "target_shift": "target_shift"}


def translated(content: object) -> object:
    """The content of a header as today's version has it; what is not as it should be is left to be refused."""
    facts = content.get("facts") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(facts, dict) or "options" not in facts:
        return content
    kept = {name: value for name, value in facts.items() if name != "options"}
    return {**content, "facts": {**kept, "own": _own(facts.get("protocol"), facts["options"])}}


def _own(protocol: object, options: object) -> object:
    """None for a protocol that had no release of its own by then: nothing reads its options."""
    if not isinstance(options, dict):
        raise Malformed(f"options must be an object; got {shown(options)}")
    kind = OF_PROTOCOLS.get(protocol) if isinstance(protocol, str) else None
    if kind is None:
        return None
    renamed = {**options, "residual": _residual(options)}
    known = {field.name: renamed[field.name] for field in fields(kind) if renamed.get(field.name) is not None}
    return {"kind": kind.kind} | {
        name: _LISTS[name](value) if name in _LISTS else value for name, value in known.items()
    }


def _residual(options: dict[str, object]) -> object:
    found = {name: options.get(old) for name, old in RESIDUAL.items()}
    return None if None in found.values() else found


def _names(joined: object) -> list[str]:
    if not isinstance(joined, str):
        raise Malformed(f"options must hold lists of parties as texts; got {shown(joined)}")
    return [name for name in joined.split(",") if name]


def _dropouts(joined: object) -> list[object]:
    parts = [entry.rpartition(":") for entry in _names(joined)]
    for _, _, number in parts:
        if not number.isdecimal():
            raise Malformed(f"options must hold dropouts as party:round; got {shown(joined)}")
    return [{"party": name, "round": int(number)} for name, _, number in parts]


_LISTS: Mapping[str, Callable[[object], object]] = {"shuffled": _names, "dropouts": _dropouts}
