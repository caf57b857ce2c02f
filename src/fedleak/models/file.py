"""A model in a file: an .npz archive of its arrays with a JSON header. No pickle, bounded sizes."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np

from fedleak.core.errors import FileFormatError, UnreadableModelError
from fedleak.core.payload import ARRAY_KINDS, ModelSpec
from fedleak.models.interpret import interpret
from fedleak.models.model import Model
from fedleak.models.opaque import OpaqueModel

HEADER = "header"
MAX_FILE_BYTES = 1 << 30
MAX_HEADER_BYTES = 1 << 20


def save_model(model: Model, path: Path) -> None:
    """Write the model under a temporary name, then rename."""
    if isinstance(model, OpaqueModel):
        raise UnreadableModelError(
            f"{model.about} cannot be written to a file: {model.why}. Audit the object with fedleak.adapters.own_model"
        )
    spec = model.to_spec()
    header = json.dumps({"kind": spec.kind, "config": dict(spec.config)}, ensure_ascii=False).encode()
    temporary = path.with_name(f".{path.name}.partial.npz")
    np.savez(temporary, **{HEADER: np.frombuffer(header, dtype=np.uint8)}, **dict(spec.arrays))  # type: ignore[arg-type]
    temporary.replace(path)


def load_model(path: Path) -> Model:
    """Read a model that ``save_model`` wrote; every defect is one line that names the file."""
    try:
        _check_size(path)
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except OSError as error:
        raise FileFormatError(f"{path}: the model cannot be read ({error.strerror or error})") from error
    except (ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        raise FileFormatError(f"{path}: a model must be an .npz archive of plain arrays ({error})") from error
    try:
        header = json.loads(arrays.pop(HEADER).tobytes().decode()[:MAX_HEADER_BYTES])
        kind, config = header["kind"], header["config"]
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise FileFormatError(f"{path}: a model must have a JSON header with kind and config") from error
    if not isinstance(kind, str) or not isinstance(config, dict):
        raise FileFormatError(f"{path}: a model's header must hold a kind and a table of settings")
    for name, array in arrays.items():
        if array.dtype.kind not in ARRAY_KINDS:
            raise FileFormatError(f"{path}: array {name!r} must hold numbers; got {array.dtype}")
    return interpret(ModelSpec(kind, config, arrays))


def _check_size(path: Path) -> None:
    if path.stat().st_size > MAX_FILE_BYTES:
        raise FileFormatError(f"{path}: a model file must be at most {MAX_FILE_BYTES} bytes")
    with zipfile.ZipFile(path) as archive:
        total = sum(entry.file_size for entry in archive.infolist())
    if total > MAX_FILE_BYTES:
        raise FileFormatError(f"{path}: a model must unpack to at most {MAX_FILE_BYTES} bytes; it would take {total}")
