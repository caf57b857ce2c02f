"""The page: self-contained, inert, and honest about what was not measured."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from sample_report import BANK_LABELS, sample_report

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.finding import Better, ExampleRows, Exhibit, Finding, Mode, Outcome, Score, Severity, Theory
from fedleak.core.report import Remedy, Report, RunSummary
from fedleak.report import html
from fedleak.report.json_format import dumps, loads, redact
from fedleak.report.verdict import statement
from fedleak.report.wording import OUTCOME_MEANING, OUTCOME_WORDS

VOID = {"meta", "br", "input"}
POISON = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """The tags, attributes and text of a page; a tag that is closed wrongly fails."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.chunks: list[str] = []
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("style", "script"):
            self.chunks.append(data)

    @property
    def text(self) -> str:
        """With single ordinary spaces, whatever kind of space the page has."""
        return " ".join(" ".join(self.chunks).split())


def page_of(report: Report) -> Page:
    return Page(html.render(report))


def only(finding: Finding, report: Report | None = None) -> Report:
    return replace(report or sample_report(), findings=(finding,), runs=(), remedies=())


def test_the_verdict_stands_at_the_top() -> None:
    report = sample_report()
    text = page_of(report).text
    top = statement(report)
    for sentence in (top.headline, top.meaning, top.remedy, *top.also, top.tally):
        assert sentence in text
    assert text.index(top.headline) < text.index("What each partner learns")


def test_nothing_is_fetched_and_nothing_runs_but_the_search() -> None:
    source = html.render(sample_report())
    page = Page(source)
    assert re.search(r"https?:|//[a-z]|url\(|@import", source) is None
    assert {"link", "iframe", "object", "embed", "img", "base", "form"}.isdisjoint(page.tags)
    assert page.tags.count("script") == 1
    links = [value for name, value in page.attributes if name in {"href", "src", "xlink:href", "action"}]
    assert links
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)
    assert not any(name.startswith("on") for name, _ in page.attributes)
    script = re.search(r"<script>(.*?)</script>", source, flags=re.DOTALL)
    assert script is not None
    digest = b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    assert ("content", policy) in page.attributes
    assert re.search(r"fetch|XMLHttp|eval|innerHTML|import", script[1]) is None


def test_ids_are_unique_and_links_lead_somewhere() -> None:
    page = page_of(sample_report())
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    targets = [value[1:] for name, value in page.attributes if name == "href" and value.startswith("#")]
    targets += [value for name, value in page.attributes if name == "aria-labelledby"]
    assert targets
    assert set(targets) <= set(ids)


def poisoned_report() -> Report:
    score = Score(POISON, 0.9, 0.5, Better.HIGHER, (0.8, 1.0), 10)
    finding = Finding(
        adversary=(POISON, "b"),
        mode=Mode.ACTIVE,
        attack=POISON,
        secret=Secret(SecretKind.LABELS, POISON),
        defense=None,
        outcome=Outcome.LEAK,
        why=POISON,
        theory=Theory(POISON, (POISON,)),
        severity=Severity.HIGH,
        score=score,
        further_scores=(score,),
        evidence=((POISON, POISON),),
        exhibit=Exhibit(np.array([0.0, 1.0]), np.array([0.0, 1.0])),
    )
    skipped = replace(finding, outcome=Outcome.SKIPPED, score=None, exhibit=None, defense=POISON)
    return Report(
        scenario={"title": POISON, POISON: {POISON: [POISON, {POISON: POISON}]}},
        environment={POISON: POISON, "command": POISON},
        runs=(RunSummary(None, POISON, {POISON: 0.5}, 1.0, (POISON,)), RunSummary(POISON, None, {POISON: 0.5}, 1.0)),
        findings=(finding, skipped),
        remedies=(Remedy(POISON),),
    )


def test_names_with_markup_are_inert() -> None:
    page = page_of(poisoned_report())
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert not any(name.startswith("on") for name, _ in page.attributes)
    harmless = set(page_of(sample_report()).tags)
    assert set(page.tags) <= harmless
    assert page.text.count("<script>alert(1)</script>") > 15


def test_control_characters_are_written_out() -> None:
    finding = replace(sample_report().findings[0], why="a\x00b\x1b[31mc\u202ed")
    source = html.render(only(finding))
    assert r"a\x00b\x1b[31mc\u202ed" in source
    assert not set("\x00\x1b\u202e") & set(source)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_is_shown_with_its_reason(outcome: Outcome) -> None:
    report = sample_report()
    text = page_of(report).text
    shown = [finding for finding in report.findings if finding.outcome is outcome]
    assert shown
    assert OUTCOME_WORDS[outcome] in text
    for finding in shown:
        assert finding.why in text


