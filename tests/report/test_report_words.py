"""The sentences: who learns what, what a defense changed, and whether theory agrees."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_report import BANK_LABELS, FINTECH_FEATURES, LARGE_BATCH, NOISE, sample_report

from fedleak.core.adversary import JOINT, Secret, SecretKind, together
from fedleak.core.attack import Verdict
from fedleak.core.finding import Better, Finding, Mode, Outcome, Score, Severity, Theory
from fedleak.core.report import Report, RunSummary
from fedleak.report.agreement import Agreement, agreement, agreement_words
from fedleak.report.cases import opponents, silences, worst_leak
from fedleak.report.defense_effect import best_effect, effects
from fedleak.report.matrix import SILENT
from fedleak.report.model_beside_guess import main_utility
from fedleak.report.numbers import figure, metric_words
from fedleak.report.verdict import statement
from fedleak.report.wording import OUTCOME_MEANING, OUTCOME_WORDS, leak_sentence, owned, possessive


def leak(**changes: object) -> Finding:
    return replace(sample_report().findings[0], **changes)  # type: ignore[arg-type]


AREA = Score("auc", 0.99, 0.5, Better.HIGHER, (0.98, 0.995), 1000)
ACCURATE = Score("label-accuracy", 0.97, 0.627, Better.HIGHER, (0.96, 0.98), 1000)
RARE = Score("precision-among-surest", 0.8, 0.05, Better.HIGHER, (0.7, 0.9), 50)


def test_every_kind_has_its_words() -> None:
    assert len({kind.words for kind in SecretKind}) == len({kind.consequence for kind in SecretKind}) == len(SecretKind)
    assert set(OUTCOME_WORDS) == set(OUTCOME_MEANING) == set(Outcome)


@pytest.mark.parametrize(
    ("finding", "sentence"),
    [
        (leak(), "fintech recovers 100 % of bank's labels (62.7 % from prior knowledge alone)"),
        (
            leak(score=Score("accuracy", 0.7, 0.627, Better.HIGHER, (0.66, 0.74), 9), defense="noise"),
            "fintech gets 70 % of bank's labels right (62.7 % from prior knowledge alone), in spite of noise",
        ),
        (
            leak(secret=FINTECH_FEATURES, adversary=("bank", "arbiter"), score=None, cells_recovered=0.97),
            "bank and arbiter together recover 97 % of fintech's features to within 1 % of their range",
        ),
        (
            leak(
                secret=FINTECH_FEATURES,
                mode=Mode.ACTIVE,
                score=Score("mse", 0.01, 0.08, Better.LOWER, (0.0, 0.02), 9),
                cells_recovered=0.1,
            ),
            "fintech narrows down fintech's features: MSE 0.01, against 0.08 from prior knowledge alone; "
            "10 % of the cells to within 1 % of their range, by deviating from the protocol",
        ),
        (
            leak(
                secret=FINTECH_FEATURES,
                score=Score("cells-recovered", 0.3, 0.04, Better.HIGHER, (0.2, 0.4), 9),
                cells_recovered=0.3,
            ),
            "fintech narrows down fintech's features: cells recovered 30 %, against 4 % from prior knowledge alone",
        ),
        (
            leak(
                secret=FINTECH_FEATURES,
                score=Score("cells-recovered", 0.93, 0.04, Better.HIGHER, (0.9, 0.96), 9),
                cells_recovered=0.93,
            ),
            "fintech recovers 93 % of fintech's features to within 1 % of their range (4 % from prior knowledge alone)",
        ),
        (  # 2 % were computed, the other hits are what a guess fills in
            leak(
                secret=FINTECH_FEATURES,
                score=Score("cells-recovered", 0.72, 0.71, Better.HIGHER, (0.7, 0.74), 9),
                cells_recovered=0.02,
            ),
            "fintech recovers 2 % of fintech's features to within 1 % of their range",
        ),
        (
            leak(score=AREA, further_scores=(ACCURATE, RARE)),
            "fintech recovers 97 % of bank's labels (62.7 % from prior knowledge alone)",
        ),
        (
            leak(score=AREA, further_scores=(replace(ACCURATE, value=0.66, baseline=0.95), RARE)),
            "fintech tells bank's labels apart: of two rows with different labels, the right one is picked 99 % of the "
            "time (50 % by chance)",
        ),
        (leak(score=None), "fintech narrows down bank's labels"),
        (
            leak(secret=Secret(SecretKind.IMAGES, "clinic"), score=Score("psnr", 40, 8, Better.HIGHER, (39, 41), 9)),
            "fintech narrows down clinic's images: PSNR 40 dB, against 8 dB from prior knowledge alone",
        ),
    ],
)
def test_a_leak_in_one_sentence(finding: Finding, sentence: str) -> None:
    assert leak_sentence(finding) == sentence


def test_the_worst_leak_is_the_gravest_and_rather_the_undefended_one() -> None:
    low, high = leak(severity=Severity.LOW), leak(severity=Severity.HIGH, defense="noise")
    assert worst_leak((low, high)) is high
    bare = leak(severity=Severity.HIGH)
    assert worst_leak((low, high, bare)) is bare
    assert worst_leak((leak(outcome=Outcome.SKIPPED),)) is None


def test_the_statement_covers_the_other_secrets_once_each() -> None:
    top = statement(sample_report())
    assert [line.split(" of ")[0] for line in top.also] == [
        "bank recovers >99.9 %",
        "bank and arbiter together get 89.3 %",
        "bank gets 71.3 %",
        "bank recovers 3,414 cells",
    ]
    assert top.tally.startswith(
        "14 findings: 6 leaks (3 high, 2 medium, 1 low), 1 without a leak, 1 proved by the transcript alone, "
        "6 without an answer"
    )


@pytest.mark.parametrize(
    ("outcomes", "level", "headline"),
    [
        ((), "Inconclusive", "No attack was tried."),
        ((Outcome.SKIPPED, Outcome.ERRORED, Outcome.UNDETERMINED), "Inconclusive", "No attack gave an answer."),
        ((Outcome.NOT_IDENTIFIABLE,), "Inconclusive", "Several answers fit what each adversary saw"),
        ((Outcome.NO_LEAK,), "No leak found", "The one attack that was measured did no better"),
        (
            (Outcome.NO_LEAK, Outcome.NO_LEAK, Outcome.SKIPPED),
            "No leak found",
            "None of the 2 attacks that were measured",
        ),
    ],
)
def test_no_leak_is_never_called_safe(outcomes: tuple[Outcome, ...], level: str, headline: str) -> None:
    unsure = Theory("unknown", ())
    findings = tuple(leak(outcome=outcome, severity=Severity.NONE, theory=unsure) for outcome in outcomes)
    top = statement(replace(sample_report(), findings=findings))
    assert top.level == level
    assert top.headline.startswith(headline)
    assert "safe" not in top.headline


def test_secrets_behind_which_no_figure_stands_are_named_beside_a_clean_verdict() -> None:
    clean = leak(outcome=Outcome.NO_LEAK, severity=Severity.NONE, theory=Theory("unknown", ()))
    other = replace(clean, secret=FINTECH_FEATURES, outcome=Outcome.NOT_IDENTIFIABLE, score=None)
    skipped = replace(other, secret=Secret(SecretKind.GRAM, "bank"), outcome=Outcome.SKIPPED)
    top = statement(replace(sample_report(), findings=(clean, other, skipped)))
    assert top.level == "No leak found"
    assert top.meaning == "Nothing was measured of columns of fintech and likeness of records of bank."
    assert top.tone == "unmeasured"
    whole = statement(replace(sample_report(), findings=(clean,)))
    assert (whole.level, whole.tone, whole.meaning) == ("No leak found", "none", "")


def test_a_silence_says_why() -> None:
    skipped = leak(outcome=Outcome.SKIPPED, severity=Severity.NONE, score=None, why="nobody sees a gradient")
    longer = replace(skipped, attack="other", why="nobody sees a gradient, or a weight")
    top = statement(replace(sample_report(), findings=(longer, skipped)))
    assert (top.headline, top.meaning) == ("No attack gave an answer.", "Why: nobody sees a gradient.")
    ended = statement(replace(sample_report(), findings=(longer, skipped), interrupted=True))
    assert ended.meaning == "Why: it was ended before any attack had an answer."


def test_no_words_that_mean_something_else_to_a_data_protection_officer() -> None:
    """People are identifiable, and are singled out: of answers to equations neither is said."""
    words = [*OUTCOME_WORDS.values(), *OUTCOME_MEANING.values(), *SILENT.values()]
    assert not [one for one in words if "identif" in one or "singl" in one or "anonym" in one]


def test_the_remedy_names_what_helps_or_says_that_nothing_does() -> None:
    report = sample_report()
    assert statement(report).remedy.startswith(f"{LARGE_BATCH} stops 1 of the 2 leaks")
    alone = replace(report, findings=report.findings[:1], runs=report.runs[:1])
    assert "No defense was tried" in statement(alone).remedy
    useless = replace(alone, findings=(leak(), leak(defense="hope")))
    assert statement(useless).remedy == "No defense that was tried (hope) stops or weakens a leak."


def test_a_defense_that_leaves_another_way_to_the_secret_is_not_praised_for_it() -> None:
    detour, weak = leak(attack="detour"), leak(severity=Severity.LOW)
    stops_one = (
        leak(outcome=Outcome.NO_LEAK, severity=Severity.NONE, defense="half"),
        replace(detour, defense="half"),
    )
    report = replace(sample_report(), findings=(leak(), detour, *stops_one), runs=())
    assert statement(report).remedy == "No defense that was tried (half) stops or weakens a leak."
    stops_both = tuple(
        replace(f, outcome=Outcome.NO_LEAK, severity=Severity.NONE, defense="full") for f in (weak, detour)
    )
    assert statement(replace(report, findings=(*report.findings, *stops_both))).remedy == (
        "full stops the one leak that it was tried on."
    )


def test_what_belongs_to_nobody_in_particular_is_said_so() -> None:
    finding = leak(secret=Secret(SecretKind.RESIDUALS, JOINT), cells_recovered=1.0, score=None)
    assert leak_sentence(finding) == "fintech recovers 100 % of the residuals to within 1 % of their range"
    assert JOINT not in " ".join(
        (statement(replace(sample_report(), findings=(finding,))).meaning, owned(finding.secret))
    )


def test_what_each_defense_changed() -> None:
    by_name = {effect.defense: effect for effect in effects(sample_report())}
    noise, batch = by_name[NOISE], by_name[LARGE_BATCH]
    assert (noise.n_tried, noise.n_stopped, noise.n_weakened, noise.n_unanswered) == (2, 0, 2, 0)
    assert (batch.n_tried, batch.n_stopped, batch.n_weakened, batch.n_unanswered) == (2, 1, 0, 1)
    assert "the model's test accuracy goes from 96.5 % to 93 % (62.7 % blindly)" in noise.words()
    assert "1 gave no answer, which is not a success" in batch.words()
    assert "the model's test accuracy stays at 96.5 %" in batch.words()
    best = best_effect(sample_report(), sample_report().findings[0])
    assert best is not None
    assert best.defense == LARGE_BATCH


def test_a_leak_that_only_a_defense_opens_is_told() -> None:
    before = leak(outcome=Outcome.NO_LEAK, severity=Severity.NONE)
    (effect,) = effects(replace(sample_report(), findings=(before, leak(defense="odd")), runs=()))
    assert effect.n_new == 1
    assert not effect.helps
    assert "1 appeared that had not been there before" in effect.words()


def test_the_model_is_judged_on_rows_that_it_has_not_seen() -> None:
    assert main_utility(RunSummary(None, None, {"train_accuracy": 1.0, "test_accuracy": 0.8}, 1.0)) == "test_accuracy"
    assert main_utility(RunSummary(None, None, {"auc": 1.0}, 1.0)) == "auc"
    assert main_utility(RunSummary(None, None, {}, 1.0)) is None


def test_a_deviating_run_does_not_stand_for_the_model() -> None:
    runs = (
        RunSummary(None, "cheat", {"accuracy": 0.1}, 1.0),
        RunSummary(None, None, {"accuracy": 0.9}, 1.0),
        RunSummary("noise", None, {"accuracy": 0.8}, 1.0),
    )
    (effect,) = effects(Report({}, {}, runs, ()))
    assert effect.utility is not None
    assert (effect.utility.without, effect.utility.with_defense) == (0.9, 0.8)


@pytest.mark.parametrize(
    ("verdict", "outcome", "cells", "expected"),
    [
        (Verdict.EXACT, Outcome.LEAK, 1.0, Agreement.AGREES),
        (Verdict.EXACT, Outcome.LEAK, None, Agreement.AGREES),
        (Verdict.EXACT, Outcome.LEAK, 0.5, Agreement.FALLS_SHORT),
        (Verdict.EXACT, Outcome.NO_LEAK, None, Agreement.DISAGREES),
        (Verdict.EXACT, Outcome.NOT_IDENTIFIABLE, None, Agreement.DISAGREES),
        (Verdict.PARTIAL, Outcome.LEAK, 0.5, Agreement.AGREES),
        (Verdict.PARTIAL, Outcome.NO_LEAK, None, Agreement.DISAGREES),
        (Verdict.IMPOSSIBLE, Outcome.LEAK, 0.5, Agreement.DISAGREES),
        (Verdict.IMPOSSIBLE, Outcome.NO_LEAK, None, Agreement.AGREES),
        (Verdict.IMPOSSIBLE, Outcome.NOT_IDENTIFIABLE, None, Agreement.AGREES),
        (Verdict.UNKNOWN, Outcome.LEAK, 1.0, Agreement.NO_PREDICTION),
        (Verdict.EXACT, Outcome.SKIPPED, None, Agreement.NO_MEASUREMENT),
        (Verdict.EXACT, Outcome.ERRORED, None, Agreement.NO_MEASUREMENT),
        (Verdict.IMPOSSIBLE, Outcome.UNDETERMINED, None, Agreement.NO_MEASUREMENT),
    ],
)
def test_theory_against_measurement(
    verdict: Verdict, outcome: Outcome, cells: float | None, expected: Agreement
) -> None:
    finding = leak(
        theory=Theory(verdict.value, ()), outcome=outcome, cells_recovered=cells, score=None, secret=FINTECH_FEATURES
    )
    assert agreement(finding) is expected
    said = agreement_words(finding)
    assert ("agrees." in said) == (expected is Agreement.AGREES)
    assert ("disagrees:" in said) == (expected is Agreement.DISAGREES)


def test_cases_put_the_undefended_finding_first_and_the_worst_case_first() -> None:
    report = sample_report()
    groups = opponents(reversed(report.findings))
    assert {(group.names, group.mode) for group in groups} == {
        (("fintech",), Mode.PASSIVE),
        (("bank",), Mode.PASSIVE),
        (("bank",), Mode.ACTIVE),
        (("bank", "arbiter"), Mode.PASSIVE),
    }
    assert sum(len(group.findings) for group in groups) == len(report.findings)
    for group in groups:
        assert [case.worst for case in group.cases] == sorted((case.worst for case in group.cases), reverse=True)
        for case in group.cases:
            assert case.findings[0].defense is None


def test_every_finding_without_a_figure_is_in_one_silence() -> None:
    findings = sample_report().findings
    silent = [finding for group in silences(findings) for finding in group.findings]
    expected = [f for f in findings if f.outcome not in {Outcome.LEAK, Outcome.NO_LEAK} and not f.is_proved]
    assert sorted(map(id, silent)) == sorted(map(id, expected))


def test_labels_are_scored_by_their_hit_rate_not_their_cells() -> None:
    finding = leak(cells_recovered=0.2)
    assert finding.secret == BANK_LABELS
    assert "100 %" in leak_sentence(finding)


def test_labels_that_are_ranked_well_and_guessed_badly_are_not_called_disclosed() -> None:
    ranked = leak(score=AREA, further_scores=(replace(ACCURATE, value=0.94, baseline=0.95),))
    said = statement(replace(sample_report(), findings=(ranked,)))
    assert "Not all is disclosed" in said.meaning
    assert agreement(replace(ranked, theory=Theory("exact", ("so",)))) is Agreement.FALLS_SHORT


@pytest.mark.parametrize(
    ("metric", "value", "words"),
    [
        ("auc", 0.97, "AUC 0.97"),
        ("auc", 0.99996, "AUC >0.999"),
        ("auc", 1.0, "AUC 1"),
        ("balanced-accuracy", 0.5, "balanced accuracy 50 %"),
        ("true-positive-rate-at-1-percent", 0.25, "true positive rate at 1 % false positives 25 %"),
    ],
)
def test_figures_of_labels_in_words(metric: str, value: float, words: str) -> None:
    assert f"{metric_words(metric)} {figure(metric, value)}" == words


def test_many_parties_whose_records_nobody_tells_apart_are_counted():
    few = Secret(SecretKind.RECORDS, together(["clinic", "lab"]))
    assert (owned(few), possessive(few)) == ("records of clinic+lab", "clinic+lab's records")
    many = Secret(SecretKind.RECORDS, together([f"p{number}" for number in range(1, 51)]))
    assert owned(many) == possessive(many) == "records of 50 parties together (p1 to p50)"
