"""The pictures: marks where the numbers are, titles for those who do not see them, valid PNG."""

from __future__ import annotations

import re
import struct
import zlib
from base64 import b64decode
from math import nan
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sample_report import sample_report

from fedleak.core.finding import Better, Exhibit, Score
from fedleak.report.pictures import (
    BAR_MARGIN,
    BAR_WIDTH,
    INSET,
    LEFT,
    MAX_POINTS,
    SIDE,
    TOP,
    class_counts,
    data_uri,
    exhibit_picture,
    exhibit_words,
    image_pairs,
    scatter,
    score_bar,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


def drawn(markup: str) -> ET.Element:
    """The picture as a tree; fails where it is not well-formed or has no title."""
    svg = ET.fromstring(markup)
    title = svg.find("title")
    assert title is not None
    assert title.text
    assert svg.get("aria-label") == title.text
    assert svg.get("role") == "img"
    return svg


def of_class(svg: ET.Element, name: str) -> list[ET.Element]:
    return [element for element in svg.iter() if name in element.get("class", "").split()]


def test_the_bar_runs_from_the_baseline_to_the_value() -> None:
    svg = drawn(score_bar(Score("accuracy", 0.75, 0.5, Better.HIGHER, (0.7, 0.8), 10), leaks=True))
    span = BAR_WIDTH - 2 * BAR_MARGIN
    (fill,) = of_class(svg, "fill")
    assert float(fill.get("x", "")) == BAR_MARGIN + span / 2
    assert float(fill.get("width", "")) == span / 4
    (dot,) = of_class(svg, "dot")
    assert float(dot.get("cx", "")) == BAR_MARGIN + 0.75 * span
    (baseline,) = of_class(svg, "baseline")
    assert baseline.get("d") == f"M{BAR_MARGIN + span / 2:.1f} 7V33"
    (whisker,) = of_class(svg, "whisker")
    assert whisker.get("d", "").startswith(f"M{BAR_MARGIN + 0.7 * span:.1f} 20H{BAR_MARGIN + 0.8 * span:.1f}")
    assert "75 %, 95 % interval 70 % to 80 %; prior knowledge alone gives 50 %" in svg.get("aria-label", "")


def test_a_small_error_makes_a_long_bar() -> None:
    svg = drawn(score_bar(Score("mse", 1e-9, 0.08, Better.LOWER, (0.0, 2e-9), 10), leaks=True))
    (fill,) = of_class(svg, "fill")
    assert float(fill.get("width", "")) == pytest.approx(BAR_WIDTH - 2 * BAR_MARGIN, abs=0.2)
    assert "← better guess" in "".join(svg.itertext())


def test_only_a_leak_is_drawn_as_one() -> None:
    score = Score("accuracy", 0.75, 0.5, Better.HIGHER, (0.7, 0.8), 10)
    assert len(of_class(drawn(score_bar(score, leaks=True)), "leak")) == 2
    assert of_class(drawn(score_bar(score, leaks=False)), "leak") == []


@given(value=finite, baseline=finite, low=finite, high=finite)
@settings(derandomize=True, deadline=None, max_examples=80)
def test_no_mark_leaves_the_bar(value: float, baseline: float, low: float, high: float) -> None:
    ends = (min(low, high), max(low, high))
    markup = score_bar(Score("error", value, baseline, Better.LOWER, ends, 3), leaks=True)
    svg = drawn(markup)
    assert re.search(r"nan|inf", markup) is None
    (dot,) = of_class(svg, "dot")
    assert BAR_MARGIN <= float(dot.get("cx", "")) <= BAR_WIDTH - BAR_MARGIN


def test_a_right_guess_lies_on_the_diagonal_and_a_wild_one_at_the_edge() -> None:
    svg = drawn(scatter(np.array([0.0, 5.0, 10.0]), np.array([0.0, 5.0, 99.0])))
    places = [(float(p.get("cx", "")), float(p.get("cy", ""))) for p in of_class(svg, "point")]
    assert places == [
        (LEFT + INSET, TOP + SIDE - INSET),
        (LEFT + SIDE / 2, TOP + SIDE / 2),
        (LEFT + SIDE - INSET, TOP + INSET),
    ]
    assert "1 guess lies outside" in svg.get("aria-label", "")


def test_many_points_are_thinned_and_equal_ones_merged() -> None:
    spread = np.linspace(0, 1, 5000)
    assert len(of_class(drawn(scatter(spread, spread)), "point")) == MAX_POINTS
    classes = np.tile([0.0, 1.0, 2.0], 50)
    points = of_class(drawn(scatter(classes, classes)), "point")
    assert len(points) == 3
    assert all(float(point.get("r", "")) > 2.2 for point in points)


def test_two_classes_are_counted() -> None:
    svg = drawn(class_counts(np.array([0.0, 0, 0, 1, 1]), np.array([0.0, 0.2, 0.9, 1, 0.4])))
    assert [element.text for element in of_class(svg, "count")] == ["2", "1", "1", "1"]
    assert svg.get("aria-label") == "3 of 5 classes guessed right, 2 wrong"


def test_the_picture_fits_the_values() -> None:
    binary = np.array([0.0, 1.0, 1.0])
    assert of_class(drawn(exhibit_picture(Exhibit(binary, binary))), "cell")
    assert of_class(drawn(exhibit_picture(Exhibit(binary, binary * 7))), "point")
    assert of_class(drawn(exhibit_picture(Exhibit(np.ones((2, 4, 4)), np.zeros((2, 4, 4))))), "pixels")


def test_cells_that_were_not_guessed_are_told_not_drawn() -> None:
    exhibit = Exhibit(np.array([0.1, 0.2, 0.3]), np.array([nan, 0.2, 0.3]))
    assert len(of_class(drawn(exhibit_picture(exhibit)), "point")) == 2
    assert exhibit_words(exhibit) == "3 values, 1 not guessed"
    assert exhibit_picture(Exhibit(np.array([0.1]), np.array([nan]))) == ""
    assert exhibit_picture(Exhibit(np.zeros(0), np.zeros(0))) == ""


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=4, max_side=5), elements=st.floats(width=64)))
@settings(derandomize=True, deadline=None, max_examples=80)
def test_any_exhibit_is_drawn_without_a_bad_number(values: np.ndarray) -> None:
    markup = exhibit_picture(Exhibit(values, values[::-1].copy()))
    if markup:
        svg = drawn(markup)
        marks = [
            value for element in svg.iter() for name, value in element.items() if name in {"cx", "cy", "r", "x", "y"}
        ]
        assert marks
        assert np.isfinite([float(mark) for mark in marks]).all()


