"""The page in a real browser: nothing is cut off, the filter works, it prints short. On demand: it takes seconds."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import escape, unescape

import pytest
from sample_report import sample_report

from fedleak.report import html

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.skipif(not os.environ.get("FEDLEAK_BROWSER_TESTS"), reason="set FEDLEAK_BROWSER_TESTS=1 to try it"),
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed"),
]
MOST_PAGES = 6
# In a frame of the width that is wanted: a window has at least 500 pixels.
FRAME = """<!DOCTYPE html><body><pre id="measured"></pre>
<script>addEventListener("message", e => {{ document.getElementById("measured").textContent = e.data; }});</script>
<iframe width="{width}" height="900" style="border:0" srcdoc="{page}"></iframe></body>"""
MEASURE = """
<script>
const wide = document.documentElement.clientWidth;
const cut = [...document.body.querySelectorAll("*")].filter(
  e => !e.closest(".scroll") && e.getClientRects().length && e.getBoundingClientRect().right > wide + 1);
const seen = () => [...document.querySelectorAll(".case")].filter(e => e.getClientRects().length).length;
const all = seen();
document.getElementById("show-leaks").click();
parent.postMessage(JSON.stringify({
  wide, over: document.documentElement.scrollWidth - wide, cut: cut.map(e => e.outerHTML.slice(0, 80)),
  all, leaks: seen(), back: getComputedStyle(document.body).backgroundColor}), "*");
</script>"""


def browse(*words: str) -> subprocess.CompletedProcess[str]:
    plain = (BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr")
    return subprocess.run([*plain, *words], capture_output=True, text=True, timeout=120, check=True)


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(html.render(sample_report()), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off_and_the_filter_works(page, width, scheme):
    text = re.sub(r"<meta http-equiv=[^>]*>", "", page.read_text(encoding="utf-8"))  # for the script that measures
    framed = FRAME.format(width=width, page=escape(text.replace("</body>", f"{MEASURE}</body>")))
    page.write_text(framed, encoding="utf-8")
    dark = ("--force-dark-mode",) if scheme == "dark" else ()
    dumped = browse("--dump-dom", "--virtual-time-budget=5000", "--window-size=1400,900", *dark, page.as_uri())
    found = json.loads(unescape(re.search(r'<pre id="measured">(.*?)</pre>', dumped.stdout)[1]))
    assert found["cut"] == []
    assert found["over"] <= 0
    assert found["wide"] == width
    report = sample_report()
    leaking = {(f.adversary, f.mode, f.attack, f.secret) for f in report.findings if f.severity}
    assert found["all"] > found["leaks"] == len(leaking)
    assert found["back"] == ("rgb(18, 21, 27)" if scheme == "dark" else "rgb(246, 247, 249)")
    assert "CONSOLE" not in dumped.stderr


def test_it_prints_on_few_pages_and_says_nothing_on_the_console(page, tmp_path):
    printed = browse(f"--print-to-pdf={tmp_path / 'page.pdf'}", page.as_uri())
    n_pages = len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes()))
    assert 1 <= n_pages <= MOST_PAGES
    assert "CONSOLE" not in printed.stderr
