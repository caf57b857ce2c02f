"""Captures and views on disk: documented in docs/file-format.md, versioned, safe to read from strangers.

The truth is stored by ``fedleak.storage.capture_and_truth``, which is not imported here: attacks must not
come near it.
"""

from fedleak.storage.capture_and_truth import DiskSink, load_capture, save_capture
from fedleak.storage.safe_files import Limits
from fedleak.storage.view_and_guess import guess_to_bytes, load_view, save_view

__all__ = ["DiskSink", "Limits", "guess_to_bytes", "load_capture", "load_view", "save_capture", "save_view"]
