"""Advice read back for the page: what follows from it is computed anew, and files of strangers are refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from fedleak.advising.advice import Advice, Point
from fedleak.advising.front_picture import advised, front_file, front_picture
from fedleak.advising.kept_advice import read_advice
from fedleak.advising.remedy import Change, Cost, LeakLeft, Remedy
from fedleak.advising.worth import Worth
from fedleak.cli.main import app
from fedleak.core.errors import FileFormatError, InputError
from fedleak.core.report import Remedy as Suggestion
from fedleak.core.report import Report
from fedleak.report import html, json_format

LEFT = LeakLeft(("shop",), "labels of bank", "residual-sign", "low", 0.2, "auc", 0.6, 0.5)
BEFORE, AFTER = Worth("test_accuracy", 0.9, 0.6), Worth("test_accuracy", 0.85, 0.6)
NOISE = Change(("defense",), '[[defense]]\nname = "gaussian-noise"\nsigma = 16.0', None)
SHARED = Change(("gradients",), '[federation]\ngradients = "secret-shared"', None)


def advice() -> Advice:
    closing = Remedy(SHARED, ("labels of bank to shop (passive)",), (), (), Cost(BEFORE, BEFORE), confirmed=True)
    weaker = Remedy(NOISE, (), (LEFT,), (), Cost(BEFORE, AFTER), confirmed=True)
    points = (Point("", 1.0, 0.9, False, True), Point(NOISE.edit, 0.2, 0.85, False, False))
    points += (Point(SHARED.edit, 0.0, 0.9, True, True),)
    return Advice("shops", (LEFT,), (closing, weaker), points, "test_accuracy", 0.6, 3, 1, 0, ("a note",))


def report() -> Report:
    return Report({"title": "shops"}, {}, (), (), remedies=(Suggestion("what the audit says"),))


@pytest.fixture
def kept(tmp_path):
    path = tmp_path / "advice.json"
    path.write_text(json.dumps(advice().to_json()), encoding="utf-8")
    return path


def test_it_comes_back_as_it_was(kept):
    assert read_advice(kept) == advice()


def test_that_a_change_closes_is_not_believed(kept):
    tree = json.loads(kept.read_text(encoding="utf-8"))
    tree["remedies"][1] |= {"closes": True, "leak": 0.0}
    tree["verdict"] = "everything is closed for ever"
    kept.write_text(json.dumps(tree), encoding="utf-8")
    again = read_advice(kept)
    assert not again.remedies[1].closes
    assert again.in_words() == "1 change closes every leak that was found"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "must be JSON"),
        ("[]", "must be an object"),
        ('{"schema_version": 1, "further": 2}', "unknown key 'further'"),
        (json.dumps(advice().to_json() | {"schema_version": 9}), "schema_version must be 1; got 9"),
        (json.dumps(advice().to_json() | {"remedies": "none"}), "remedies must be"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path, text, told):
    path = tmp_path / "advice.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=told) as refused:
        read_advice(path)
    assert "\n" not in str(refused.value)


def test_the_page_has_each_change_with_what_it_leaves_and_the_picture():
    page = html.render(report(), advised(advice()))
    assert "1 change closes every leak that was found. Found by a search over 3 audits" in " ".join(page.split())
    assert "gradients = &#34;secret-shared&#34;" in page
    assert "stays: shop learns labels of bank by residual-sign, low: AUC 0.6 (0.5 blindly)" in page
    assert page.count('<circle class="point') == 3
    assert str(front_picture(advice())) in page
    assert "http" not in page.partition("</style>")[2]
    assert (
        page.index("secret-shared") < page.index("What the audit itself suggests") < page.index("what the audit says")
    )


def test_without_advice_the_page_says_how_to_get_it():
    page = html.render(report())
    assert "fedleak advise SCENARIO.toml --json advice.json" in page
    assert 'id="advised"' not in page


def test_a_change_brings_no_markup_along():
    bad = replace(advice(), remedies=(Remedy(replace(NOISE, edit="<script>1</script>"), (), (), (), Cost(None, None)),))
    assert "<script>1" not in html.render(report(), advised(bad))


def test_the_file_of_the_picture_stands_alone():
    drawn = str(front_file(advice()))
    assert drawn.startswith('<svg xmlns="http://www.w3.org/2000/svg" ')
    assert "<style>" in drawn


def test_the_command_puts_it_on_the_page_and_refuses_advice_on_something_else(kept, tmp_path):
    json_format.write(report(), tmp_path / "report.json")
    page = tmp_path / "page.html"
    call = ["report", str(tmp_path), "--advice", str(kept)]
    assert CliRunner().invoke(app, [*call, "--html", str(page)]).exit_code == 0
    assert 'id="advised"' in page.read_text(encoding="utf-8")
    assert "must go with --html" in str(CliRunner().invoke(app, call).exception)
    json_format.write(replace(report(), scenario={"title": "others"}), tmp_path / "report.json")
    refused = CliRunner().invoke(app, [*call, "--html", str(page)]).exception
    assert isinstance(refused, InputError)
    assert 'must be about "others"' in str(refused)
