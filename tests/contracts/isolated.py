"""Runs in a fresh process: load a view, run an attack on it, write the guess's bytes to standard output.

Before the attack runs, an audit hook shuts the process off: no sockets, no other processes, no file
outside the view and the installed packages, no data set that a package ships, nothing written, and none of our own
packages that know the truth.
"""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
import tempfile
from pathlib import Path

FORBIDDEN_EVENTS = (
    "socket.",
    "subprocess.",
    "sqlite3.",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.system",
    "os.chdir",
)
# What import contracts forbid to attacks, for those that import by name at run time.
FORBIDDEN_PACKAGES = tuple(
    f"fedleak.{name}" for name in ("data", "metrics", "protocols", "audit", "core.whole", "storage.capture_and_truth")
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
SHIPPED_DATA = ("sklearn", "datasets", "data")


def main(attack_path: str, view_path: str) -> None:
    import numpy as np

    from fedleak.storage import guess_to_bytes, load_view

    module, _, name = attack_path.partition(":")
    attack = getattr(importlib.import_module(module), name)
    del sys.argv[1:]  # where the view lies is nothing that an attack is told
    tempfile.gettempdir()  # packages ask for its name when they load; finding it out opens a file
    shut_off(Path(view_path))
    view = load_view(Path(view_path))
    guess = attack().run(view, rng=np.random.default_rng(0))
    sys.stdout.buffer.write(guess_to_bytes(guess))


def shut_off(view: Path) -> None:
    import fedleak

    allowed = [view.resolve(), Path(fedleak.__file__).resolve().parent, Path(sys.prefix).resolve()]
    allowed += [Path(path).resolve() for path in sysconfig.get_paths().values()]
    allowed += [Path(path) for path in ("/proc/cpuinfo", "/sys/devices/system/cpu", "/dev/urandom")]

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if event.startswith(FORBIDDEN_EVENTS):
            raise PermissionError(f"an attack may not use {event}")
        if event == "import" and str(arguments[0]).startswith(FORBIDDEN_PACKAGES):
            raise PermissionError(f"an attack may not import {arguments[0]}")
        if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str | bytes | os.PathLike):
            check_path(event, arguments)

    def check_path(event: str, arguments: tuple[object, ...]) -> None:
        # The real place: a link such as /proc/self/cwd, or a way up such as view/.., must not hide it.
        path = Path(os.path.realpath(os.fsdecode(arguments[0])))
        if not any(path == root or root in path.parents for root in allowed) or is_shipped_data(path):
            raise PermissionError(f"an attack may not touch {path}")
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING:
            raise PermissionError(f"an attack may not write {path}")

    sys.addaudithook(refuse)


def is_shipped_data(path: Path) -> bool:
    """The controls run on a table that scikit-learn ships: inside the allowed folders, and the very secret."""
    parts = path.parts
    return any(parts[start : start + 3] == SHIPPED_DATA for start in range(len(parts)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
