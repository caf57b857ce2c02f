"""Audit a model of your own: anything that gives confidences for rows.

    report = audit_model(estimator, frame, labels, hidden=["deposit", "visits"])
    show(report)

The holder of the other columns and of the predictions is the adversary; ``hidden`` are the columns of its partner.
A model whose kind is known (logistic regression, tree, forest, boosted trees, ReLU network) is served with its
parameters, also from a file of XGBoost, LightGBM or fedleak. Any other is served as an opaque model: the adversary may
ask it about any rows, and sees nothing of the object. Frames may have categories, texts and missing cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedleak.adapters.linear_pipeline import linear_pipeline
from fedleak.adapters.model_table import ModelTable, table_of
from fedleak.auditing.planner import plan
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario import AdversarySpec, KnowledgeSpec, PartitionSpec, PartySpec, Scenario
from fedleak.auditing.served_file import LEAST_ROWS
from fedleak.auditing.trainings import in_memory
from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import InputError, nearest_or_list
from fedleak.core.payload import ModelSpec
from fedleak.core.report import Report
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.randomness import RunKey
from fedleak.data.spec import DataSpec
from fedleak.models.convert import black_box, convert, is_torch_module, of_frame
from fedleak.models.interpret import interpret
from fedleak.models.model import Model
from fedleak.models.model_files import read_model_file
from fedleak.models.opaque import OpaqueModel
from fedleak.models.tree_models import TreeOutput
from fedleak.protocols.prediction.served_model import SERVED_AS, PredictionSettings
from fedleak.protocols.prediction.vertical_prediction import VerticalPrediction
from fedleak.trial.progress import Silent

if TYPE_CHECKING:
    import pandas as pd

ACTIVE, PASSIVE = "label holder", "partner"

EXAMPLE_ROWS = 50  # that a model is tried on before anything runs


def audit_model(
    model: object,
    rows: pd.DataFrame | FloatArray,
    labels: AnyArray,
    *,
    hidden: Sequence[str],
    columns: Sequence[str] | None = None,
    population: pd.DataFrame | FloatArray | None = None,
    knowledge: KnowledgeSpec | Mapping[str, object] | None = None,
    attacks: Sequence[str] = (),
    defenses: Sequence[Defense] = (),
    seed: int = 0,
    run_key: str | None = None,
) -> Report:
    """What the label holder learns about the partner's columns from the model's predictions of these rows.

    ``columns`` names the columns of an array; a data frame has its own names, in any order. The adversary knows the
    range and the kind of each hidden column, as Luo et al. 2021 assume, unless ``knowledge`` says otherwise, in the
    words of a scenario's ``[adversary.knowledge]``. Ranges and kinds are those of the audited rows, of which there must
    be 20 or more, or of ``population``: other rows of the same columns, also the source of ``knowledge``'s ``sample``.
    ``attacks`` and ``defenses``: all that apply, and none, by default. ``run_key``, as a report names it, repeats an
    audit.
    """
    asked = _asked(model, rows, population, hidden, columns)
    scenario = _scenario(asked, _known(knowledge), attacks, tuple(defenses), seed)
    classes = np.asarray(getattr(model, "classes_", np.unique(labels)))
    federation = _federation(asked, np.asarray(labels), classes, scenario)
    planned = plan(
        federation, scenario.adversaries, scenario.defenses, parties=federation.party_facts, n_rows=federation.n_rows
    )
    key = None if run_key is None else RunKey.from_text(run_key)
    protocol = VerticalPrediction(asked.served)
    audit = Audit(scenario, planned, in_memory, Silent(), protocol=protocol, run_key=key)
    audit.run()
    return audit.report(command=f'audit_model(..., seed={seed}, run_key="{audit.run_key}")')


def show(report: Report) -> None:
    """Print the findings."""
    from rich.console import Console

    from fedleak.report.terminal import print_report

    print_report(report, Console())


@dataclass(frozen=True, eq=False)
class _Asked:
    """A model that is served, and what it is asked about, in numbers."""

    served: Model
    rows: FloatArray
    population: FloatArray | None
    hidden: tuple[str, ...]


def _asked(
    model: object,
    rows: pd.DataFrame | FloatArray,
    population: pd.DataFrame | FloatArray | None,
    hidden: Sequence[str],
    columns: Sequence[str] | None,
) -> _Asked:
    model = read_model_file(Path(model)) if isinstance(model, str | Path) else model
    frame = _frame(rows, columns)
    inputs = _inputs(model) or tuple(frame.columns)
    _check_hidden(hidden, inputs)
    others = None if population is None else _frame(population, columns)
    if (n_known := len(frame) if others is None else len(others)) < LEAST_ROWS:
        raise InputError(
            f"rows whose ranges the adversary knows must be {LEAST_ROWS} or more, or the ranges would tell the values; "
            f"got {n_known}. Give population=, other rows of the same columns"
        )
    table = table_of(_together(frame, others), hidden, inputs)
    values = table.encode(frame)
    known = None if others is None else table.encode(others)
    served = _served(model, table, values if known is None else np.vstack([known, values]), table.columns_from(hidden))
    return _Asked(served, values, known, table.columns_from(hidden))


def _together(frame: pd.DataFrame, others: pd.DataFrame | None) -> pd.DataFrame:
    import pandas as pd

    return frame if others is None else pd.concat([frame, others], ignore_index=True)


def _frame(rows: pd.DataFrame | FloatArray, columns: Sequence[str] | None) -> pd.DataFrame:
    import pandas as pd

    if isinstance(rows, pd.DataFrame) and columns is None:
        return rows.rename(columns=str)
    values = np.asarray(rows)
    if values.ndim != 2:
        raise InputError(f"rows must be a table of rows and columns; got shape {values.shape}")
    names = [f"x{i}" for i in range(values.shape[1])] if columns is None else [str(name) for name in columns]
    if len(names) != values.shape[1]:
        raise InputError(f"rows must have {len(names)} columns, one a name; got shape {values.shape}")
    return pd.DataFrame(values, columns=names)


def _served(model: object, table: ModelTable, rows: FloatArray, hidden: Sequence[str]) -> Model:
    """Read where it can be; of a pipeline the linear model that it comes to; asked otherwise."""
    example, names = rows[:EXAMPLE_ROWS], table.columns
    if table.is_plain:
        served = convert(model, names, output=TreeOutput.FRACTIONS, example=example)
        if not isinstance(served, OpaqueModel):
            return served
        if getattr(model, "steps", None) and hasattr(model, "feature_names_in_"):
            return linear_pipeline(model, table.decode, names, rows, served.positions(hidden)) or served
        return served
    if isinstance(model, Model | ModelSpec) or is_torch_module(model):
        raise InputError(f"rows must be a table of finite numbers for {type(model).__name__}; encode and fill it first")
    served = black_box(
        lambda asked: of_frame(model, table.decode(asked)), names, example, "its inputs are not numbers alone"
    )
    served = replace(served, about=type(model).__qualname__)
    return linear_pipeline(model, table.decode, names, rows, served.positions(hidden)) or served


def _known(knowledge: KnowledgeSpec | Mapping[str, object] | None) -> KnowledgeSpec:
    if isinstance(knowledge, KnowledgeSpec):
        return knowledge
    given = dict(knowledge or {})
    names = [field.name for field in fields(KnowledgeSpec)]
    for name in given:
        if name not in names:
            raise InputError(
                f"knowledge must have keys of [adversary.knowledge]; got {name!r}{nearest_or_list(str(name), names)}"
            )
    wished: dict[str, Any] = {"ranges": True, "kinds": True, **given}
    return KnowledgeSpec(**wished)


def _inputs(model: object) -> tuple[str, ...]:
    """The names of the inputs, where the model knows them: ours do, and estimators fitted on a data frame."""
    if isinstance(model, ModelSpec):
        model = interpret(model)
    if isinstance(model, Model):
        return model.columns
    steps = getattr(model, "steps", None)  # of a Pipeline: its first step was fitted on the frame
    names: Sequence[object] = getattr(steps[0][1] if steps else model, "feature_names_in_", ())
    return tuple(str(name) for name in names)


def _check_hidden(hidden: Sequence[str], inputs: Sequence[str]) -> None:
    for name in hidden:
        if name not in inputs:
            raise InputError(f"hidden must name columns of the model; got {name!r}{nearest_or_list(str(name), inputs)}")
    if not hidden:
        raise InputError("hidden must name at least one column; got none")


def _scenario(
    asked: _Asked, knowledge: KnowledgeSpec, attacks: Sequence[str], defenses: tuple[Defense, ...], seed: int
) -> Scenario:
    own = tuple(name for name in asked.served.columns if name not in set(asked.hidden))
    output = getattr(asked.served, "output", TreeOutput.ONE_HOT)
    settings = PredictionSettings(
        model=SERVED_AS[asked.served.to_spec().kind],
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
            PartySpec(name=PASSIVE, role=Role.PASSIVE, columns=asked.hidden),
        ),
        adversaries=(AdversarySpec(parties=(ACTIVE,), attacks=tuple(attacks), knowledge=knowledge),),
        defenses=defenses,
    )


def _federation(asked: _Asked, labels: AnyArray, classes: AnyArray, scenario: Scenario) -> Federation:
    model, rows = asked.served, asked.rows
    if labels.shape != (len(rows),):
        raise InputError(f"labels must be one a row, {len(rows)}; got shape {labels.shape}")
    if len(classes) > model.n_classes or not np.isin(labels, classes).all():
        raise InputError(f"labels must be of the model's {model.n_classes} classes; got {np.unique(labels)[:20]}")
    codes = np.searchsorted(classes, labels)
    ids = np.arange(len(rows))
    parties = []
    for spec in scenario.parties:
        positions = model.positions(spec.columns)
        held = Slice(ids, rows[:, positions], codes if spec.role is Role.ACTIVE else None)
        known = None if asked.population is None else asked.population[:, positions]
        others = None if known is None else Slice(len(rows) + np.arange(len(known)), known)
        parties.append(Party(spec.name, spec.role, spec.columns, held, others, population=known))
    return Federation(scenario.protocol, tuple(parties), scenario.settings)