def test_images_are_drawn_in_pairs() -> None:
    svg = drawn(image_pairs(np.zeros((2, 3, 3)), np.ones((2, 3, 3))))
    uris = [element.get("href", "") for element in of_class(svg, "pixels")]
    assert len(uris) == 4
    assert uris[0] == uris[1] != uris[2] == uris[3]


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 3)])
def test_a_png_holds_the_pixels(shape: tuple[int, ...]) -> None:
    pixels = np.linspace(0, 1, int(np.prod(shape))).reshape(shape)
    content = b64decode(data_uri(pixels).removeprefix("data:image/png;base64,"))
    chunks: dict[bytes, bytes] = {}
    position = 8
    while position < len(content):
        (length,) = struct.unpack_from(">I", content, position)
        kind = content[position + 4 : position + 8]
        body = content[position + 8 : position + 8 + length]
        assert struct.unpack_from(">I", content, position + 8 + length) == (zlib.crc32(kind + body),)
        chunks[kind] = body
        position += 12 + length
    assert struct.unpack(">IIBBBBB", chunks[b"IHDR"]) == (3, 2, 8, 2 if len(shape) == 3 else 0, 0, 0, 0)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(2, -1)
    np.testing.assert_array_equal(rows[:, 0], 0)
    np.testing.assert_array_equal(rows[:, 1:].reshape(shape), np.rint(255 * pixels))


def test_pixels_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="pixels must be"):
        data_uri(np.zeros((2, 2, 4)))


def test_every_sample_exhibit_has_a_picture() -> None:
    shown = [finding.exhibit for finding in sample_report().findings if finding.exhibit is not None]
    assert shown
    for exhibit in shown:
        drawn(exhibit_picture(exhibit))
