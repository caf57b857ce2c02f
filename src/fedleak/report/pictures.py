"""True and guessed values as pictures, in SVG, with PNG for images."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from fedleak.core.arrays import FloatArray
from fedleak.core.finding import Better, Exhibit, Score
from fedleak.report.numbers import count, figure, interval, is_share, metric_words, number

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREYSCALE, TRUECOLOUR = 0, 2  # colour types of the PNG header
UNGUESSED = 0.5  # mid-grey for a pixel that is NaN


def data_uri(pixels: FloatArray) -> str:
    return "data:image/png;base64," + b64encode(png(pixels)).decode("ascii")


def png(pixels: FloatArray) -> bytes:
    """``pixels`` are (height, width) or (height, width, 3), from 0 to 1; what lies outside is clipped."""
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] != 3):
        raise ValueError(f"pixels must be (height, width) or (height, width, 3); got {pixels.shape}")
    known = np.where(np.isnan(pixels), UNGUESSED, pixels)
    levels = np.rint(255 * np.clip(known, 0, 1)).astype(np.uint8)
    height, width = levels.shape[:2]
    colour = TRUECOLOUR if levels.ndim == 3 else GREYSCALE
    rows = levels.reshape(height, -1)
    filtered = np.hstack([np.zeros((height, 1), np.uint8), rows])  # filter type 0, "none", before each row
    return (
        SIGNATURE
        + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0))
        + _chunk(b"IDAT", zlib.compress(filtered.tobytes(), 9))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


BAR_WIDTH, BAR_MARGIN = 260, 8
SIDE = 132  # of a picture's inner square
INSET = 6  # between its frame and the outermost points
LEFT, TOP, BELOW, RIGHT = 46, 6, 32, 8  # room for the axes around it
MAX_POINTS = 500
MAX_IMAGES = 8
IMAGE_SIDE, IMAGE_GAP = 44, 6


@dataclass(frozen=True)
class Scale:
    """A stretch of numbers laid on a stretch of pixels; what lies outside sticks to the end.

    A stretch without length puts everything in its middle.
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        span = self.high / 2 - self.low / 2  # halves: a difference of doubles can overflow
        part = (float(value) / 2 - self.low / 2) / span if span > 0 else 0.5
        return self.start + min(max(part, 0.0), 1.0) * (self.end - self.start)


def score_bar(score: Score, *, leaks: bool) -> Markup:
    """From the baseline's mark to the measured value: the longer the filled stretch, the more was learnt."""
    low, high = _score_range(score)
    at = Scale(low, high, BAR_MARGIN, BAR_WIDTH - BAR_MARGIN)
    value, baseline = at(score.value), at(score.baseline)
    tone = "leak" if leaks else "quiet"
    parts = [
        rect("track", BAR_MARGIN, 14, BAR_WIDTH - 2 * BAR_MARGIN, 12),
        rect(f"fill {tone}", min(value, baseline), 14, abs(value - baseline), 12),
        _whisker(score, at),
        Markup('<circle class="dot {}" cx="{:.1f}" cy="20" r="5"/>').format(tone, value),
        Markup('<path class="baseline" d="M{0:.1f} 7V33"/>').format(baseline),
        text(BAR_MARGIN, 45, figure(score.metric, low), "start"),
        text(BAR_WIDTH - BAR_MARGIN, 45, figure(score.metric, high), "end"),
        text(BAR_WIDTH / 2, 45, "better guess →" if score.better is Better.HIGHER else "← better guess", "middle"),
    ]
    title = f"{metric_words(score.metric)} {figure(score.metric, score.value)}"
    title += f", 95 % interval {interval(score)}"
    title += f"; prior knowledge alone gives {figure(score.metric, score.baseline)}"
    return svg("bar", BAR_WIDTH, 50, title, parts)


def exhibit_picture(exhibit: Exhibit) -> Markup:
    """True against guessed: images in pairs, two classes as counts, anything else as points."""
    if exhibit.true.ndim >= 3:
        return image_pairs(exhibit.true, exhibit.guessed)
    true, guessed = exhibit.true.ravel(), exhibit.guessed.ravel()
    guessed_cells = np.isfinite(true) & np.isfinite(guessed)
    true, guessed = true[guessed_cells], guessed[guessed_cells]
    if not len(true):
        return Markup("")
    if np.isin(true, (0.0, 1.0)).all() and ((guessed >= 0) & (guessed <= 1)).all():
        return class_counts(true, guessed)
    return scatter(true, guessed)


def exhibit_words(exhibit: Exhibit) -> str:
    """How many values the picture stands for, and how many of them the attack left open."""
    n_open = int(np.isnan(exhibit.guessed).sum())
    is_images = exhibit.true.ndim >= 3
    n_shown = count(len(exhibit.true), "image") if is_images else count(exhibit.true.size, "value")
    return n_shown + (f", {n_open:,} not guessed" if n_open else "")


def scatter(true: FloatArray, guessed: FloatArray) -> Markup:
    """A point a cell; equal ones are one larger point. On the diagonal the guess is right."""
    n_cells = len(true)
    kept = np.unique(np.linspace(0, n_cells - 1, min(n_cells, MAX_POINTS)).astype(np.int64))
    points, counts = np.unique(np.column_stack([true[kept], guessed[kept]]), axis=0, return_counts=True)
    low, high = float(true.min()), float(true.max())
    across = Scale(low, high, LEFT + INSET, LEFT + SIDE - INSET)
    up = Scale(low, high, TOP + SIDE - INSET, TOP + INSET)
    radii = np.minimum(2.2 * np.sqrt(counts), INSET)
    parts = [
        _frame(),
        Markup('<path class="diagonal" d="M{} {}L{} {}"/>').format(LEFT, TOP + SIDE, LEFT + SIDE, TOP),
        *(
            Markup('<circle class="point" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>').format(across(x), up(y), radius)
            for (x, y), radius in zip(points, radii, strict=True)
        ),
        *_axis_labels(number(low), number(high)),
    ]
    outside = int(((guessed < low) | (guessed > high)).sum())
    title = f"{n_cells} guessed values against the true ones, from {number(low)} to {number(high)}"
    title += f"; {count(outside, 'guess lies', 'guesses lie')} outside, drawn at the edge" if outside else ""
    return svg("exhibit", LEFT + SIDE + RIGHT, TOP + SIDE + BELOW, title, parts)


