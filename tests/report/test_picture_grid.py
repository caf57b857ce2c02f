"""What several attacks made of the same pictures, in one grid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sample_report import sample_report

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.finding import Exhibit, Finding, Mode, Outcome, Theory
from fedleak.report import html
from fedleak.report.json_format import redact
from fedleak.report.picture_grid import GAP, SMALLEST_SIDE, picture_grids
from fedleak.report.pictures import SIGNATURE

TRUE = np.linspace(0, 1, 3 * 4 * 4 * 3).reshape(3, 4, 4, 3)


def finding(attack: str, guessed, true=TRUE, defense=None) -> Finding:
    return Finding(
        adversary=("server",),
        mode=Mode.PASSIVE,
        attack=attack,
        secret=Secret(SecretKind.IMAGES, "clinic"),
        defense=defense,
        outcome=Outcome.LEAK,
        why="",
        theory=Theory("unknown", ()),
        exhibit=Exhibit(true, guessed),
    )


def report_of(*findings: Finding):
    return replace(sample_report(), findings=findings)


SOLVED, RIVAL = finding("solved", TRUE), finding("rival", np.full(TRUE.shape, np.nan))


def test_attacks_on_the_same_pictures_stand_under_one_another() -> None:
    (grid,) = picture_grids(report_of(SOLVED, RIVAL))
    assert list(grid.rows) == ["true", "solved", "rival"]
    assert np.array_equal(grid.rows["true"], grid.rows["solved"])
    assert grid.svg.count("<image") == 9


def test_the_png_holds_every_picture_at_its_place() -> None:
    (grid,) = picture_grids(report_of(SOLVED, RIVAL))
    side = SMALLEST_SIDE
    assert grid.pixels.shape == (3 * side + 2 * GAP, 3 * side + 2 * GAP, 3)
    step = side + GAP
    enlarged = TRUE[1].repeat(side // 4, axis=0).repeat(side // 4, axis=1)
    for row in (0, 1):
        assert np.array_equal(grid.pixels[row * step : row * step + side, step : step + side], enlarged)
    assert np.isnan(grid.pixels[2 * step :, :side]).all(), "what is not guessed is drawn grey"
    assert (grid.pixels[side : side + GAP] == 1).all()
    assert grid.png.startswith(SIGNATURE)


def test_of_attacks_that_show_different_rows_those_in_common_are_drawn() -> None:
    some = finding("rival", TRUE[[2, 1]] / 2, TRUE[[2, 1]])
    (grid,) = picture_grids(report_of(SOLVED, some))
    assert np.array_equal(grid.rows["true"], TRUE[1:])
    assert np.array_equal(grid.rows["rival"], TRUE[1:] / 2)


def test_other_pictures_another_defense_and_a_single_attack_make_no_grid() -> None:
    elsewhere = finding("rival", TRUE, TRUE / 2)
    assert picture_grids(report_of(SOLVED, elsewhere)) == ()
    assert picture_grids(report_of(SOLVED, replace(RIVAL, defense="noise"))) == ()
    assert picture_grids(report_of(SOLVED)) == ()


def test_the_page_has_the_grid_and_a_redacted_one_has_none() -> None:
    report = report_of(SOLVED, RIVAL)
    page = html.render(report)
    assert "Attacks side by side" in page
    assert 'download="pictures-1.png"' in page
    assert "Attacks side by side" not in html.render(redact(report))
