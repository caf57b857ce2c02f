"""The file format: documented in docs/file-format.md, versioned, safe to read from strangers.

Here stands what the process of an attack needs. Whole runs and their truth are stored by
``fedleak.storage.capture_and_truth``, which is not imported here: attacks must not come near it.
"""

from fedleak.storage.safe_files import Limits
from fedleak.storage.view_and_guess import guess_to_bytes, load_view, save_view

__all__ = ["Limits", "guess_to_bytes", "load_view", "save_view"]
