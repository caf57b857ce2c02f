"""What a framework needs to run here: versions, size, the Python that it works with, and what can be set of a run."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from fedleak.core.errors import InputError, UnknownNameError, nearest_or_list
from fedleak.data.spec import ScalingName
from fedleak.frameworks import FRAMEWORKS

Option = bool | int | float | str


@dataclass(frozen=True)
class Recipe:
    """``inside`` is the module that runs in the framework's environment; ``layout`` is how tables are dealt out."""

    name: str
    title: str
    package: str
    version: str
    python_least: str
    python_below: str
    megabytes: int
    install_seconds: int
    limit_seconds: int
    layout: str
    scaling: ScalingName
    inside: str
    warning: str
    lock: str
    options: Mapping[str, Option]

    @property
    def environment(self) -> str:
        """The name of where it is installed; other federations of a framework share it."""
        return f"{self.name.partition('-')[0]}-{self.version}-{self.fingerprint}"

    @property
    def fingerprint(self) -> str:
        """Of what is installed: another lock is another environment."""
        return hashlib.sha256(self.lock.encode()).hexdigest()[:12]

    def chosen(self, given: Sequence[str]) -> dict[str, Option]:
        """Settings of a run: the recipe's own with those given as NAME=VALUE in their place."""
        found = dict(self.options)
        for text in given:
            name, equals, value = text.partition("=")
            if not equals or name not in found:
                known = nearest_or_list(name, found)
                raise UnknownNameError(f"--set must be NAME=VALUE with a setting of {self.name}; got {text!r}{known}")
            found[name] = _like(found[name], name, value)
        return found


def _like(default: Option, name: str, text: str) -> Option:
    """The value as the default's kind of thing."""
    if isinstance(default, bool):
        if text not in ("true", "false"):
            raise InputError(f"{name} must be true or false; got {text!r}")
        return text == "true"
    try:
        return type(default)(text)
    except ValueError as error:
        raise InputError(f"{name} must be a {type(default).__name__}; got {text!r}") from error


def recipe_of(name: str) -> Recipe:
    if name not in FRAMEWORKS:
        raise UnknownNameError(f"unknown framework {name!r}{nearest_or_list(name, FRAMEWORKS)}")
    framework = name.partition("-")[0]
    folder = files(f"fedleak.frameworks.{framework}")
    read = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    own = folder / f"{name}.lock"  # where it needs more than the framework's others do
    lock = (own if own.is_file() else folder / f"{framework}.lock").read_text(encoding="utf-8")
    return Recipe(**{"warning": "", **read}, name=name, lock=lock)


def check_python(recipe: Recipe, version: str) -> None:
    """To the patch: a framework may fail on one patch version and work on the next."""
    if not _parts(recipe.python_least) <= _parts(version) < _parts(recipe.python_below):
        raise InputError(
            f"Python must be from {recipe.python_least} on and below {recipe.python_below} for {recipe.title} "
            f"{recipe.version}; got {version}. Name another with --python PATH"
        )


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
