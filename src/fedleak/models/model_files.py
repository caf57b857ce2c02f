"""A model from a file, whoever wrote it: fedleak, XGBoost (JSON, UBJSON) or LightGBM (text). Nothing is unpickled."""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile, ZipFile

from fedleak.core.errors import FileFormatError, InputError, UnreadableModelError
from fedleak.core.visible_text import one_line
from fedleak.models.interpret import HEADER, MAX_FILE_BYTES, load_model
from fedleak.models.lightgbm_model import FIRST_LINE, from_lightgbm
from fedleak.models.model import Model
from fedleak.models.xgboost_model import from_xgboost

ARCHIVE, OBJECT, PICKLE = b"PK", b"{", b"\x80"


def is_model_file(path: Path) -> bool:
    """By its first bytes; of an archive by what lies in it, for tables and gradients are archives too. A pickle counts:
    who reads it says why it is not taken."""
    if not path.is_file():  # a pipe would be emptied by looking
        return False
    try:
        with path.open("rb") as file:
            start = file.read(len(FIRST_LINE))
        if start.startswith(ARCHIVE):
            with ZipFile(path) as archive:
                return f"{HEADER}.npy" in archive.namelist()
    except (OSError, BadZipFile, ValueError, NotImplementedError):
        return False
    return start[:1] in (OBJECT, PICKLE) or start == FIRST_LINE


def read_model_file(path: Path) -> Model:
    """Its first bytes say whose it is, not its name; every defect is one line that names the file."""
    if path.exists() and not path.is_file():
        raise FileFormatError(f"{path} must be a regular file; got a folder, a device or a pipe")
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(len(FIRST_LINE))
            # no more than there is: asked for the bound, Python sets that much memory aside
            data = b"" if start.startswith(ARCHIVE) else start + file.read(min(size, MAX_FILE_BYTES))
    except OSError as error:
        raise FileFormatError(f"{path} must be a file that can be read; got: {error.strerror or error}") from error
    if start.startswith(ARCHIVE):
        return load_model(path)
    if len(data) > MAX_FILE_BYTES:
        raise FileFormatError(f"{path} must be at most {MAX_FILE_BYTES:,} bytes")
    readers = {OBJECT: from_xgboost, FIRST_LINE[:1]: from_lightgbm}
    if start[:1] not in readers or (start[:1] == FIRST_LINE[:1] and start != FIRST_LINE):
        pickled = (
            " (it looks like a pickle, which could run anything: load it yourself, in Python, and give the object to "
            "fedleak.audit_model)"
        )
        raise FileFormatError(
            f"{path} must be a model saved by fedleak, by XGBoost as .json or .ubj, or by LightGBM as text"
            f"{pickled if start.startswith(PICKLE) else ''}"
        )
    try:
        return readers[start[:1]](data)
    except (FileFormatError, UnreadableModelError, InputError) as error:
        raise type(error)(f"{path}: {one_line(str(error))}") from error  # names that the file gives are in it
