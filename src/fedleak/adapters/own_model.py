"""Audit a model of your own: anything that gives confidences for rows.

    report = audit_model(estimator, frame, labels, hidden=["deposit", "visits"])
    show(report)

The holder of the other columns and of the predictions is the adversary; ``hidden`` are the columns of its partner.
A model whose kind is known (logistic regression, tree, forest, ReLU network) is served with its parameters. Any other
is served as an opaque model: the adversary may ask it about any rows, and sees nothing of the object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedleak.auditing.planner import plan
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario import AdversarySpec, KnowledgeSpec, PartitionSpec, PartySpec, Scenario
from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import InputError, nearest_or_list
from fedleak.core.payload import ModelSpec
from fedleak.core.report import Report
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.randomness import RunKey
from fedleak.core.whole.run import MemorySink
from fedleak.data.spec import DataSpec
from fedleak.models.convert import convert
from fedleak.models.interpret import interpret
from fedleak.models.model import Model, arranged
from fedleak.models.tree_models import TreeOutput
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.protocols.prediction.vertical_prediction import VerticalPrediction
from fedleak.trial.progress import Silent

if TYPE_CHECKING:
    import pandas as pd

ACTIVE, PASSIVE = "label holder", "partner"
SERVED_AS = {"linear": "logistic", "tree": "tree", "forest": "forest", "network": "network", "opaque": "opaque"}
EXAMPLE_ROWS = 50  # that a model is tried on before anything runs


def audit_model(
    model: object,
    rows: pd.DataFrame | FloatArray,
    labels: AnyArray,
    *,
    hidden: Sequence[str],
    columns: Sequence[str] | None = None,
    attacks: Sequence[str] = (),
    defenses: Sequence[Defense] = (),
    seed: int = 0,
    run_key: str | None = None,
) -> Report:
    """What the label holder learns about the partner's columns from the model's predictions of these rows.

    ``columns`` names the columns of an array; a data frame has its own names, in any order. The adversary knows the
    range of each hidden column, as Luo et al. 2021 assume. ``attacks`` and ``defenses``: all that apply, and none, by
    default. ``run_key``, as a report names it, repeats an audit.
    """
    names, values = _table(rows, columns)
    inputs = _inputs(model) or names
    ordered = arranged(values, names, inputs)
    served = convert(model, inputs, output=TreeOutput.FRACTIONS, example=ordered[:EXAMPLE_ROWS])
    scenario = _scenario(served, hidden, attacks, tuple(defenses), seed)
    classes = np.asarray(getattr(model, "classes_", np.unique(labels)))
    federation = _federation(served, ordered, np.asarray(labels), classes, hidden, scenario)
    planned = plan(
        federation, scenario.adversaries, scenario.defenses, parties=federation.party_facts, n_rows=federation.n_rows
    )
    key = None if run_key is None else RunKey.from_text(run_key)
    protocol = VerticalPrediction(served)
    audit = Audit(scenario, planned, lambda _: MemorySink(), Silent(), protocol=protocol, run_key=key)
    audit.run()
    return audit.report(command=f'audit_model(..., seed={seed}, run_key="{audit.run_key}")')


def show(report: Report) -> None:
    """Print the findings."""
    from rich.console import Console

    from fedleak.report.terminal import print_report

    print_report(report, Console())


def _table(rows: pd.DataFrame | FloatArray, columns: Sequence[str] | None) -> tuple[tuple[str, ...], FloatArray]:
    if columns is None:
        named = getattr(rows, "columns", None)
        columns = [f"x{i}" for i in range(np.shape(rows)[1])] if named is None else [str(name) for name in named]
    values = np.asarray(rows, dtype=np.float64)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise InputError(f"rows must be a table of finite numbers; got shape {values.shape}")
    return tuple(columns), values


def _inputs(model: object) -> tuple[str, ...]:
    """The names of the inputs, where the model knows them: ours do, and estimators fitted on a data frame."""
    if isinstance(model, ModelSpec):
        model = interpret(model)
    if isinstance(model, Model):
        return model.columns
    steps = getattr(model, "steps", None)  # of a Pipeline: its first step was fitted on the frame
    names: Sequence[object] = getattr(steps[0][1] if steps else model, "feature_names_in_", ())
    return tuple(str(name) for name in names)


def _scenario(
    model: Model, hidden: Sequence[str], attacks: Sequence[str], defenses: tuple[Defense, ...], seed: int
) -> Scenario:
    own = tuple(name for name in model.columns if name not in set(hidden))
    output = getattr(model, "output", TreeOutput.ONE_HOT)
    settings = PredictionSettings(
        model=SERVED_AS[model.to_spec().kind],
        prediction_share=1.0,
        unit_box=False,
        tree_output=TreeOutput(output).value,
    )
    return Scenario(
        title="a model of your own",
        seed=seed,
        data=DataSpec(source="in memory", task="multiclass"),
        protocol=VerticalPrediction.name,
        settings=settings,
        partition=PartitionSpec(test_share=0.0),
        parties=(
            PartySpec(name=ACTIVE, role=Role.ACTIVE, columns=own),
            PartySpec(name=PASSIVE, role=Role.PASSIVE, columns=tuple(hidden)),
        ),
        adversaries=(
            AdversarySpec(parties=(ACTIVE,), attacks=tuple(attacks), knowledge=KnowledgeSpec(ranges=True, kinds=True)),
        ),
        defenses=defenses,
    )


def _federation(
    model: Model,
    rows: FloatArray,
    labels: AnyArray,
    classes: AnyArray,
    hidden: Sequence[str],
    scenario: Scenario,
) -> Federation:
    for name in hidden:
        if name not in model.columns:
            raise InputError(
                f"hidden must name columns of the model; got {name!r}{nearest_or_list(str(name), model.columns)}"
            )
    if not hidden:
        raise InputError("hidden must name at least one column; got none")
    if labels.shape != (len(rows),):
        raise InputError(f"labels must be one a row, {len(rows)}; got shape {labels.shape}")
    if len(classes) > model.n_classes or not np.isin(labels, classes).all():
        raise InputError(f"labels must be of the model's {model.n_classes} classes; got {np.unique(labels)[:20]}")
    codes = np.searchsorted(classes, labels)
    ids = np.arange(len(rows))
    parties = []
    for spec in scenario.parties:
        own = rows[:, model.positions(spec.columns)]
        parties.append(
            Party(spec.name, spec.role, spec.columns, Slice(ids, own, codes if spec.role is Role.ACTIVE else None))
        )
    return Federation(scenario.protocol, tuple(parties), scenario.settings)
