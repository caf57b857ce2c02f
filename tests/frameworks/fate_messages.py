"""The example that writes what FATE sends, as a module: what it makes is what tests read."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_SPEC = spec_from_file_location("fate_capture", Path(__file__).parents[2] / "examples" / "fate_capture.py")
assert _SPEC is not None
assert _SPEC.loader is not None
_EXAMPLE = module_from_spec(_SPEC)
_SPEC.loader.exec_module(_EXAMPLE)

ARBITER, HOLDER, PARTNER = _EXAMPLE.ARBITER, _EXAMPLE.HOLDER, _EXAMPLE.PARTNER
MODULUS, RATES, FateRun = _EXAMPLE.MODULUS, _EXAMPLE.RATES, _EXAMPLE.FateRun
write, written_number, written_vector = _EXAMPLE.write, _EXAMPLE.written_number, _EXAMPLE.written_vector
