"""Runs in NVFLARE's own environment: its recipe of vertical XGBoost in the simulator, recorded at the last site."""

from __future__ import annotations

import json
import os
from typing import Any

from fedleak.frameworks.averaged_clients import FOLDER
from fedleak.frameworks.job import Job, check_version, run_inside
from fedleak.frameworks.nvflare.code_of_sites import sent_along
from fedleak.frameworks.nvflare.kept_exchanges import KEPT, kept_exchanges
from fedleak.frameworks.xgboost.xgboost_inside import Model, parameters_of, record

XGBOOST = "3.2.0"  # whose messages are known
MODEL_FILE = "model.json"


def main(job: Job) -> None:
    from importlib.metadata import version

    check_version(job, version("nvflare"), "NVFLARE")
    if version("xgboost") != XGBOOST:
        raise RuntimeError(f"XGBoost must be version {XGBOOST}, whose messages are known; got {version('xgboost')}")
    os.environ[FOLDER] = str(job.folder)
    parameters = parameters_of(job)
    model = _simulate(job, parameters)
    record(job, f"nvflare-xgboost {job.version}", parameters, kept_exchanges(job.folder / KEPT), model)


def _simulate(job: Job, parameters: dict[str, Any]) -> Model:
    from nvflare.app_opt.xgboost.recipes import XGBVerticalRecipe
    from nvflare.recipe import SimEnv, set_per_site_config

    loader, keeping = sent_along(job.folder / "code", "column_loader", "exchange_filter")
    sites = [f"site-{rank + 1}" for rank in range(len(job.parties))]  # as the recipe wants them named
    recipe = XGBVerticalRecipe(
        name="capture",
        min_clients=len(sites),
        num_rounds=job.options["rounds"],
        label_owner=sites[0],
        early_stopping_rounds=0,
        xgb_params=parameters,
        model_file_name=MODEL_FILE,
    )
    set_per_site_config(recipe, {site: {"data_loader": loader.ColumnLoader()} for site in sites})
    recipe.add_client_input_filter(keeping.ExchangeFilter(), tasks=["start"], clients=sites[-1:])
    workspace = job.folder / "nvflare"
    recipe.execute(SimEnv(clients=sites, workspace_root=str(workspace)))
    (found,) = (path for path in workspace.rglob(MODEL_FILE) if sites[0] in path.parts)
    model: Model = json.loads(found.read_text(encoding="utf-8"))
    return model


if __name__ == "__main__":
    run_inside(main)
