"""Where the code of an attack lies, and what of it the server of attack processes has to be told.

The folders of ``sys.path`` are where imports come from. A package that is installed for its developer may lie in none
of them: an import hook knows where. Its own folder is named then, and nothing beside it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from fedleak.core.attack import Attack

# What the server may load: our own attacks and what we depend on. A stranger's code runs in its attempt alone.
TRUSTED = frozenset({"cryptography", "fedleak", "flint", "gmpy2", "numpy", "pulp", "scipy", "sklearn", "torch"})


class Need(StrEnum):
    FOLDER = "folder"  # of sys.path: imports start there, and code may be read there
    CODE = "code"  # a package or a module that lies elsewhere
    MODULE = "module"  # to be imported once, for all attempts


Needs = list[tuple[Need, str]]


def search_path() -> list[str]:
    return [os.path.abspath(path) for path in sys.path if os.path.isdir(path or ".")]


def needs_of(attacks: Iterable[type[Attack]]) -> Needs:
    """In the order in which they are met."""
    folders = search_path()
    packages: dict[str, None] = {}
    modules: dict[str, None] = {}
    for attack in attacks:
        modules |= dict.fromkeys((attack.__module__, *attack.preloads))
        packages |= dict.fromkeys(_top(name) for name in (*_written_in(attack), *attack.preloads))
    places = dict.fromkeys(place for name in packages for place in _apart(name, folders))
    return [
        *((Need.FOLDER, folder) for folder in folders),
        *((Need.CODE, place) for place in places),
        *((Need.MODULE, name) for name in modules if _top(name) in TRUSTED),
    ]


def _written_in(attack: type[Attack]) -> Iterator[str]:
    return (kind.__module__ for kind in attack.__mro__)


def _top(name: str) -> str:
    return name.partition(".")[0]


def _apart(package: str, folders: Sequence[str]) -> list[str]:
    """Where a package lies, if no folder that code comes from holds it."""
    if package in TRUSTED or package in sys.stdlib_module_names or package == "__main__":
        return []
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):  # the attempt that needs it meets the same error, and tells it
        return []
    if spec is None:
        return []
    places = list(spec.submodule_search_locations or ()) or ([spec.origin] if spec.origin and spec.has_location else [])
    found = [os.path.abspath(place) for place in places]
    return [place for place in found if os.path.dirname(place) not in folders or not _is_module(Path(place))]


def _is_module(place: Path) -> bool:
    """Or a package; a folder without an ``__init__.py`` could as well hold data, and has to be named."""
    return place.is_file() or (place / "__init__.py").is_file()
