"""Tables that ship with scikit-learn are the same whether its files are read or it is asked."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from fedleak.core.errors import DataError
from fedleak.data.sources import bundled
from fedleak.data.sources.bundled import BUNDLED_NAMES, bundled_frame


@pytest.mark.parametrize("name", BUNDLED_NAMES)
def test_a_table_is_what_scikit_learn_gives(name):
    pd.testing.assert_frame_equal(bundled_frame(name), getattr(datasets, f"load_{name}")(as_frame=True).frame)


@pytest.mark.parametrize("missing", ["package", "file", "column"])
def test_where_its_files_are_others_it_is_asked(missing, monkeypatch):
    whole = bundled_frame("iris")
    asked = []
    monkeypatch.setattr(bundled, "_from_scikit_learn", lambda name: asked.append(name) or whole)
    if missing == "package":
        monkeypatch.setattr(bundled, "find_spec", lambda _: None)
    elif missing == "file":
        monkeypatch.setitem(bundled._FILES, "iris", ("flowers.csv", ["one"]))
    else:
        monkeypatch.setattr(np, "loadtxt", lambda *_, **__: np.zeros((150, 4)))
    assert bundled_frame("iris") is whole
    assert asked == ["iris"]


def test_scikit_learn_is_not_loaded_for_them():
    """In another interpreter: a small audit takes no longer than what it loads."""
    code = (
        "import sys\n"
        "from fedleak.data.sources.bundled import bundled_frame\n"
        "assert len(bundled_frame('breast_cancer')) == 569\n"
        "print('sklearn' in sys.modules, 'scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_others_are_refused_with_what_there_is():
    with pytest.raises(DataError, match=r"got 'irs'.*iris"):
        bundled_frame("irs")
