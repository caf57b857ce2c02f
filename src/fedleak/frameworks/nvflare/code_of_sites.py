"""Code that NVFLARE sends along with a job: scripts and components of sites.

It sends their source, and takes none that is a link to somewhere else, as our package is in this environment: so
copies, in the job's folder.
"""

from __future__ import annotations

import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def sent_along(folder: Path, *names: str) -> list[Any]:
    """Copies of our modules of these names, imported from the folder."""
    folder.mkdir(exist_ok=True)
    for name in names:
        shutil.copyfile(Path(__file__).with_name(f"{name}.py"), folder / f"{name}.py")
    sys.path.insert(0, str(folder))
    return [import_module(name) for name in names]
