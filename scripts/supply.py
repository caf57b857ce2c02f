"""What fedleak is made of: a CycloneDX list of runtime dependencies, their licences, and a build that repeats.

``sbom`` prints the list, from the metadata of what is installed. ``build`` makes wheel and sdist twice, in environments
of their own, and compares the hashes. ``hashes`` prints constraints.txt with the SHA-256 of every wheel that Linux
takes on Python 3.11 to 3.13, what the pins need in turn included, as the package index tells them; without torch, whose
CPU and CUDA builds share a version. Exit code 1 where a licence is not known to be fine, or hashes differ.
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
from typing import Any

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
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
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


def pins() -> list[str]:
    """Of constraints.txt, without torch."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith(("#", "torch=="))]


def hashed(reports: Iterable[dict[str, Any]]) -> str:
    """A requirements file for ``pip install --require-hashes``, from what pip says that it would install."""
    found: dict[str, set[str]] = {}
    for package in (each for report in reports for each in report["install"]):
        told = package["metadata"]
        pin = f"{re.sub(r'[-_.]+', '-', told['name']).lower()}=={told['version']}"
        found.setdefault(pin, set()).add(package["download_info"]["archive_info"]["hashes"]["sha256"])
    lines = ["# Printed by `scripts/supply.py hashes`: Linux on x86-64, Python 3.11 to 3.13; torch is left out"]
    for pin, digests in sorted(found.items()):
        lines.append(" \\\n".join([pin, *(f"    --hash=sha256:{digest}" for digest in sorted(digests))]))
    return "\n".join(lines)


def would_install(python: str) -> dict[str, Any]:
    """pip's report for a version of Python, nothing but metadata being fetched."""
    kinds = [option for platform in PLATFORMS for option in ("--platform", platform)]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run"]
    how = ["--ignore-installed", "--only-binary", ":all:", "--implementation", "cp", "--python-version", python, *kinds]
    with tempfile.TemporaryDirectory() as folder:
        out = ["--target", folder, "--report", f"{folder}/report.json"]
        subprocess.run([*pip, *how, *out, *pins()], check=True, capture_output=True)
        told: dict[str, Any] = json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["sbom", "build", "hashes"])
    what = parser.parse_args().what
    if what == "build":
        return _build_twice()
    if what == "hashes":
        print(hashed(map(would_install, PYTHONS)))
        return 0
    print(json.dumps(sbom(), indent=2))
    wrong = unfit((name, licence(package)) for name, package in runtime().items())
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
