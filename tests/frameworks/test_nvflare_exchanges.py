"""What a filter at a site of NVFLARE's vertical XGBoost keeps, read back as what a proxy would have recorded."""

from __future__ import annotations

import base64
import json

import pytest

from fedleak.core.errors import FileFormatError
from fedleak.frameworks.nvflare.kept_exchanges import KEPT, METHODS, kept_exchanges
from fedleak.frameworks.xgboost.xgboost_wire import Exchange

EXCHANGES = [Exchange(method, bytes([number]), b"\n" + bytes(number)) for number, method in enumerate(METHODS)]


def written(folder, kept=None):
    lines = [
        json.dumps([one.method, *(base64.b64encode(part).decode() for part in (one.request, one.reply))])
        for one in EXCHANGES
    ]
    text = "".join(line + "\n" for line in lines)
    (folder / KEPT).write_text(text[:kept])
    return folder / KEPT


def test_calls_come_back_in_order(tmp_path):
    assert kept_exchanges(written(tmp_path)) == EXCHANGES


def test_a_call_that_breaks_off_is_one_line(tmp_path):
    with pytest.raises(FileFormatError, match="call 4 that the site's filter kept breaks off"):
        kept_exchanges(written(tmp_path, kept=-4))


def test_a_filter_that_kept_nothing_is_one_line(tmp_path):
    with pytest.raises(FileFormatError, match="it kept nothing"):
        kept_exchanges(tmp_path / KEPT)
