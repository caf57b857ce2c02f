"""A small picture as a PNG in a data URI: an image of pixels would be thousands of SVG rectangles."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode

import numpy as np

from fedleak.core.arrays import FloatArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREYSCALE, TRUECOLOUR = 0, 2  # colour types of the PNG header
UNGUESSED = 0.5  # mid-grey for a pixel that is NaN


def data_uri(pixels: FloatArray) -> str:
    """``pixels`` are (height, width) or (height, width, 3), from 0 to 1; what lies outside is clipped."""
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] != 3):
        raise ValueError(f"pixels must be (height, width) or (height, width, 3); got {pixels.shape}")
    known = np.where(np.isnan(pixels), UNGUESSED, pixels)
    levels = np.rint(255 * np.clip(known, 0, 1)).astype(np.uint8)
    height, width = levels.shape[:2]
    colour = TRUECOLOUR if levels.ndim == 3 else GREYSCALE
    rows = levels.reshape(height, -1)
    filtered = np.hstack([np.zeros((height, 1), np.uint8), rows])  # filter type 0, "none", before each row
    content = (
        SIGNATURE
        + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0))
        + _chunk(b"IDAT", zlib.compress(filtered.tobytes(), 9))
        + _chunk(b"IEND", b"")
    )
    return "data:image/png;base64," + b64encode(content).decode("ascii")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
