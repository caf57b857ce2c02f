"""Images, and split points of tree nodes: from a guess and a truth to scores, pictures and a finding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.core.adversary import Index, Secret, SecretKind, Symmetry
from fedleak.core.attack import Attack, Guess, Status
from fedleak.core.errors import FileFormatError
from fedleak.core.finding import Better, Mode, Outcome, Score, Severity, Theory
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.core.report import Report
from fedleak.core.whole.truth import SecretValues, Truth
from fedleak.metrics import metrics_for
from fedleak.metrics.alignment import aligned, answers_of
from fedleak.metrics.cell_metrics import recovered_share
from fedleak.metrics.column_results import column_results
from fedleak.metrics.interval_score import IntervalScore
from fedleak.metrics.metric import Answered
from fedleak.report import html, json_format
from fedleak.report.pictures import exhibit_words
from fedleak.storage.capture_and_truth import load_truth, save_truth
from fedleak.storage.view_and_guess import guess_from_bytes, guess_to_bytes
from fedleak.trial.attempt import Attempt, scored
from fedleak.trial.decide import Question, decide
from fedleak.trial.exhibits import MAX_EXHIBIT_SIDE, exhibit_of

IMAGES = Secret(SecretKind.IMAGES, "clinic")
NODES = Secret(SecretKind.THRESHOLDS, "clinic")
UNIT = np.array([0.0, 1.0])


class Peeking(Attack):
    name = "peeking"
    produces = SecretKind.IMAGES

    def run(self, view, *, rng):
        raise NotImplementedError

    @classmethod
    def predict(cls, facts):
        raise NotImplementedError


class Matching(Peeking):
    name = "matching"
    up_to = frozenset({Symmetry.ROW_ORDER})


class Splitting(Peeking):
    name = "splitting"
    produces = SecretKind.THRESHOLDS


def pictures(n: int = 5, *shape: int) -> np.ndarray:
    return np.random.default_rng(7).random((n, *(shape or (4, 6, 3))))


def image_truth(pixels: np.ndarray, ranges: np.ndarray = UNIT) -> SecretValues:
    return SecretValues(np.arange(10, 10 + len(pixels)), (), pixels, ranges)


def image_guess(pixels: np.ndarray, **options) -> Guess:
    return Guess(IMAGES, Status.PARTIAL, np.arange(10, 10 + len(pixels)), pixels, **options)


def all_scores(answered: Answered) -> dict[str, Score]:
    found = [metric.score(answered, rng=np.random.default_rng(0)) for metric in metrics_for(answered.guess.secret.kind)]
    return {score.metric: score for score in found if score is not None}


def finding_of(kind, secret, guess, truth):
    made = Attempt(kind, ("bank",), secret, Knowledge(), guess, 1.0)
    question = Question(("bank",), Mode.PASSIVE, kind.name, secret, None, Theory("unknown", ()))
    return decide(question, [scored(made, Truth({secret: truth}), np.random.default_rng(0))])


def test_images_score_as_the_same_cells_in_a_table_do():
    true = pictures()
    noisy = np.where(np.random.default_rng(1).random(true.shape) < 0.3, true, 0.5)
    width = true[0].size
    flat = SecretValues(
        np.arange(10, 15), tuple(map(str, range(width))), true.reshape(5, -1), np.broadcast_to(UNIT, (width, 2))
    )
    table = replace(image_guess(noisy), secret=Secret(SecretKind.FEATURES, "clinic"), values=noisy.reshape(5, -1))
    known = KnownCells("clinic", np.array([11, 14]), np.array([3, 70]), np.zeros(2))
    knowledge = Knowledge(cells=(known,))
    shaped = all_scores(Answered(image_guess(noisy), image_truth(true), knowledge))
    of_table = all_scores(Answered(table, flat, knowledge))
    assert {name: score for name, score in shaped.items() if name in of_table} == {
        name: score for name, score in of_table.items() if name in shaped
    }
    assert replace(shaped["mse"], metric="mse-per-feature") == of_table["mse-per-feature"]
    of_pictures = {"mse", "psnr", "psnr-each", "ssim", "exact-pixels"}
    assert set(shaped) == {"cells-recovered", "mean-error"} | of_pictures
    assert shaped["mean-error"].n == true.size - 2


def test_every_symmetry_takes_rows_of_any_shape():
    true = pictures(6, 2, 2)
    order = np.random.default_rng(2).permutation(6)
    assert np.array_equal(aligned(true[order], true, frozenset({Symmetry.ROW_ORDER})), true)
    assert np.array_equal(aligned(-true, true, frozenset({Symmetry.GLOBAL_SIGN})), true)
    turn, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((4, 4)))
    turned = (true.reshape(6, 4) @ turn).reshape(true.shape)
    assert aligned(turned, true, frozenset({Symmetry.ROTATION})) == pytest.approx(true)


def test_the_ranges_of_images_may_be_the_same_for_all_pixels():
    true = pictures()
    per_pixel = np.broadcast_to(UNIT, (*true.shape[1:], 2))
    same = [recovered_share(Answered(image_guess(true), image_truth(true, r), Knowledge())) for r in (UNIT, per_pixel)]
    assert same == [1.0, 1.0]
    for wrong in (np.zeros(3), np.zeros((5, 2)), np.zeros((6, 3, 1)), np.zeros((1, 4, 6, 3, 2)), np.zeros(())):
        with pytest.raises(ValueError, match=r"ranges must be \(4, 6, 3, 2\)"):
            image_truth(true, wrong)


def test_a_table_names_its_columns_and_images_have_none():
    with pytest.raises(ValueError, match="no columns"):
        SecretValues(np.arange(2), ("a",), np.zeros((2, 1, 1)), UNIT)
    with pytest.raises(ValueError, match=r"must be \(2, 1\)"):
        SecretValues(np.arange(2), ("a",), np.zeros((2, 3)), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="with an id a row"):
        Guess(IMAGES, Status.PARTIAL, np.arange(2), np.zeros(2))
    with pytest.raises(ValueError, match=r"intervals must have shape \(2, 3, 3, 2\)"):
        Guess(IMAGES, Status.PARTIAL, np.arange(2), np.zeros((2, 3, 3)), intervals=np.zeros((2, 3, 2)))


def test_a_guess_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"cells of shape \(4, 6, 3\) a row; got \(6, 4, 3\)"):
        answers_of(image_guess(pictures(5, 6, 4, 3)), image_truth(pictures()))


def test_an_exhibit_of_images_has_whole_ones_and_the_report_draws_them():
    true = pictures(9, 8, 8)
    guessed = true + 0.001
    guessed[4:6] = np.nan
    found = finding_of(Peeking, IMAGES, image_guess(guessed), image_truth(true))
    assert found.outcome is Outcome.LEAK
    assert found.columns == ()
    assert np.array_equal(found.exhibit.true, true[[0, 1, 2, 3, 6, 7, 8]]), "told images alone"
    assert exhibit_words(found.exhibit) == "7 images"
    report = Report({"title": "pictures"}, {}, (), (found,))
    page = html.render(report)
    assert page.count('<image class="pixels"') == 14
    again = json_format.loads(json_format.dumps(report)).findings[0]
    assert np.array_equal(again.exhibit.guessed, found.exhibit.guessed)
    assert html.render(json_format.loads(json_format.dumps(report))).count('<image class="pixels"') == 14


def test_of_many_images_some_are_exhibited_spread_evenly():
    true = pictures(40, 4, 4)
    found = exhibit_of(Answered(image_guess(true), image_truth(true), Knowledge()))
    assert np.array_equal(found.true, true[[0, 5, 11, 16, 22, 27, 33, 39]])


@pytest.mark.parametrize("kind", [Peeking, Matching])
@pytest.mark.parametrize("n_pictures", [1, 3])
def test_a_few_pictures_leak_where_they_are_seen_and_not_where_they_are_others(kind, n_pictures):
    true, others = pictures(2 * n_pictures, 16, 16)[:n_pictures], pictures(2 * n_pictures, 16, 16)[n_pictures:]
    blurred = np.clip(true + 0.03 * np.random.default_rng(1).standard_normal(true.shape), 0, 1)
    assert finding_of(kind, IMAGES, image_guess(blurred), image_truth(true)).outcome is Outcome.LEAK
    assert finding_of(kind, IMAGES, image_guess(blurred), image_truth(true)).severity is Severity.HIGH
    for nothing in (others, np.full_like(true, 0.45), np.zeros_like(true)):
        assert finding_of(kind, IMAGES, image_guess(nothing), image_truth(true)).outcome is Outcome.NO_LEAK


def test_large_images_in_other_units_are_exhibited_small_and_from_0_to_1():
    true = 255.0 * pictures(2, 150, 130, 3)
    made = exhibit_of(Answered(image_guess(true), image_truth(true, 255.0 * UNIT), Knowledge()))
    assert made.true.shape == (2, 50, 44, 3)
    assert max(made.true.shape[1:3]) <= MAX_EXHIBIT_SIDE
    assert made.true.min() >= 0
    assert 0.9 < made.true.max() <= 1
    assert made.true[0, 1, 1] == pytest.approx(true[0, 3, 3] / 255.0)


def test_cells_of_more_axes_than_an_image_are_exhibited_one_by_one():
    true = pictures(2, 2, 2, 2, 2)
    assert exhibit_of(Answered(image_guess(true), image_truth(true), Knowledge())).true.shape == (32,)


def node_truth() -> SecretValues:
    ids = np.array([[0, 1], [0, 2], [1, 1], [1, 2]])
    return SecretValues(ids, ("threshold",), np.array([[0.0], [10.0], [20.0], [30.0]]), np.array([[0.0, 40.0]]))


def test_a_secret_of_nodes_is_matched_by_tree_and_node():
    swapped = Guess(
        NODES, Status.PARTIAL, np.array([[1, 2], [1, 1], [0, 1], [3, 2]]), np.array([[30.0], [20.0], [0.1], [10.0]])
    )
    (cells,) = answers_of(swapped, node_truth())
    assert cells.ravel().tolist() == pytest.approx([0.1, np.nan, 20.0, 30.0], nan_ok=True)
    found = finding_of(Splitting, NODES, swapped, node_truth())
    assert found.cells_recovered == 0.75
    assert found.columns[0].column == "threshold"
    assert found.columns[0].cells_recovered == 0.75
    exact = replace(swapped, ids=node_truth().ids, values=node_truth().values)
    assert finding_of(Splitting, NODES, exact, node_truth()).severity is Severity.HIGH


def test_intervals_of_nodes_are_matched_by_whole_ids():
    truth = node_truth()
    guess = Guess(
        NODES,
        Status.PARTIAL,
        truth.ids[::-1],
        truth.values[::-1],
        intervals=np.stack([truth.values[::-1], truth.values[::-1] + 4.0], axis=-1),
    )
    score = IntervalScore().score(Answered(guess, truth, Knowledge()), rng=np.random.default_rng(0))
    assert score is not None
    assert score.value == pytest.approx(0.1)


@pytest.mark.parametrize("kind", SecretKind)
def test_ids_have_the_parts_that_the_secret_names(kind):
    index = kind.indexed_by
    right, wrong = index.shape_of(2), (2, 2) if len(index.parts) == 1 else (2,)
    secret, values = Secret(kind, "clinic"), np.zeros((2, 1))
    Guess(secret, Status.PARTIAL, np.zeros(right, dtype=np.int64), values)
    with pytest.raises(ValueError, match=f"the {' and '.join(index.parts)} of each of the 2 rows"):
        Guess(secret, Status.PARTIAL, np.zeros(wrong, dtype=np.int64), values)
    with pytest.raises(ValueError, match=f"the truth about {kind} of clinic: ids must be"):
        Truth({secret: SecretValues(np.zeros(wrong, dtype=np.int64), ("c",), values, np.zeros((1, 2)))})


def test_thresholds_are_indexed_by_tree_and_node():
    assert SecretKind.THRESHOLDS.indexed_by is Index.TREE_AND_NODE
    assert SecretKind.RESIDUALS.indexed_by is Index.ROUND_AND_ROW
    assert SecretKind.FEATURES.indexed_by is Index.ROW


def test_a_computed_secret_with_the_wrong_ids_is_refused_when_it_is_asked_for():
    wrong = SecretValues(np.arange(2), ("c",), np.zeros((2, 1)), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="the truth about thresholds of clinic"):
        Truth({NODES: lambda: wrong}).of(NODES)


def test_both_come_back_from_disk(tmp_path):
    truth = Truth({NODES: node_truth(), IMAGES: image_truth(pictures())})
    save_truth(truth, tmp_path / "truth")
    again = load_truth(tmp_path / "truth")
    assert np.array_equal(again.of(IMAGES).values, truth.of(IMAGES).values)
    assert np.array_equal(again.of(NODES).ids, truth.of(NODES).ids)
    guess = image_guess(pictures(), intervals=np.zeros((5, 4, 6, 3, 2)))
    assert guess_to_bytes(guess_from_bytes(guess_to_bytes(guess))) == guess_to_bytes(guess)


def test_a_file_with_the_wrong_ids_is_a_file_that_cannot_be_read(tmp_path):
    residuals = Secret(SecretKind.RESIDUALS, "clinic")
    values = SecretValues(np.arange(2), ("c",), np.zeros((2, 1)), np.zeros((1, 2)))
    save_truth(Truth({Secret(SecretKind.LABELS, "clinic"): values}), tmp_path / "truth")
    for name in ("header.json", "index.jsonl"):
        text = (tmp_path / "truth" / name).read_text()
        (tmp_path / "truth" / name).write_text(text.replace("labels", "residuals"))
    with pytest.raises(FileFormatError, match=f"the truth about {residuals}: ids must be"):
        load_truth(tmp_path / "truth")


def test_known_pixels_are_counted_in_reading_order():
    known = KnownCells("clinic", np.array([11]), np.array([2 * 6 * 3 + 5 * 3 + 1]), np.array([0.5]))
    mask = Knowledge(cells=(known,)).cell_mask("clinic", np.arange(10, 15), (4, 6, 3))
    assert np.argwhere(mask).tolist() == [[1, 2, 5, 1]]


def test_a_finding_has_the_claim_and_the_means_of_its_columns_over_runs():
    truth = node_truth()
    certain = Guess(NODES, Status.RECOVERED, truth.ids, truth.values, confidence=np.array([[1.0], [0.5], [0.5], [1.0]]))
    proved = replace(certain, certificate="the solution is unique")
    wrong = replace(certain, values=truth.values[::-1].copy())
    rng = np.random.default_rng(0)
    attempts = [
        scored(Attempt(Splitting, ("bank",), NODES, Knowledge(), guess, 1.0), Truth({NODES: truth}), rng)
        for guess in (certain, wrong, proved)
    ]
    question = Question(("bank",), Mode.PASSIVE, "splitting", NODES, None, Theory("unknown", ()))
    found = decide(question, attempts[:2])
    assert (found.claim.status, found.claim.n_cells, found.claim.confidence) == ("recovered", 4, 0.75)
    assert decide(question, attempts[2:]).certificate == "the solution is unique"
    first, second = (attempt.columns[0] for attempt in attempts[:2])
    (column,) = found.columns
    assert (column.column, column.n, column.cells_recovered) == ("threshold", 8, 0.5)
    assert column.error == (first.error + second.error) / 2
    assert column.correlation == pytest.approx(0.0)
    assert column_results(Answered(certain, truth, Knowledge()))[0] == first
    assert found.score.better is Better.HIGHER


def test_an_answer_without_a_score_has_a_claim_too():
    silent = Guess(NODES, Status.NOT_IDENTIFIABLE, np.zeros((0, 2), dtype=np.int64), np.zeros((0, 1)), why="rank 0")
    found = finding_of(Splitting, NODES, silent, node_truth())
    assert found.outcome is Outcome.NOT_IDENTIFIABLE
    assert (found.claim.status, found.claim.n_cells, found.claim.confidence) == ("not_identifiable", 0, None)
