"""What the process of an attack may not do, refused by Python's audit hooks, which cannot be taken off again.

No sockets, no other processes, nothing written, no file outside the view and the installed packages, no data set that
a package ships, and none of our own packages that know the truth. The hooks see what goes through Python, with the
reason in the refusal. Native code is the kernel's to refuse, where it has Landlock. What is left to a cheater is
``os.stat``, which neither sees, and there is no truth in its memory: it is the reader of its source who stops it.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path

from fedleak.protocols import vocabulary_modules
from fedleak.trial import landlock

FORBIDDEN_EVENTS = (
    "socket.",
    "subprocess.",
    "sqlite3.",
    "shutil.",
    "os.exec",
    "os.posix_spawn",
    "os.system",
    "os.chdir",
    "os.kill",
    "os.chmod",
    "os.chown",
    "os.removexattr",
    "os.setxattr",
    "os.link",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.symlink",
    "os.truncate",
    "os.utime",
    "resource.prlimit",
    "syslog.",
    "tempfile.",
)
# What makes a name that a later attempt could find, or ends another process, without an event: taken away.
UNANNOUNCED = {
    "mkfifo": ("os", "posix"),
    "mknod": ("os", "posix"),
    "pidfd_send_signal": ("signal", "_signal"),
    "shm_open": ("_posixshmem",),
}
OF_THE_SERVER = ("os.fork", "os.forkpty", "socket.")  # which takes connections in and forks; an attempt does neither
ADOPTED = (-1, -1, -1)  # family, type and protocol of a socket made from a descriptor that the process has already
# What import contracts forbid to attacks, for those that import by name at run time.
FORBIDDEN_PACKAGES = tuple(
    f"fedleak.{name}"
    for name in (
        "data",
        "metrics",
        "protocols",
        "defenses",
        "deviations",
        "auditing",
        "report",
        "papers",
        "adapters",
        "bench",
        "core.whole",
        "storage.capture_and_truth",
        "trial.play",
        "trial.attempt",
        "door",
        "testing",
    )
)
# What everybody may know of protocols, with the packages around it, which hold a list and nothing that runs.
OPEN_MODULES = frozenset(
    ("fedleak.protocols", *vocabulary_modules(), *(name.rpartition(".")[0] for name in vocabulary_modules()))
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
SHIPPED_DATA = ("sklearn", "datasets", "data")
CODE_SUFFIXES = (".py", ".pyc", ".pyi", ".so")
OF_PATHS = ("open", "os.listdir", "os.scandir")
OF_THE_MACHINE = ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu", "/dev/urandom", "/dev/null")


def shut_off_process(views: Path, code: Sequence[Path]) -> None:
    """For the server, before it imports a single attack.

    ``code``: real places from which code alone may be read; the server adds to them when it learns of more.
    """
    tempfile.gettempdir()  # packages ask for its name when they load; finding it out opens a file
    _take_away()
    roots = [views.resolve(), *_installed()]

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if _changes_nothing(event, arguments):
            return
        if event.startswith(FORBIDDEN_EVENTS):
            raise PermissionError(f"an attack may not use {event}")
        if event == "import" and knows_the_truth(str(arguments[0])):
            raise PermissionError(f"an attack may not import {arguments[0]}")
        if event in OF_PATHS and isinstance(arguments[0], str | bytes | os.PathLike):
            _check_path(event, arguments, roots, code)

    sys.addaudithook(refuse)
    sys.meta_path.insert(0, _Refusing())


def shut_off_view(view: Path, views: Path, code: Sequence[Path]) -> None:
    """For the process of a view, on top: its own view among all of them."""
    own, all_views = view.resolve(), views.resolve()

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if event in OF_PATHS and isinstance(arguments[0], str | bytes | os.PathLike):
            path = _real(arguments[0])
            if _within(path, [all_views]) and not _within(path, [own]):
                raise PermissionError(f"an attack may not touch {path}")

    sys.addaudithook(refuse)
    apart = [place for place in code if not _within(place, _installed())]
    of_code = [path for folder in apart for path in _code_in(folder)]
    landlock.read_only_within([own, *_installed(), *of_code, *landlock.of_the_loader()], listed=apart)


def shut_off_attempt() -> None:
    """For one attempt, on top: no process beside it."""

    def refuse(event: str, _: tuple[object, ...]) -> None:
        if event.startswith(OF_THE_SERVER):
            raise PermissionError(f"an attack may not use {event}")

    sys.addaudithook(refuse)
    landlock.alone()


class _Refusing(MetaPathFinder):
    """``importlib.import_module`` announces no import of the module that it names; it does ask for a finder."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if knows_the_truth(fullname):
            raise PermissionError(f"an attack may not import {fullname}")


def knows_the_truth(module: str) -> bool:
    return module.startswith(FORBIDDEN_PACKAGES) and module not in OPEN_MODULES


def _code_in(folder: Path) -> list[Path]:
    """Modules and packages: whoever starts an audit beside the data has the data in a folder of code."""
    if folder.is_file():
        return [folder]
    with suppress(OSError):
        return [path for path in folder.iterdir() if path.suffix in CODE_SUFFIXES or (path / "__init__.py").is_file()]
    return []


def _installed() -> list[Path]:
    roots = [Path(__file__).resolve().parents[1], Path(sys.prefix).resolve()]
    roots += [Path(path).resolve() for path in sysconfig.get_paths().values()]
    return roots + [Path(path) for path in OF_THE_MACHINE]


def _take_away() -> None:
    for name, modules in UNANNOUNCED.items():
        for module in modules:
            with suppress(AttributeError, ImportError):
                delattr(import_module(module), name)


def _changes_nothing(event: str, arguments: tuple[object, ...]) -> bool:
    """A socket for a descriptor that is here already, or a folder that is there already: torch asks for its cache."""
    if event == "socket.__new__":
        return arguments[1:] == ADOPTED
    return event == "os.mkdir" and isinstance(arguments[0], str) and os.path.isdir(arguments[0])


def _check_path(event: str, arguments: tuple[object, ...], roots: Sequence[Path], of_code: Sequence[Path]) -> None:
    path = _real(arguments[0])
    allowed = _within(path, roots) or (_within(path, of_code) and (event != "open" or path.suffix in CODE_SUFFIXES))
    if not allowed or _is_shipped_data(path):
        raise PermissionError(f"an attack may not touch {path}")
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING:
        raise PermissionError(f"an attack may not write {path}")


def _real(path: object) -> Path:
    """The real place: a link such as /proc/self/cwd, or a way up such as view/.., must not hide it."""
    assert isinstance(path, str | bytes | os.PathLike)
    return Path(os.path.realpath(os.fsdecode(path)))


def _within(path: Path, roots: Sequence[Path]) -> bool:
    return any(path == root or root in path.parents for root in roots)


def _is_shipped_data(path: Path) -> bool:
    """Tables that scikit-learn ships lie inside the allowed folders, and may be the very secret."""
    parts = path.parts
    return any(parts[start : start + 3] == SHIPPED_DATA for start in range(len(parts)))