@pytest.mark.parametrize("outcome", [Outcome.NOT_IDENTIFIABLE, Outcome.UNDETERMINED, Outcome.SKIPPED, Outcome.ERRORED])
def test_what_has_no_score_is_never_a_zero(outcome: Outcome) -> None:
    silent = Finding(("fintech",), Mode.PASSIVE, "probe", BANK_LABELS, None, outcome, "a reason", Theory("unknown", ()))
    bare = Report({}, {}, (), (silent,))
    text = page_of(bare).text
    assert "a reason" in text
    assert "None of these is a zero" in text
    body = text[text.index("What each partner learns") :]
    assert re.search(r"(?<![\d.])0(?![\d.])", body) is None
    assert "severity none" not in body


def test_an_undecided_attack_shows_its_figure_but_no_severity() -> None:
    score = Score("label-accuracy", 0.8, 0.6, Better.HIGHER, (0.7, 0.9), 50)
    finding = replace(
        sample_report().findings[0], outcome=Outcome.UNDETERMINED, severity=Severity.NONE, score=score, why=""
    )
    text = page_of(only(finding)).text
    assert "label accuracy 80 %" in text
    assert "severity none" not in text
    assert OUTCOME_MEANING[Outcome.UNDETERMINED] in text


def test_value_baseline_and_interval_stand_side_by_side() -> None:
    text = page_of(only(sample_report().findings[1])).text
    for words in ("accuracy 81.2 %", "77.8 % to 84.2 %", "62.7 % from prior knowledge alone"):
        assert words in text


def test_theory_stands_beside_the_measurement() -> None:
    text = page_of(sample_report()).text
    for finding in sample_report().findings:
        if finding.outcome in {Outcome.LEAK, Outcome.NO_LEAK, Outcome.NOT_IDENTIFIABLE}:
            for reason in finding.theory.reasons:
                assert reason in text
    assert "Theory says that recovery is impossible. The measurement disagrees" in text
    assert "Theory expects exact recovery. The measurement agrees." in text


def test_defenses_stand_side_by_side_with_the_models_accuracy() -> None:
    source = html.render(sample_report())
    table = source[source.index('aria-label="Findings under each defense"') :]
    table = table[: table.index("</table>")]
    assert table.count('<th scope="col">') == 4
    text = Page(f"<div {table}</table></div></div>".replace("<div aria", "<div><div aria", 1)).text
    assert "the model's test accuracy 96.5 % (62.7 %) 93 % (62.7 %) 96.5 % (62.7 %)" in text
    assert "leak 100 %" in text
    assert "several answers fit no figure" in text


def test_scenario_environment_and_command_are_on_the_page() -> None:
    text = page_of(sample_report()).text
    for words in ("sklearn:breast_cancer", "key bits 2048", "seed 20240611", "worst smoothness", "cipher paillier"):
        assert words in text
    assert "fedleak audit bank-and-fintech.toml --out fedleak-audit" in text


def test_columns_claims_and_certificates_are_on_the_page() -> None:
    text = page_of(redact(sample_report())).text
    assert "3 columns of the secret, one by one" in text
    assert "worst area 94 % 0.2 % 17.2 % 0.998 569" in text
    assert "constant 100 % 0 % 0 % — 569" in text
    assert "what the attack claims recovered, 1,138 cells, 92 % sure" in text
    assert "Proved by the view alone: the scores are the only solution of 144 equations in 30 unknowns" in text


def test_the_run_key_is_on_the_page_unless_it_is_redacted() -> None:
    report = replace(sample_report(), repeats=5)
    assert f"run key {report.run_key} runs behind each finding 5" in page_of(report).text
    assert str(report.run_key) not in page_of(redact(report)).text


def test_a_page_with_true_values_says_so_and_a_redacted_one_has_none() -> None:
    shown = html.render(sample_report())
    bare = html.render(redact(sample_report()))
    assert "Keep this page private." in shown
    assert 'class="exhibit"' in shown
    assert "Keep this page private." not in bare
    assert 'class="exhibit"' not in bare


