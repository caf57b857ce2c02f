"""Licences of what fedleak installs, and the list of it."""

from __future__ import annotations

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
