"""Runs in a fresh process: load a view, run an attack on it, write the guess's bytes to standard output.

Before the attack runs, an audit hook shuts the process off: no sockets, no other processes, no file
outside the view and the installed packages.
"""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
from pathlib import Path


def main(attack_path: str, view_path: str) -> None:
    import numpy as np

    from fedleak.core.storage import guess_to_bytes, load_view

    module, _, name = attack_path.partition(":")
    attack = getattr(importlib.import_module(module), name)
    shut_off(Path(view_path))
    view = load_view(Path(view_path))
    guess = attack().run(view, rng=np.random.default_rng(0))
    sys.stdout.buffer.write(guess_to_bytes(guess))


def shut_off(view: Path) -> None:
    import fedleak

    allowed = [view.resolve(), Path(fedleak.__file__).resolve().parent, Path(sys.prefix).resolve()]
    allowed += [Path(path).resolve() for path in sysconfig.get_paths().values()]
    allowed += [Path(path) for path in ("/proc/self", "/proc/cpuinfo", "/sys/devices/system/cpu", "/dev/urandom")]

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if event.startswith(("socket.", "subprocess.", "os.exec", "os.posix_spawn", "os.fork", "os.system")):
            raise PermissionError(f"an attack may not use {event}")
        if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str | bytes | os.PathLike):
            path = Path(os.fsdecode(arguments[0]))
            path = path if path.is_absolute() else Path.cwd() / path
            if not any(path == root or root in path.parents for root in allowed):
                raise PermissionError(f"an attack may not touch {path}")

    sys.addaudithook(refuse)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
