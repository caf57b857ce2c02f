"""Which Pythons are tried."""

from __future__ import annotations

import sys

from matrix import interpreters


def made(path, code):
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\nexit {code}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_python_that_its_shim_does_not_run_is_found_where_it_is_installed(tmp_path, monkeypatch):
    made(tmp_path / "shims" / "python9.1", 127)
    there = made(tmp_path / "versions" / "9.1.4" / "bin" / "python9.1", 0)
    made(tmp_path / "versions" / "9.2.0" / "bin" / "python9.2", 1)
    monkeypatch.setenv("PATH", str(tmp_path / "shims"))
    found = interpreters(["9.1", "9.2", "9.3"], tmp_path / "versions")
    assert found == {"9.1": there, "9.2": None, "9.3": None}, "what does not run is said to be missing"


def test_the_python_that_runs_is_found():
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert interpreters([version])[version] is not None