def with_examples(report: Report) -> Report:
    """The first leak of features, with two of its rows."""
    place = next(i for i, f in enumerate(report.findings) if f.columns and f.exhibit is not None)
    found = report.findings[place]
    assert found.exhibit is not None
    true, guessed = np.array([[1.25, 7.5], [2.5, 8.5]]), np.array([[1.26, np.nan], [2.49, 8.5]])
    rows = ExampleRows(("row 4", "row 90"), ("worst area", "worst smoothness"), true, guessed)
    columns = tuple(replace(column, leaks=column.column != "constant") for column in found.columns)
    shown = replace(found, columns=columns, exhibit=replace(found.exhibit, examples=rows))
    return replace(report, findings=(*report.findings[:place], shown, *report.findings[place + 1 :]))


def test_example_rows_stand_beside_the_worst_columns_and_go_with_redaction() -> None:
    report = with_examples(only(next(f for f in sample_report().findings if f.columns)))
    text = page_of(report).text
    assert "2 examples: what bank made of values of fintech gram-from-partial-scores" in text
    assert "column row 4 row 90" in text
    assert "worst area true 1.25 guess 1.26 true 2.5 guess 2.49" in text
    assert "worst smoothness true 7.5 guess — true 8.5 guess 8.5" in text
    bare = html.render(redact(report))
    assert "example" not in bare.replace("examples-", "").lower().partition("<body>")[2].partition("<script>")[0]
    assert "1.26" not in bare
    assert loads(dumps(report)).findings[0].exhibit.examples.rows == ("row 4", "row 90")  # type: ignore[union-attr]


def test_an_attack_is_found_by_partner_secret_column_and_outcome() -> None:
    page = page_of(sample_report())
    words = [value for name, value in page.attributes if name == "data-words"]
    found = [one for one in words if "worst area" in one]
    assert len(found) == 1
    for word in ("bank", "passive", "gram-from-partial-scores", "fintech's features", "leak", "severity medium"):
        assert word in found[0]


def test_three_changes_stand_open_and_the_others_are_folded() -> None:
    report = replace(sample_report(), remedies=tuple(Remedy(f"change {number}") for number in range(5)))
    source = html.render(replace(report, findings=(), runs=()))
    assert source.index("change 2") < source.index("2 further changes") < source.index("change 3")


def test_a_defense_is_one_change_whatever_it_does_to_each_leak() -> None:
    report = sample_report()
    told = tuple(Remedy(f"large-batch(512) stops leak {number}", "large-batch(512)") for number in range(4))
    source = html.render(replace(report, remedies=told))
    start = source.index('id="advice"')
    first = source[start : source.index("</ol>", start)]
    assert first.count("large-batch(512)") == 1
    assert "stops leak" not in first
    assert source.index("what each defense does to each leak") < source.index("stops leak 3")


def test_an_empty_report_still_makes_a_page() -> None:
    text = page_of(Report({}, {}, (), ())).text
    assert "No attack was tried." in text
    assert "Inconclusive" in text
    assert "Not one attack gave a measured outcome." in text


def test_the_page_is_written_whole(tmp_path: Path) -> None:
    html.write(sample_report(), tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == html.render(sample_report())
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_the_title_is_the_scenarios_title_or_its_protocol() -> None:
    assert html.page_title(sample_report()) == "Bank and fintech"
    assert html.page_title(Report({"protocol": "p"}, {}, (), ())) == "p"
    assert html.page_title(Report({"title": 3}, {}, (), ())) == "federation"


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it, of ``#rrggbb``."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_has_enough_contrast_in_both_schemes(scheme: int) -> None:
    blocks = re.findall(r":root \{(.*?)\}", html.render(sample_report()), flags=re.DOTALL)
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", blocks[scheme]))
    pairs = [(text, ground) for text in ("ink", "faint") for ground in colours if ground.endswith("-soft")]
    pairs += [(text, ground) for text in ("ink", "faint", "link") for ground in ("page", "card", "quiet-soft")]
    pairs += [(tone, f"{tone}-soft") for tone in ("leak", "medium", "low", "safe")]
    pairs += [(tone, "card") for tone in ("leak", "medium", "low")]
    for text, ground in pairs:
        darker, lighter = sorted((luminance(colours[text]), luminance(colours[ground])))
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (text, ground)


def test_the_only_column_of_a_leak_is_not_said_not_to_leak() -> None:
    """Labels are decided by their ranking, not column by column."""
    found = next(one for one in sample_report().findings if one.columns)
    label = replace(found.columns[0], column="label", leaks=False)
    told = page_of(only(replace(found, columns=(label,)))).text
    assert "1 column of the secret, one by one" in told
    assert f"{label.n} yes" in told
    clean = replace(found, columns=(label,), outcome=Outcome.NO_LEAK, severity=Severity.NONE)
    assert f"{label.n} no" in page_of(only(clean)).text
