"""A model in a file and a table that it predicts, as a scenario: what do its predictions tell of hidden columns?

The file is one of XGBoost, LightGBM or fedleak; nothing is unpickled. The adversary holds the labels and gets the
predictions, and knows ranges and kinds of the hidden columns, as ``audit_model`` has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fedleak.auditing.changed_scenario import settings_in
from fedleak.auditing.frames import FrameOptions, raw_scenario
from fedleak.auditing.own_table import (
    MOST_ROWS,
    Draft,
    Wishes,
    holdings_of,
    label_holder,
    target_of,
)
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import read_scenario
from fedleak.auditing.table_remarks import SEES_PREDICTIONS, some_of
from fedleak.core.errors import InputError, listed, nearest_or_list
from fedleak.data.column_survey import survey
from fedleak.data.raw_table import RawTable
from fedleak.data.sources import load
from fedleak.models.model import Model
from fedleak.models.model_files import read_model_file
from fedleak.models.tree_models import ForestModel, TreeModel
from fedleak.protocols.prediction.served_model import kind_served
from fedleak.protocols.prediction.vertical_prediction import VerticalPrediction

LEAST_ROWS = 20  # whose ranges are not much of a clue to the value of one of them
KNOWN = {"ranges": True, "kinds": True}  # of the hidden columns, as Luo et al. 2021 assume
IN_WORDS = {
    "logistic": "a linear model",
    "tree": "a decision tree",
    "forest": "a forest",
    "network": "a network",
    "boosted": "boosted trees",
}


def drafted_model(source: str, wishes: Wishes, folder: Path, *, all_rows: bool = False) -> Draft:
    """Relative paths start at ``folder``. ``all_rows``: who decides how many are audited comes later."""
    model = read_model_file(folder / source)
    if wishes.table is None:
        raise InputError(
            f"--table must name the table that the model predicts, such as customers.csv; {source} takes "
            f"{listed(model.columns)}"
        )
    table = load(wishes.table, target=wishes.target, folder=folder)
    _check_rows(model, table)
    target = target_of(table, {column.name: column for column in survey(table)})
    if target.n_distinct > model.n_classes:
        raise InputError(
            f"--target must have the model's {model.n_classes} classes; {target.name!r} has {target.n_distinct} values"
        )
    holdings = holdings_of(wishes, model.columns)
    kind = kind_served(model, source)
    decided = {
        **_data_settings(model, table),
        **({} if all_rows or table.n_rows <= MOST_ROWS else {"max_rows": MOST_ROWS}),
        "title": f"{Path(source).name} on {Path(wishes.table).name}: {' and '.join(holdings)}",
        "model": kind,
        "model_file": str((folder / source).absolute()),
        **({"tree_output": model.output.value} if isinstance(model, TreeModel | ForestModel) else {}),
        **settings_in(wishes.settings),
    }
    holder = label_holder(holdings, wishes)
    options = FrameOptions(
        target=target.name,
        parties=holdings,
        labels=holder,
        protocol=VerticalPrediction.name,
        adversaries=[{"parties": [holder], "knowledge": KNOWN}],
        settings=decided,
    )
    scenario = read_scenario(raw_scenario(table.n_rows, options, wishes.table))
    told = f"{source} holds {IN_WORDS[kind]} of {len(model.columns)} inputs and {model.n_classes} classes"
    remarks = (told, *_remarks(scenario, table, holdings, wishes))
    return Draft(replace(scenario, folder=folder), remarks)


def _check_rows(model: Model, table: RawTable) -> None:
    if table.target is not None and table.target.name in model.columns:
        raise InputError(f"--target must not be an input of the model; got {table.target.name!r}")
    columns = {column.name: column for column in table.columns}
    for name in model.columns:
        if name not in columns:
            nameless = (
                "" if name != "x0" else "; a model fitted without names has x0, x1, ..., in order: name columns so"
            )
            raise InputError(
                f"--table must have a column of the name of each input; the model takes {name!r}"
                f"{nearest_or_list(name, table.names)}{nameless}"
            )
        if columns[name].is_text:
            raise InputError(
                f"--table must hold numbers where a model file reads them; {name!r} holds texts. A pipeline that takes "
                "texts is audited in Python: fedleak.audit_model"
            )
    if table.n_rows < LEAST_ROWS:
        raise InputError(
            f"--table must have {LEAST_ROWS} rows or more, or the ranges that the adversary knows would tell the "
            f"values; got {table.n_rows}"
        )


def _data_settings(model: Model, table: RawTable) -> dict[str, object]:
    """Cells as the model takes them: nothing is scaled, and no row is filled in."""
    decided: dict[str, object] = {"task": "multiclass", "scaling": "none", "unit_box": False}
    decided.update(prediction_share=1.0, test_share=0.0)
    dropped = [name for name in table.names if name not in model.columns]
    if dropped:
        decided["drop"] = dropped
    if _incomplete(model, table):
        decided["missing"] = "drop"
    return decided


def _incomplete(model: Model, table: RawTable) -> list[str]:
    used = [column for column in table.columns if column.name in model.columns]
    return [column.name for column in (*used, *((table.target,) if table.target else ())) if column.missing.any()]


def _remarks(
    scenario: Scenario, table: RawTable, holdings: Mapping[str, Sequence[str]], wishes: Wishes
) -> Iterator[str]:
    data = scenario.data
    yield f"{table.source} has {table.n_rows:,} rows"
    yield from table.notes
    if data.max_rows is not None and data.max_rows < table.n_rows:
        yield f"audited: {data.max_rows:,} of its rows, evenly spread; more with --set max_rows={table.n_rows}"
    for party, columns in holdings.items():
        yield f"{party} holds {some_of(columns)}"
    if data.drop:
        yield f"left out, for the model does not take it: {some_of(data.drop)}"
    if data.missing == "drop":
        yield "rows with missing cells are left out"
    if wishes.labels == "mine":
        yield SEES_PREDICTIONS
    curious = ", ".join(party for adversary in scenario.adversaries for party in adversary.parties)
    yield f"protocol: {scenario.protocol}; curious: {curious}, which knows the ranges and kinds of hidden columns"
