"""The page docs/data.md, the settings and the code say the same."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

import fedleak.data
from fedleak.data import (
    ByColumns,
    ByCorrelation,
    ByLabelSkew,
    ByPatches,
    ByRatio,
    ByRowCount,
    ByRowRatio,
    DataSpec,
    EncodingOptions,
)
from fedleak.data.sources.bundled import BUNDLED_NAMES
from fedleak.data.sources.public_sets import PUBLIC_SETS

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
SPECS = (DataSpec, EncodingOptions, ByColumns, ByCorrelation, ByLabelSkew, ByPatches, ByRatio, ByRowCount, ByRowRatio)


def test_the_page_has_every_key_with_its_choices_and_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, flags=re.MULTILINE))
    assert set(rows) == {field.name for field in fields(DataSpec)}
    for field in fields(DataSpec):
        missing = [choice for choice in field.metadata["choices"] if f'"{choice}"' not in rows[field.name]]
        assert not missing, f"{field.name} lacks {missing}"
        if isinstance(field.default, str):
            assert rows[field.name].startswith(f'`"{field.default}"`')


def test_the_page_names_every_source_and_partition() -> None:
    aliases = {"bank_additional_full"}  # the file behind bank_marketing
    for name in (*BUNDLED_NAMES, *(PUBLIC_SETS.keys() - aliases)):
        assert f"`{name}`" in PAGE
    for name in fedleak.data.__all__:
        if name.startswith(("By", "load_", "split_v", "split_i", "split_hor")):
            assert name in PAGE, name


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.__name__)
def test_every_setting_says_what_it_means(spec: type) -> None:
    for field in fields(spec):
        assert field.metadata["about"], field.name
        choices = field.metadata["choices"]
        assert not choices or field.default is MISSING or field.default in choices
