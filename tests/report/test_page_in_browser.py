"""The page in a real browser: nothing is cut off, filter and search work from the keyboard, it prints short. On demand:
it takes seconds."""

from __future__ import annotations

import os
import re

import pytest
from browser import CHROMIUM, DRIVER, Browser
from sample_report import sample_report

from fedleak.report import html

pytestmark = [
    pytest.mark.skipif(not os.environ.get("FEDLEAK_BROWSER_TESTS"), reason="set FEDLEAK_BROWSER_TESTS=1 to try it"),
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no Chromium with its driver is installed"),
]
MOST_PAGES = 6
CUT = """
const wide = document.documentElement.clientWidth;
const cut = [...document.body.querySelectorAll("*")].filter(
  e => !e.closest(".scroll") && e.getClientRects().length && e.getBoundingClientRect().right > wide + 1);
return [wide, document.documentElement.scrollWidth - wide, cut.map(e => e.outerHTML.slice(0, 80))];"""
SEEN = 'return [...document.querySelectorAll(".case")].filter(e => e.getClientRects().length).length;'
UNLABELLED = """
return [...document.querySelectorAll("input, [role=region], section, svg")].filter(e => e.getClientRects().length
  && !(e.labels && e.labels.length) && !e.getAttribute("aria-label") && !e.closest("[aria-labelledby]"))
  .map(e => e.outerHTML.slice(0, 80));"""
TOLD = 'return document.getElementById("n-shown").textContent;'
OPEN = 'return [...document.querySelectorAll(".silences > li")].filter(e => e.checkVisibility()).length;'
ESCAPE = "\ue00c"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = Browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.close()


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(html.render(sample_report()), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off_and_everything_has_a_name(browser, page, width, scheme):
    browser.look(page, width, scheme)
    browser.run('document.querySelectorAll("details").forEach(e => { e.open = true; });')
    assert browser.run(CUT) == [width, 0, []]
    assert browser.run(UNLABELLED) == []
    back = browser.run("return getComputedStyle(document.body).backgroundColor;")
    assert back == ("rgb(18, 21, 27)" if scheme == "dark" else "rgb(246, 247, 249)")
    assert browser.console() == []


def test_the_filter_shows_leaks_alone(browser, page):
    browser.look(page, 1280, "light")
    leaking = {(f.adversary, f.mode, f.attack, f.secret) for f in sample_report().findings if f.severity}
    every = browser.run(SEEN)
    browser.press("#show-all", "\ue014")  # the arrow to the right chooses the next one
    assert every > browser.run(SEEN) == len(leaking)


def test_the_search_finds_columns_partners_and_what_gave_no_answer_from_the_keyboard(browser, page):
    browser.look(page, 390, "light")
    every = browser.run(SEEN)
    browser.press("body", "/")
    assert browser.run("return document.activeElement.id;") == "words"
    browser.press("#words", "Worst AREA gram")
    assert browser.run(SEEN) == 1
    assert browser.run(TOLD) == f"1 of {every} attacks"
    browser.press("#words", ESCAPE)
    assert browser.run(SEEN) == every
    browser.press("#words", "restarts")
    assert browser.run(SEEN) == 0
    assert browser.run(TOLD) == f"0 of {every} attacks, and 1 without an answer, below"
    assert browser.run(OPEN) == 1
    assert browser.console() == []


def test_without_its_script_the_page_is_whole(browser, page):
    browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
    browser.look(page, 1280, "light")
    browser.devtools("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.run(SEEN) > 5
    assert browser.run('return document.getElementById("search").checkVisibility();') is False


def test_no_other_script_runs(browser, page):
    text = page.read_text(encoding="utf-8").replace("</main>", '</main><script>document.title = "taken";</script>')
    page.write_text(text, encoding="utf-8")
    browser.look(page, 1280, "light")
    assert browser.run("return document.title;") != "taken"
    assert any("Content Security Policy" in line for line in browser.console())


def test_it_prints_on_few_pages(browser, page):
    browser.look(page, 1280, "light")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", browser.printed())) <= MOST_PAGES
