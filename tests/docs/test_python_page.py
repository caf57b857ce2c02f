"""The examples of the page on Python run, one after the other, as a reader would type them."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_examples_run(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 4
    names: dict[str, object] = {"__name__": "example"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert "<Report of a data frame: severity high: " in capsys.readouterr().out
    assert len(names["leaks"]) > 0
    assert repr(names["guess"]).startswith("<Guess of labels of north: recovered")
