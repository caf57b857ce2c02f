"""Licences of what fedleak installs, and the list of it."""

from __future__ import annotations

import re

import pytest
from packaging.requirements import Requirement

import supply
from fedleak.crypto.cipher import MIN_KEY_BITS
from fedleak.crypto.fixed_point import ENCODED_BITS, MARGIN_BITS
from fedleak.crypto.masks import HIDING_BITS
from matrix import oldest


def test_every_runtime_dependency_has_a_licence_that_is_fine():
    found = {name: supply.licence(package) for name, package in supply.runtime().items()}
    assert {"numpy", "cryptography", "markupsafe", "click"} <= found.keys(), "those of dependencies count too"
    assert not found.keys() & {"torch", "pytest"}, "extras do not"
    assert supply.unfit(found.items()) == []


@pytest.mark.parametrize("text", ["GPL-3.0-only", "unknown", "MIT AND GPL-2.0-only", "GPL-2.0 OR AGPL-3.0", ""])
def test_a_licence_that_is_not_known_to_be_fine_is_told(text):
    assert supply.unfit([("thing", text), ("other", "GPL-2.0 OR MIT")]) == [f"thing: {text}"]


def test_the_list_names_versions_and_places():
    listed = supply.sbom()
    assert (listed["bomFormat"], listed["specVersion"]) == ("CycloneDX", "1.5")
    assert all(each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}" for each in listed["components"])


def test_every_dependency_has_a_lower_and_an_upper_bound():
    assert "numpy==1.26.*" in oldest("3.11")
    assert "numpy==2.1.*" in oldest("3.13"), "older ones have no wheel there"
    wanted = [Requirement(each) for each in supply.distribution("fedleak").requires or () if "extra ==" not in each]
    assert len(wanted) > 8
    assert all({one.operator for one in each.specifier} == {">=", "<"} for each in wanted)


def test_no_product_of_two_encodings_comes_near_the_smallest_modulus():
    """Over as many rows as a machine word counts, and under a share that hides it: headroom by public sizes alone."""
    assert 2 * ENCODED_BITS + 63 + HIDING_BITS + 63 < MIN_KEY_BITS - MARGIN_BITS


def test_hashed_constraints_have_the_pins_and_a_hash_each():
    entries = (supply.ROOT / "constraints-hashed.txt").read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    found = {line.split()[0]: line.split()[1:] for line in entries if not line.startswith("#")}
    assert all(
        hashes and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes) for hashes in found.values()
    )
    assert {pin.lower() for pin in supply.pins()} <= found.keys()
    assert not any("torch" in pin or "://" in pin for pin in found), "its builds share a version"


def test_every_runtime_dependency_is_among_the_hashed_constraints():
    text = (supply.ROOT / "constraints-hashed.txt").read_text(encoding="utf-8")
    versions = {Requirement(line.split()[0]).name: line for line in text.splitlines() if "==" in line}
    for name, package in supply.runtime().items():
        assert name.replace("_", "-") in versions, package.version
    for wanted in map(Requirement, supply.distribution("fedleak").requires or ()):
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            pinned = Requirement(versions[wanted.name.lower()].split()[0])
            assert wanted.specifier.contains(next(iter(pinned.specifier)).version)


def test_one_wheel_for_each_python_is_one_entry():
    def told(digest):
        place = {"archive_info": {"hashes": {"sha256": digest}}}
        return {"install": [{"metadata": {"name": "Some_Thing", "version": "1.0"}, "download_info": place}]}

    assert supply.hashed([told("b"), told("a"), told("a")]).splitlines()[1:] == [
        "some-thing==1.0 \\",
        "    --hash=sha256:a \\",
        "    --hash=sha256:b",
    ]
