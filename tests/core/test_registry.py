"""A name costs the import of its own module, and a list of names none of the heavy packages."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from fedleak.core.attack import Attack
from fedleak.core.errors import UnknownNameError
from fedleak.core.registry import Entry, Registry

REGISTRIES = {
    "attacks": "ATTACKS",
    "crypto": "CIPHERS",
    "defenses": "DEFENSES",
    "deviations": "DEVIATIONS",
    "metrics": "METRICS",
    "papers": "EXPERIMENTS",
    "protocols": "PROTOCOLS",
    "theory": "THEOREMS",
}
HEAVY = ("scipy", "sklearn", "pandas", "torch", "pydantic", "typer", "gmpy2")
SIGN = "fedleak.attacks.residuals.residual_sign:ResidualSign"


def loaded_by(code: str) -> set[str]:
    """Modules that a fresh interpreter has after running this."""
    shown = f"{code}\nimport sys\nprint('', *sys.modules, sep='\\nloaded ')"
    done = subprocess.run([sys.executable, "-c", shown], check=True, capture_output=True, text=True)
    return {line.removeprefix("loaded ") for line in done.stdout.splitlines() if line.startswith("loaded ")}


def listing(*arguments: str) -> str:
    return f"from fedleak.cli.main import app\napp({list(arguments)!r}, standalone_mode=False)"


def heavy(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} & set(HEAVY)


@pytest.mark.parametrize("package", sorted(REGISTRIES))
def test_every_entry_bears_the_name_and_aliases_of_its_class(package: str) -> None:
    registry = getattr(import_module(f"fedleak.{package}"), REGISTRIES[package])
    plugins = list(registry.own)
    assert [(plugin.name, plugin.aliases) for plugin in plugins] == [(e.name, e.aliases) for e in registry.own_entries]
    assert registry.names[: len(plugins)] == tuple(plugin.name for plugin in plugins)
    for plugin in plugins:
        assert all(registry.get(name) is plugin for name in (plugin.name, *plugin.aliases))


@pytest.mark.parametrize("entry", [Entry("residual-sine", SIGN, ("criterion-4.2",)), Entry("residual-sign", SIGN)])
def test_an_entry_that_differs_from_its_class_is_refused(entry: Entry) -> None:
    with pytest.raises(ValueError, match="must be listed by its own name and aliases"):
        Registry[Attack]("attack", [entry]).get(entry.name)


def test_two_plugins_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two attacks are called 'b'"):
        Registry[Attack]("attack", [Entry("a", "m:A", ("b",)), Entry("b", "m:B")])


def test_an_unknown_name_is_told_without_importing_anything() -> None:
    registry = Registry[Attack]("attack", [Entry("near", "no_such_module:Near")])
    with pytest.raises(UnknownNameError, match="near"):
        registry.get("near-by")


def test_one_name_imports_no_other_family() -> None:
    loaded = loaded_by("from fedleak.attacks import ATTACKS\nATTACKS.get('residual-sign')")
    families = {name.split(".")[2] for name in loaded if name.startswith("fedleak.attacks.")}
    assert "fedleak.attacks.residuals.residual_sign" in loaded
    assert families <= {"residuals", "verdicts"}
    assert "fedleak.attacks.residuals.single_column_recovery" not in loaded


@pytest.mark.parametrize("kind", ["attacks", "defenses", "deviations", "protocols", "theorems", "metrics"])
def test_a_list_imports_nothing_heavy(kind: str) -> None:
    loaded = loaded_by(listing("list", kind))
    assert "numpy" in loaded
    assert heavy(loaded) == set()


def test_a_check_imports_nothing_heavy() -> None:
    loaded = loaded_by(listing("check"))
    assert "fedleak.theory.label_signs" in loaded
    assert heavy(loaded) == set()


def test_help_does_not_even_import_numpy() -> None:
    loaded = loaded_by("try:\n    from fedleak.cli.main import app\n    app(['--help'])\nexcept SystemExit:\n    pass")
    assert "fedleak.cli.main" in loaded
    assert "numpy" not in loaded


def test_heavy_packages_are_noticed() -> None:
    assert heavy(loaded_by("import scipy.special")) == {"scipy"}
