"""Captures and views on disk: documented in docs/file-format.md, versioned, safe to read from strangers.

The truth is stored by ``fedleak.core.storage.truth``, which is not imported here: attacks must not
come near it.
"""

from fedleak.core.storage.capture import DiskSink, load_capture, save_capture
from fedleak.core.storage.guess import guess_to_bytes
from fedleak.core.storage.limits import Limits
from fedleak.core.storage.view import load_view, save_view

__all__ = ["DiskSink", "Limits", "guess_to_bytes", "load_capture", "load_view", "save_capture", "save_view"]
