"""Which code computed something: our modules, the packages that they compute with, and who brought further attacks."""

from __future__ import annotations

import platform
from functools import cache
from hashlib import sha256

from fedleak.attacks import ATTACKS
from fedleak.core.version import __version__
from fedleak.defenses import DEFENSES
from fedleak.protocols import PROTOCOLS
from fedleak.trial.measured_journal import code_digest
from fedleak.trial.provenance import IN_ATTACKS, PACKAGES, package_version


@cache
def code_version() -> str:
    packages = [(name, package_version(name)) for name in (*PACKAGES, *IN_ATTACKS)]
    brought = sorted({kind.distribution(name) for kind in (ATTACKS, DEFENSES, PROTOCOLS) for name in kind.names})
    told = repr((code_digest(), platform.python_version(), packages, brought))
    return f"{__version__}+{sha256(told.encode()).hexdigest()[:12]}"
