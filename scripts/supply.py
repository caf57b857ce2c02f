"""What fedleak is made of: a CycloneDX list of runtime dependencies, their licences, and a build that repeats.

``sbom`` prints the list, from the metadata of what is installed. ``build`` makes wheel and sdist twice, in environments
of their own, and compares the hashes. Exit code 1 where a licence is not known to be fine, or hashes differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
PERMISSIVE = frozenset(
    [
        "0BSD",
        "Apache-2.0",
        "Apache",
        "BSD",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "ISC",
        "MIT",
        "MIT-0",
        "PSF-2.0",
        "Python-2.0",
        "Zlib",
    ]
)
ALLOWED = {"gmpy2": "LGPL-3.0-or-later"}  # a library of its own that is loaded unchanged, which its licence allows
EXTRA = re.compile(r"\bextra\s*==")


def runtime(name: str = "fedleak") -> dict[str, Distribution]:
    """Everything that is installed because of a package, without extras; by name in lower case."""
    found: dict[str, Distribution] = {}
    waiting = [name]
    while waiting:
        next_name = waiting.pop().lower()
        try:
            there = distribution(next_name)
        except PackageNotFoundError:  # a marker that does not hold here
            continue
        if next_name not in found:
            found[next_name] = there
            waiting += [_name(each) for each in there.requires or () if not EXTRA.search(each)]
    del found[name]
    return dict(sorted(found.items()))


def _name(requirement: str) -> str:
    return re.split(r"[\s;<>=!~\[(]", requirement, maxsplit=1)[0]


def licence(package: Distribution) -> str:
    """As an SPDX expression where there is one, else what classifiers say."""
    told = package.metadata
    if "License-Expression" in told:
        return told["License-Expression"]
    classified = [each for each in told.get_all("Classifier") or () if each.startswith("License :: ")]
    if classified:
        return " AND ".join(each.rpartition(" :: ")[2].removesuffix(" License").strip() for each in classified)
    return told["License"].splitlines()[0] if "License" in told else "unknown"


def unfit(packages: Iterable[tuple[str, str]]) -> list[str]:
    """Of names and licences those that are neither permissive nor allowed by name. Of alternatives one is enough."""
    return [
        f"{name}: {text}"
        for name, text in packages
        if ALLOWED.get(name) != text and not any(_all_fit(choice) for choice in text.split(" OR "))
    ]


def _all_fit(terms: str) -> bool:
    return all(term.strip("() ") in PERMISSIVE for term in terms.split(" AND "))


def sbom() -> dict[str, object]:
    components = [
        {
            "type": "library",
            "name": name,
            "version": package.version,
            "purl": f"pkg:pypi/{name}@{package.version}",
            "licenses": [{"license": {"name": licence(package)}}],
        }
        for name, package in runtime().items()
    ]
    own = {"type": "application", "name": "fedleak", "version": distribution("fedleak").version}
    head: dict[str, object] = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1}
    return {**head, "metadata": {"component": own}, "components": components}


def built(folder: Path) -> dict[str, str]:
    """SHA-256 of wheel and sdist, by name."""
    venv.create(folder / "env", with_pip=True)
    inside = str(folder / "env" / "bin" / "python")
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--constraint", str(ROOT / "constraints.txt"), "hatchling"], check=True, capture_output=True)
    out = folder / "dist"
    subprocess.run([inside, "-m", "hatchling", "build", "-d", str(out)], cwd=ROOT, check=True, capture_output=True)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.iterdir())}


def _build_twice() -> int:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        first, second = built(Path(one)), built(Path(other))
    for name, digest in first.items():
        print(f"{digest}  {name}" if second.get(name) == digest else f"DIFFERS  {name}")
    return int(first != second)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["sbom", "build"])
    if parser.parse_args().what == "build":
        return _build_twice()
    print(json.dumps(sbom(), indent=2))
    wrong = unfit((name, licence(package)) for name, package in runtime().items())
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
