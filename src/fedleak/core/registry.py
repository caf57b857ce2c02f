"""Explicit lists of plug-ins. Asking for one imports its module alone, so that a name costs nothing of the others.

Others add theirs by entry points of the list's group (``fedleak.attacks`` and so on). Those are looked for when a name
is not ours or all plug-ins are asked for. One that cannot be used is told in one line and left out.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from inspect import isabstract
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from fedleak.core.errors import UnknownNameError, in_one_line, nearest_or_list, show_traceback

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PluginT = TypeVar("PluginT")
Faults = Callable[[object], list[str]]


class Entry(NamedTuple):
    """What is known of a plug-in before it is imported; its class must bear the same name and aliases."""

    name: str
    path: str  # "package.module:Class"
    aliases: tuple[str, ...] = ()
    vocabulary: str = ""  # of a protocol: the module that has it, where it is not beside the protocol's own
    distribution: str = ""  # whose it is, with its version; empty for ours


class Registry(Generic[PluginT]):
    """Plug-ins by name or alias, imported when they are asked for."""

    def __init__(
        self, what: str, entries: Sequence[Entry], *, group: str | None = None, faults: Faults = lambda found: []
    ) -> None:
        """``group``: the entry points by which others add theirs. ``faults``: what makes one of those unfit for use."""
        self.what = what
        self.own_entries = tuple(entries)
        self.group = group
        self._faults = faults
        self._by_name: dict[str, Entry] = {}
        self._loaded: dict[Entry, type[PluginT]] = {}
        self._unfit: dict[Entry, str] = {}
        for entry in self.own_entries:
            for name in (entry.name, *entry.aliases):
                if name in self._by_name:
                    raise ValueError(f"two {what}s are called {name!r}")
                self._by_name[name] = entry

    def __iter__(self) -> Iterator[type[PluginT]]:
        """All that can be used: ours, then those of others."""
        for entry in self.entries:
            plugin = self._usable(entry)
            if plugin is not None:
                yield plugin

    def __contains__(self, name: str) -> bool:
        return name in self._by_name or name in self._others

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.own_entries + tuple(self._others.values())

    @property
    def own(self) -> tuple[type[PluginT], ...]:
        """Without those of others."""
        return tuple(self._load(entry) for entry in self.own_entries)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, without importing any plug-in; aliases are not among them."""
        return tuple(entry.name for entry in self.entries)

    def get(self, name: str) -> type[PluginT]:
        entry = self._by_name.get(name) or self._others.get(name)
        if entry is None:
            raise UnknownNameError(f"unknown {self.what} {name!r}{nearest_or_list(name, self._known)}")
        plugin = self._usable(entry)
        if plugin is None:
            raise UnknownNameError(f"{self._called(entry)} cannot be used: {self._unfit[entry]}")
        return plugin

    def distribution(self, name: str) -> str:
        """Who brought it, with the version; empty for ours."""
        return (self._by_name.get(name) or self._others[name]).distribution

    def add(self, plugin: type[PluginT], distribution: str) -> None:
        """For this process: one that no entry point names. Its name must be free, or its own already."""
        name = str(getattr(plugin, "name", ""))
        if name in self:
            if self.get(name) is not plugin:
                raise UnknownNameError(f"a new {self.what} must have a name of its own; got {name!r}, which is taken")
            return
        entry = Entry(name, f"{plugin.__module__}:{plugin.__qualname__}", distribution=distribution)
        self._loaded[entry] = plugin
        self._others[name] = entry

    @property
    def _known(self) -> tuple[str, ...]:
        return (*self._by_name, *self._others)

    @cached_property
    def _others(self) -> dict[str, Entry]:
        """By entry points, in the order of their distributions; a name that is taken already is refused."""
        found: dict[str, Entry] = {}
        for entry in _entry_points(self.group) if self.group else ():
            taken = self._by_name.get(entry.name) or found.get(entry.name)
            if taken is None:
                found[entry.name] = entry
            elif taken != entry:
                self._leave_out(entry, f"the name is taken by {taken.distribution or 'fedleak'}; rename yours")
        return found

    def _usable(self, entry: Entry) -> type[PluginT] | None:
        """None, told once, where it is somebody else's and cannot be used; a defect of ours is raised."""
        if not entry.distribution:
            return self._load(entry)
        if entry in self._unfit:
            return None
        try:
            return self._load(entry)
        except Exception as error:  # whatever a stranger's module raises while it is imported
            show_traceback(error)
            self._leave_out(entry, str(error) if isinstance(error, UnfitError) else in_one_line(error))
            return None

    def _leave_out(self, entry: Entry, why: str) -> None:
        self._unfit[entry] = why
        logging.getLogger("fedleak").warning("fedleak: %s is left out: %s", self._called(entry), why)

    def _called(self, entry: Entry) -> str:
        return f"the {self.what} {entry.name!r} of {entry.distribution}"

    def _load(self, entry: Entry) -> type[PluginT]:
        if entry not in self._loaded:
            self._loaded[entry] = self._imported(entry)
        return self._loaded[entry]

    def _imported(self, entry: Entry) -> type[PluginT]:
        module, _, attribute = entry.path.partition(":")
        plugin = getattr(import_module(module), attribute)
        if entry.distribution:
            self._check_fitness(entry, plugin)
        elif (plugin.name, plugin.aliases) != (entry.name, entry.aliases):
            listed, own = (entry.name, *entry.aliases), (plugin.name, *plugin.aliases)
            raise ValueError(f"{self.what} {entry.path} must be listed by its own name and aliases {own}; got {listed}")
        found: type[PluginT] = plugin
        return found

    def _check_fitness(self, entry: Entry, plugin: object) -> None:
        faults = self._faults(plugin)
        if not faults and getattr(plugin, "name", None) != entry.name:
            faults = [f"its name must be that of its entry point; got {getattr(plugin, 'name', None)!r}"]
        if faults:
            raise UnfitError("; ".join(faults))


class UnfitError(Exception):
    """Why somebody's plug-in cannot be used."""


def _entry_points(group: str) -> list[Entry]:
    found = [
        Entry(point.name, point.value, distribution=f"{point.dist.name} {point.dist.version}" if point.dist else "?")
        for point in _all_entry_points(tuple(sys.path))
        if point.group == group
    ]
    return sorted(found, key=lambda entry: (entry.distribution, entry.name))


@lru_cache(maxsize=1)
def _all_entry_points(_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Of everything on ``sys.path``, those for us; read once, since that takes a tenth of a second."""
    from importlib.metadata import entry_points  # it takes longer to load than all of our lists

    found = entry_points()
    ours = [group for group in found.groups if group.startswith("fedleak.")]
    return tuple(point for group in ours for point in found.select(group=group))


def faults_of(found: object, base: type, needs: Mapping[str, type]) -> list[str]:
    """What a class lacks to be a plug-in: its base, what the base leaves open, and attributes of the given types."""
    if not isinstance(found, type) or not issubclass(found, base):
        return [f"it must be a subclass of {base.__module__}.{base.__name__}; got {found!r}"]
    missing = sorted(getattr(found, "__abstractmethods__", ())) if isabstract(found) else []
    faults = [f"it must define {', '.join(missing)}"] if missing else []
    for name, kind in needs.items():
        value = getattr(found, name, None)
        if not isinstance(value, kind):
            faults.append(f"its {name} must be a {kind.__name__}; got {value!r}")
    return faults
