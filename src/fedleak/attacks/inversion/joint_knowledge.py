"""What is known of the victim's columns, side by side over all parties that a coalition sees as one victim.

Stolen weights, known cells, and what is declared of columns: each party's under its own name, in the order of the joint
table's columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fedleak.attacks.inversion.known_cells import PlacedCells, known_cells
from fedleak.attacks.inversion.rotation_fit import ColumnKnowledge, column_knowledge
from fedleak.attacks.predictions.prediction_queries import whole_weights
from fedleak.attacks.residuals.joint_victim import JointVictim
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.knowledge import Knowledge
from fedleak.core.view import View


def joint_weights(view: View, victim: JointVictim) -> FloatArray | None:
    """Stolen from every party of the victim: one that does not answer leaves the direction open."""
    found: list[FloatArray] = []
    for owner in victim.owners:
        weights = whole_weights(replace(view, target=Secret(SecretKind.WEIGHTS, owner)))
        if weights is None:
            return None
        found.append(weights)
    return np.concatenate(found)


def joint_cells(knowledge: Knowledge, victim: JointVictim, ids: IntArray) -> PlacedCells:
    """In the columns of the joint table."""
    firsts = np.cumsum((0, *victim.widths[:-1]))
    parts = [known_cells(knowledge, owner, ids, int(first)) for owner, first in zip(victim.owners, firsts, strict=True)]
    names = ("rows", "columns", "values", "within")
    return PlacedCells(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def joint_columns(knowledge: Knowledge, victim: JointVictim) -> tuple[list[ColumnKnowledge], FloatArray | None]:
    """Per column what is declared; a public sample where it has the same people in the columns of every party."""
    parts = [column_knowledge(knowledge, *party) for party in zip(victim.owners, victim.widths, strict=True)]
    columns = [column for known, _ in parts for column in known]
    samples = [rows for _, rows in parts if rows is not None]
    whole = len(samples) == len(parts) and _same_people(knowledge, victim.owners)
    return columns, np.hstack(samples) if whole else None


def _same_people(knowledge: Knowledge, owners: Sequence[str]) -> bool:
    ids = [sample.rows.ids for sample in knowledge.samples if sample.owner in owners]
    return all(np.array_equal(one, ids[0]) for one in ids)
