"""The attack that ``--fedleak-attack`` names."""

from __future__ import annotations

from importlib import import_module

from fedleak.core.attack import Attack, faults_of_attack
from fedleak.core.errors import InputError, in_one_line


def attack_named(path: str) -> type[Attack]:
    """``package.module:Attack``; one error where it is not there, or is no attack."""
    module, _, name = path.partition(":")
    try:
        found = getattr(import_module(module), name, None)
    except Exception as error:  # whatever somebody's module does when it is imported
        raise InputError(_wrong(path, f"which cannot be imported ({in_one_line(error)})")) from error
    if found is None:
        raise InputError(_wrong(path, "which is not there"))
    faults = faults_of_attack(found)
    if faults:
        raise InputError(_wrong(path, f"which is no attack: {'; '.join(faults)}"))
    known: type[Attack] = found
    return known


def _wrong(path: str, why: str) -> str:
    return f"--fedleak-attack must be PACKAGE.MODULE:CLASS; got {path}, {why}"
