"""Temporary folders that go with their process; of a killed one, the next that makes such a folder removes it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path

from fedleak.storage.file_writing import locked

SETTLED_SECONDS = 5


class OwnFolder:
    """Gone with ``remove``, or when nobody has it any more."""

    def __init__(self, prefix: str) -> None:
        _remove_orphans(prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        held = os.open(self.path, os.O_RDONLY)  # whoever finds it unlocked knows that its process is gone
        locked(held)
        self._end = weakref.finalize(self, _remove, self.path, held)

    def remove(self) -> None:
        self._end()


def _remove(path: Path, held: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(held)


def _remove_orphans(prefix: str) -> None:
    """What a killed process left. A young folder may be one that is just being locked."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # of somebody else, or just gone
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if time.time() - os.fstat(held).st_ctime > SETTLED_SECONDS and locked(held):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(held)
