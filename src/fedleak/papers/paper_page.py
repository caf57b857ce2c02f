"""One page with every table and figure of the papers: ours beside theirs, and a sentence for every difference."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory

from fedleak.core.errors import MissingExtraError
from fedleak.core.version import __version__
from fedleak.papers.experiment import BOUNDS, Experiment, Result, Row
from fedleak.papers.panels import draw

CLOSE = 0.02  # of the paper's figure: nearer is the same, for figures of two or three digits


@dataclass(frozen=True)
class Shown:
    """What the page has of an experiment; ``why_not`` in place of figures where there are none."""

    name: str
    summary: str
    reference: str
    why_not: str = ""
    origin: str = ""
    picture: str = ""
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    differences: tuple[str, ...] = ()
    n_compared: int = 0


def missing(experiment: Experiment, why: str) -> Shown:
    return Shown(experiment.name, experiment.summary, _cited(experiment), why_not=why)


def shown(experiment: Experiment, result: Result, beside: Path | None = None) -> Shown:
    """``beside`` is where the result was kept: a picture of the same name there is taken as it is."""
    settings = list(dict.fromkeys(key for row in result.rows for key in row.setting))
    figures = list(dict.fromkeys(key for row in result.rows for key in row.measured if not key.endswith(BOUNDS)))
    sentences, n_compared = differences(result.rows)
    return Shown(
        experiment.name,
        experiment.summary,
        _cited(experiment),
        origin=_origin(result),
        picture=_picture(experiment, result, beside),
        head=(*settings, *figures, "note"),
        rows=tuple(
            (*(str(row.setting.get(key, "")) for key in settings), *(_cell(row, name) for name in figures), row.note)
            for row in result.rows
        ),
        differences=sentences,
        n_compared=n_compared,
    )


def _cited(experiment: Experiment) -> str:
    return f"{experiment.reference.paper}, {experiment.reference.section}"


def _origin(result: Result) -> str:
    size = "a smaller version" if result.quick else "the whole experiment"
    told = f"{size}, {len(result.seeds)} seeds, {result.cpu_seconds:,.0f} s of CPU time"
    commit = result.provenance.get("commit")
    return f"{told}, commit {str(commit)[:10]}" if commit else told


def _cell(row: Row, figure: str) -> str:
    value = row.measured.get(figure)
    beside = [
        f"{label} {source[figure]:.4g}"
        for label, source in (("paper", row.paper), ("baseline", row.baseline))
        if source is not None and source.get(figure) is not None
    ]
    told = "–" if value is None else f"{value:.4g}"
    return f"{told} ({', '.join(beside)})" if beside else told


def differences(rows: Sequence[Row]) -> tuple[tuple[str, ...], int]:
    """A sentence for every figure of the paper's that ours is not close to, and how many were compared."""
    sentences, n_compared = [], 0
    for row in rows:
        for figure, theirs in (row.paper or {}).items():
            ours = row.measured.get(figure)
            if theirs is None:
                continue
            n_compared += 1
            if ours is None or not isclose(ours, theirs, rel_tol=CLOSE, abs_tol=1e-12):
                sentences.append(_sentence(row, figure, ours, theirs))
    return tuple(sentences), n_compared


def _sentence(row: Row, figure: str, ours: float | None, theirs: float) -> str:
    where = ", ".join(f"{key} {value}" for key, value in row.setting.items())
    said = "was not measured here" if ours is None else f"is {ours:.4g} here"
    how_far = "" if ours is None or not theirs else f", {_ratio(ours / theirs)}"
    why = f"; {row.note}" if row.note else ""
    return f"With {where}, {figure.replace('_', ' ')} {said} and {theirs:.4g} in the paper{how_far}{why}."


def _ratio(ratio: float) -> str:
    if 0.5 <= ratio <= 2:
        return f"{abs(ratio - 1):.0%} {'more' if ratio > 1 else 'less'}"
    return f"{ratio:.3g} times the paper's"


def _picture(experiment: Experiment, result: Result, beside: Path | None) -> str:
    """As an address that holds the picture itself; empty where there is none, or no matplotlib to draw it."""
    if not experiment.has_picture() or not result.rows:
        return ""
    drawn = None if beside is None else beside.with_suffix(".svg")
    if drawn is not None and drawn.is_file():
        return _embedded(drawn.read_bytes())
    with TemporaryDirectory() as folder:
        try:
            draw(experiment.panels(result.rows), Path(folder) / "picture.svg")
        except MissingExtraError:
            return ""
        return _embedded((Path(folder) / "picture.svg").read_bytes())


def _embedded(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + b64encode(svg).decode("ascii")


@dataclass(frozen=True)
class Paper:
    name: str
    experiments: tuple[Shown, ...]


def page(found: Sequence[Shown]) -> str:
    import jinja2

    names = list(dict.fromkeys(one.name.partition("/")[0] for one in found))
    papers = [Paper(name, tuple(one for one in found if one.name.startswith(f"{name}/"))) for name in names]
    text = resources.files("fedleak.papers").joinpath("templates", "papers.html.j2").read_text(encoding="utf-8")
    n_compared = sum(one.n_compared for one in found)
    return (
        jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
        .from_string(text)
        .render(
            papers=papers,
            version=__version__,
            percent=f"{CLOSE:.0%}",
            n_all=len(found),
            n_measured=sum(not one.why_not for one in found),
            n_compared=n_compared,
            n_agree=n_compared - sum(len(one.differences) for one in found),
        )
    )
