"""The check of imports that strangers' attacks get; of ours, the import contracts have the say."""

from __future__ import annotations

import pytest
from cheaters import ImportsTheLoader

from fedleak.attacks import ATTACKS
from fedleak.testing.imports import check_imports


@pytest.mark.parametrize("name", ["residual-sign", "path-restriction"])
def test_an_honest_attack_passes(name):
    check_imports(ATTACKS.get(name))


def test_an_import_by_name_is_found():
    with pytest.raises(AssertionError, match=r"must not import what knows the truth; it names fedleak\.data"):
        check_imports(ImportsTheLoader)
