"""Explicit lists of plug-ins. Asking for one imports its module alone, so that a name costs nothing of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Generic, NamedTuple, TypeVar

from fedleak.core.errors import UnknownNameError, nearest_or_list

PluginT = TypeVar("PluginT")


class Entry(NamedTuple):
    """What is known of a plug-in before it is imported; its class must bear the same name and aliases."""

    name: str
    path: str  # "package.module:Class"
    aliases: tuple[str, ...] = ()
    vocabulary: str = ""  # of a protocol: the module that has it, where it is not beside the protocol's own


class Registry(Generic[PluginT]):
    """Plug-ins by name or alias, imported when they are asked for."""

    def __init__(self, what: str, entries: Sequence[Entry]) -> None:
        self.what = what
        self.entries = tuple(entries)
        self._by_name: dict[str, Entry] = {}
        self._loaded: dict[Entry, type[PluginT]] = {}
        for entry in self.entries:
            for name in (entry.name, *entry.aliases):
                if name in self._by_name:
                    raise ValueError(f"two {what}s are called {name!r}")
                self._by_name[name] = entry

    def __iter__(self) -> Iterator[type[PluginT]]:
        return (self._load(entry) for entry in self.entries)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, without importing any plug-in; aliases are not among them."""
        return tuple(entry.name for entry in self.entries)

    def get(self, name: str) -> type[PluginT]:
        if name not in self._by_name:
            raise UnknownNameError(f"unknown {self.what} {name!r}{nearest_or_list(name, self._by_name)}")
        return self._load(self._by_name[name])

    def _load(self, entry: Entry) -> type[PluginT]:
        if entry not in self._loaded:
            self._loaded[entry] = self._imported(entry)
        return self._loaded[entry]

    def _imported(self, entry: Entry) -> type[PluginT]:
        module, _, attribute = entry.path.partition(":")
        plugin = getattr(import_module(module), attribute)
        if (plugin.name, plugin.aliases) != (entry.name, entry.aliases):
            listed, own = (entry.name, *entry.aliases), (plugin.name, *plugin.aliases)
            raise ValueError(f"{self.what} {entry.path} must be listed by its own name and aliases {own}; got {listed}")
        found: type[PluginT] = plugin
        return found
