"""The truth about a run, in a folder apart from its views. Attacks may not import this module."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import cast

from fedleak.core.errors import FileFormatError
from fedleak.core.secret import Secret
from fedleak.core.storage.folder import FolderKind
from fedleak.core.storage.folder_reader import FolderReader
from fedleak.core.storage.folder_writer import FolderWriter
from fedleak.core.storage.limits import DEFAULT_LIMITS, Limits
from fedleak.core.truth import SecretValues, Truth


@dataclass(frozen=True)
class TruthContent:
    secrets: tuple[Secret, ...]  # one entry each, in this order


@dataclass(frozen=True, eq=False)
class TrueSecret:
    secret: Secret
    values: SecretValues


TRUTH = FolderKind("truth", TruthContent, {"secret": TrueSecret})


def save_truth(
    truth: Truth, path: str | PathLike[str], *, overwrite: bool = False, limits: Limits = DEFAULT_LIMITS
) -> None:
    with FolderWriter(Path(path), TRUTH, limits, overwrite=overwrite) as writer:
        for secret, values in truth.secrets.items():
            writer.add(TrueSecret(secret, values))
        writer.finish(TruthContent(tuple(truth.secrets)))


def load_truth(path: str | PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> Truth:
    folder = FolderReader(Path(path), TRUTH, limits)
    entries = [cast(TrueSecret, entry) for _, entry in folder.entries()]
    secrets = tuple(entry.secret for entry in entries)
    if secrets != folder.content.secrets or len(set(secrets)) != len(secrets):
        raise FileFormatError(f"{path} must hold the secrets that its header lists, each once; got others")
    return Truth({entry.secret: entry.values for entry in entries})
