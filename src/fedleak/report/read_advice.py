"""Recommendations for the page: changes that were tried, each with what it leaves and costs, and the picture of all."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True)
class AdvisedChange:
    edit: str  # lines of TOML
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Advised:
    """``picture``: leak against usefulness of everything that was tried; empty where no model was worth anything."""

    verdict: str
    changes: tuple[AdvisedChange, ...]
    picture: Markup
    n_audits: int
    notes: tuple[str, ...] = ()
