"""What the kernel refuses the process of an attack: Landlock, of Linux 5.13 and later.

Audit hooks see what goes through Python; this holds for native code too. Files outside the given folders cannot be
opened and none can be written or made, no other process can be looked into (that is ptrace's rule for a process in a
domain of its own), and in younger kernels none can be signalled or connected to. Where the kernel has no Landlock
nothing happens, and the hooks stand alone.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_ASK_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
# By version of the interface: how many rights on files it knows, on TCP ports, and what can be kept inside a domain.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_NEWEST_FILE_RIGHTS = 16
_TCP_SINCE, _TCP = 4, 0b11
_SCOPES_SINCE, _SCOPES = 6, 0b11  # abstract sockets, signals
# Where the system keeps shared libraries and their index: native code opens them by itself.
OF_THE_LOADER = ("/usr", "/lib", "/lib64", "/nix/store", "/etc/ld.so.cache", "/etc/localtime")


def version() -> int:
    """Of the kernel's interface; 0 where there is none."""
    if os.name != "posix":
        return 0
    return max(int(_LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)), 0)


def read_only_within(places: Iterable[Path], *, listed: Iterable[Path] = ()) -> None:
    """From now on this process, and those that it forks, open files below these places alone, and only to read.

    Of the folders that are ``listed``, it can also see what they hold.
    """
    found = version()
    if found:
        rights = (1 << _FILE_RIGHTS.get(found, _NEWEST_FILE_RIGHTS)) - 1
        readable = dict.fromkeys(listed, _READ_DIR)
        readable |= {path: _READ_FILE | _READ_DIR if path.is_dir() else _READ_FILE for path in places}
        _restrict(rights, _TCP if found >= _TCP_SINCE else 0, readable)


def alone() -> None:
    """From now on this process sends no signal to others, and looks into none."""
    if version() >= _SCOPES_SINCE:
        _restrict(0, 0, {}, scopes=_SCOPES)


def of_the_loader() -> list[Path]:
    named = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    return [Path(path) for path in (*OF_THE_LOADER, *named) if path]


def _restrict(file_rights: int, tcp_rights: int, readable: Mapping[Path, int], *, scopes: int = 0) -> None:
    fields = [file_rights, tcp_rights, scopes]
    while fields and not fields[-1]:  # an older kernel takes a shorter record, and a newer one fills it with zeros
        fields.pop()
    record = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = _called(_CREATE_RULESET, record, ctypes.c_size_t(len(record)), 0)
    try:
        for path, rights in readable.items():
            _allow(ruleset, path, rights)
        _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)  # without privileges the kernel asks for it
        _called(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    descriptor = _LIBC.open(os.fsencode(path), os.O_PATH | os.O_CLOEXEC)  # past the hooks, which are on already
    if descriptor < 0:
        return
    try:
        _called(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def _called(number: int, *arguments: object) -> int:
    found = int(_LIBC.syscall(number, *arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}: {os.strerror(ctypes.get_errno())}")
    return found
