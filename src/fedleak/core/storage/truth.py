"""The truth about a run, in a folder apart from its views. Attacks may not import this module."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from fedleak.core.errors import FileFormatError
from fedleak.core.secret import Secret
from fedleak.core.storage.folder import FolderKind
from fedleak.core.storage.folder_reader import FolderReader
from fedleak.core.storage.folder_writer import FolderWriter
from fedleak.core.storage.limits import DEFAULT_LIMITS, Limits
from fedleak.core.truth import SecretValues, Served, Truth


@dataclass(frozen=True)
class TruthContent:
    secrets: tuple[Secret, ...]  # one entry each, in this order
    served: bool = False  # a last entry has the model that was served


@dataclass(frozen=True, eq=False)
class TrueSecret:
    secret: Secret
    values: SecretValues


TRUTH = FolderKind("truth", TruthContent, {"secret": TrueSecret, "served": Served})


def save_truth(
    truth: Truth, path: str | PathLike[str], *, overwrite: bool = False, limits: Limits = DEFAULT_LIMITS
) -> None:
    with FolderWriter(Path(path), TRUTH, limits, overwrite=overwrite) as writer:
        for secret in truth.secrets:
            writer.add(TrueSecret(secret, truth.of(secret)))
        if truth.served is not None:
            writer.add(truth.served)
        writer.finish(TruthContent(tuple(truth.secrets), truth.served is not None))


def load_truth(path: str | PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Truth:
    folder = FolderReader(Path(path), TRUTH, limits)
    found = [entry for _, entry in folder.entries()]
    entries = [entry for entry in found if isinstance(entry, TrueSecret)]
    served = [entry for entry in found if isinstance(entry, Served)]
    secrets = tuple(entry.secret for entry in entries)
    if len(served) != int(folder.content.served):
        raise FileFormatError(f"{path} must hold the served model that its header promises, once; got {len(served)}")
    if secrets != folder.content.secrets or len(set(secrets)) != len(secrets):
        raise FileFormatError(f"{path} must hold the secrets that its header lists, each once; got others")
    return Truth({entry.secret: entry.values for entry in entries}, served[0] if served else None)