def class_counts(true: FloatArray, guessed: FloatArray) -> Markup:
    """How often each class was taken for which; guesses between 0 and 1 are rounded."""
    rounded = (guessed >= 0.5).astype(np.float64)
    half = SIDE / 2
    parts = []
    for actual in (0, 1):
        for said in (0, 1):
            n = int(((true == actual) & (rounded == said)).sum())
            tone = "right" if actual == said else "wrong"
            x, y = LEFT + actual * half, TOP + (1 - said) * half
            strength = 0.12 + 0.88 * n / len(true)
            parts += [
                Markup('<rect class="cell {}" x="{}" y="{}" width="{}" height="{}" fill-opacity="{:.2f}"/>').format(
                    tone, x + 1, y + 1, half - 2, half - 2, strength
                ),
                Markup('<text class="count" x="{}" y="{}" text-anchor="middle">{}</text>').format(
                    x + half / 2, y + half / 2 + 5, n
                ),
            ]
    right = int((true == rounded).sum())
    title = f"{right} of {len(true)} classes guessed right, {len(true) - right} wrong"
    labels = _axis_labels("0", "1", inset=half / 2)
    return svg("exhibit", LEFT + SIDE + RIGHT, TOP + SIDE + BELOW, title, [*parts, *labels])


def image_pairs(true: FloatArray, guessed: FloatArray) -> Markup:
    """True images above, guessed ones below."""
    return image_rows({"true": true, "guess": guessed}, LEFT)


def image_rows(rows: Mapping[str, FloatArray], left: float) -> Markup:
    """The same images as each of them has them, under one another; ``left`` is room for the names."""
    first = next(iter(rows.values()))
    shown = min(len(first), MAX_IMAGES)
    if not shown or not first[0].size:
        return Markup("")
    parts, step = [], IMAGE_SIDE + IMAGE_GAP
    for row, (name, images) in enumerate(rows.items()):
        parts.append(text(0, 28 + row * step, name, "start"))
        parts += [_pixels(image, left + index * step, row * step) for index, image in enumerate(images[:shown])]
    width, height = left + shown * step, len(rows) * step - IMAGE_GAP
    below = "the guessed ones" if len(rows) == 2 else f"the guesses of {len(rows) - 1} attacks"
    return svg("exhibit", width, height, f"{shown} of {len(first)} true images with {below} below", parts)


def _pixels(image: FloatArray, x: float, y: float) -> Markup:
    return Markup('<image class="pixels" x="{}" y="{}" width="{}" height="{}" href="{}"/>').format(
        x, y, IMAGE_SIDE, IMAGE_SIDE, data_uri(displayable(image))
    )


def displayable(image: FloatArray) -> FloatArray:
    """(height, width), or (height, width, 3); of any other number of channels, their mean."""
    return image if image.ndim == 2 or image.shape[2] == 3 else np.clip(image, 0, 1).mean(axis=2)


def _score_range(score: Score) -> tuple[float, float]:
    """All of 0 to 1 for shares; otherwise from 0, or from the lowest figure, to just over the highest."""
    figures = (score.value, score.baseline, *score.ci)
    if is_share(score.metric) and min(figures) >= 0 and max(figures) <= 1:
        return 0.0, 1.0
    low, high = min(0.0, *figures), max(0.0, *figures)
    return (low, high) if high > low else (0.0, 1.0)


def _whisker(score: Score, at: Scale) -> Markup:
    low, high = score.ci
    return Markup('<path class="whisker" d="M{0:.1f} 20H{1:.1f}M{0:.1f} 15V25M{1:.1f} 15V25"/>').format(
        at(low), at(high)
    )


def _frame() -> Markup:
    return rect("frame", LEFT, TOP, SIDE, SIDE)


def _axis_labels(low: str, high: str, *, inset: float = 0) -> tuple[Markup, ...]:
    """Both ends of both axes, and what they are; ``inset`` moves the ends to the middle of a class."""
    bottom, middle = TOP + SIDE + 12, TOP + SIDE / 2
    start, end = ("middle", "middle") if inset else ("start", "end")
    return (
        text(LEFT + inset, bottom, low, start),
        text(LEFT + SIDE - inset, bottom, high, end),
        text(LEFT + SIDE / 2, bottom + 14, "true value", "middle"),
        text(LEFT - 5, TOP + SIDE - inset, low, "end"),
        text(LEFT - 5, TOP + 8 + inset, high, "end"),
        Markup(
            '<text class="label" text-anchor="middle" transform="translate(9 {}) rotate(-90)">guessed</text>'
        ).format(middle),
    )


def rect(css: str, x: float, y: float, width: float, height: float) -> Markup:
    return Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
        css, x, y, width, height
    )


def text(x: float, y: float, words: str, anchor: str) -> Markup:
    return Markup('<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(x, y, anchor, words)


def svg(css: str, width: float, height: float, title: str, parts: Iterable[Markup]) -> Markup:
    return Markup(
        '<svg class="{css}" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        'role="img" aria-label="{title}"><title>{title}</title>{body}</svg>'
    ).format(css=css, width=width, height=height, title=title, body=Markup("").join(parts))
