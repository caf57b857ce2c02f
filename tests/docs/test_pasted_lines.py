"""The newcomer's path: the lines of the README and of the tutorials work when they are pasted, one after the other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# file: (\S+)\n")
# What a reader must see in the end, of each page, in all that was printed.
SEEN = {
    "README.md": ("labels of our side", "luo2021/fig5"),
    "bank_and_fintech.md": ("labels of our side", "closed"),
    "own_training_loop.md": ("train.encrypted-residual", "labels of bank"),
    "fate_run.md": ("unblinded-labels", "labels of bank"),
    "attack_in_40_lines.md": ("partial 48 labels of north",),
}


def pasted(text: str, folder: Path) -> str:
    """Writes the files and runs the lines that a page has, in order; what they print."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "EXAMPLES": str(ROOT / "examples"), "COLUMNS": "120"}
    environment.pop("FEDLEAK_DATA", None)
    printed = []
    for kind, block in BLOCK.findall(text):
        named = FILE.match(block)
        if kind == "python":
            assert named, "a Python block of a tutorial must say which file it is"
            (folder / named[1]).write_text(block)
            continue
        for line in block.splitlines():
            done = subprocess.run(
                ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{line}\n{done.stdout[-500:]}\n{done.stderr[-1500:]}"
            printed.append(done.stdout + done.stderr)
    return "\n".join(printed)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.name)
def test_a_tutorial_works_line_by_line(page, tmp_path):
    printed = pasted(page.read_text(), tmp_path)
    assert [text for text in SEEN[page.name] if text not in printed] == []


def test_the_first_five_minutes_work_line_by_line(tmp_path):
    text = (ROOT / "README.md").read_text()
    printed = pasted(text[text.index("## Five minutes") : text.index("## Use it on your own federation")], tmp_path)
    assert [text for text in SEEN["README.md"] if text not in printed] == []
    assert (tmp_path / "my-audit" / "report.html").stat().st_size > 10_000


def test_the_attack_has_at_most_40_lines():
    block = next(body for kind, body in BLOCK.findall((ROOT / "docs/tutorials/attack_in_40_lines.md").read_text()))
    assert len(block.splitlines()) - 1 <= 40
