"""Pages name files, modules and functions that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "fedleak"
# The changelog is left out: what it names may be gone by a later line.
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")} - {ROOT / "CHANGELOG.md"})
ROOMS = "|".join(sorted(place.name for place in PACKAGE.iterdir() if (place / "__init__.py").exists()))
TO_FILL_IN = re.compile(r"my-attack|NAME|[<…*]")  # a name that the reader puts in

FILE = re.compile(r"(?<![\w/.-])((?:src|docs|tests|examples|scripts|\.ci)/[\w./<>…*-]*[\w>*])")
NAME = re.compile(r"\bfedleak((?:\.[A-Za-z_]\w*)+)")
IN_A_ROOM = re.compile(rf"`((?:{ROOMS})(?:[./]\w+)+)`")  # `core/errors.py`, `core.whole`
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")  # not those with a scheme
OUTPUTS = (".html", ".json")  # report.html is what an audit writes, no module


def missing(text: str, folder: Path) -> Iterator[str]:
    """Whatever the text names that is not there."""
    yield from (path for path in FILE.findall(text) if not TO_FILL_IN.search(path) and not (ROOT / path).exists())
    yield from (f"fedleak{name}" for name in NAME.findall(text) if not resolves(f"fedleak{name}"))
    yield from (name for name in IN_A_ROOM.findall(text) if not name.endswith(OUTPUTS) and not in_a_room(name))
    yield from (link for link in LINK.findall(text) if not (folder / link).exists())


def in_a_room(name: str) -> bool:
    return (PACKAGE / name).exists() if "/" in name else resolves(f"fedleak.{name}")


def resolves(name: str) -> bool:
    """A module, or something in one, or a field of that."""
    parts = name.split(".")
    module = parts.pop(0)
    while parts and is_module(f"{module}.{parts[0]}"):
        module += f".{parts.pop(0)}"
    found: object = import_module(module)
    for part in parts:
        if not hasattr(found, part) and part not in getattr(found, "__annotations__", {}):
            return False
        found = getattr(found, part, None)
    return True


def is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is a module, not a package
        return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_names_what_exists(page: Path) -> None:
    assert list(missing(page.read_text(encoding="utf-8"), page.parent)) == []


@pytest.mark.parametrize(
    "stale",
    [
        "src/fedleak/core/storage.py",
        "`docs/no-such-page.md`",
        "fedleak.audits",
        "fedleak.core.storage.View",
        "fedleak.trial.play.no_such_function",
        "`core/no_such_file.py`",
        "`core.storage`",
        "[a page](decisions/0000-never.md)",
    ],
)
def test_a_stale_name_is_found(stale: str) -> None:
    assert len(list(missing(f"See {stale} for more.", ROOT / "docs"))) == 1


@pytest.mark.parametrize(
    "good",
    ["src/fedleak/trial/play.py", "fedleak.core.finding.Score.value", "`core.whole`", "[a page](report.md#json)"],
)
def test_a_name_that_exists_is_let_pass(good: str) -> None:
    assert list(missing(f"See {good} for more.", ROOT / "docs")) == []
