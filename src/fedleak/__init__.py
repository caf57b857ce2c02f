"""fedleak: what can each partner of a federation reconstruct?

    import fedleak

    report = fedleak.audit("scenario.toml")   # or a dictionary, or a pandas data frame
    report.to_frame()

Everything here is imported when it is first asked for: ``import fedleak`` alone loads neither numpy nor pandas.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fedleak.core.version import __version__

if TYPE_CHECKING:
    from fedleak.adapters.own_model import audit_model
    from fedleak.adapters.torch_gradient import save_gradient
    from fedleak.advising.advice import Advice
    from fedleak.core.report import Report
    from fedleak.door.advised import advise
    from fedleak.door.attacking import attack
    from fedleak.door.audits import audit
    from fedleak.door.checking import Check, check
    from fedleak.door.reports import load_report
    from fedleak.recorder import Recorder

__all__ = [
    "Advice",
    "Check",
    "Recorder",
    "Report",
    "__version__",
    "advise",
    "attack",
    "audit",
    "audit_model",
    "check",
    "load_report",
    "save_gradient",
]

_PLACES = {
    "Advice": "fedleak.advising.advice",
    "Check": "fedleak.door.checking",
    "Recorder": "fedleak.recorder",
    "Report": "fedleak.core.report",
    "advise": "fedleak.door.advised",
    "attack": "fedleak.door.attacking",
    "audit": "fedleak.door.audits",
    "audit_model": "fedleak.adapters.own_model",
    "check": "fedleak.door.checking",
    "load_report": "fedleak.door.reports",
    "save_gradient": "fedleak.adapters.torch_gradient",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'fedleak' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
