"""Explicit lists of plug-ins, imported only when one is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from typing import Generic, TypeVar

from fedleak.core.errors import UnknownNameError, nearest_or_list

PluginT = TypeVar("PluginT")


class Registry(Generic[PluginT]):
    """Plug-ins by name or alias. An entry is "package.module:Class"."""

    def __init__(self, what: str, entries: Sequence[str]) -> None:
        self.what = what
        self.entries = tuple(entries)

    @cached_property
    def _by_name(self) -> dict[str, type[PluginT]]:
        found: dict[str, type[PluginT]] = {}
        for entry in self.entries:
            module, _, attribute = entry.partition(":")
            plugin = getattr(import_module(module), attribute)
            for name in (plugin.name, *plugin.aliases):
                if name in found:
                    raise ValueError(f"two {self.what}s are called {name!r}")
                found[name] = plugin
        return found

    def __iter__(self) -> Iterator[type[PluginT]]:
        return iter(dict.fromkeys(self._by_name.values()))

    def get(self, name: str) -> type[PluginT]:
        if name not in self._by_name:
            raise UnknownNameError(f"unknown {self.what} {name!r}{nearest_or_list(name, self._by_name)}")
        return self._by_name[name]
