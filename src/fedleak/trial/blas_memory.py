"""Memory that linear algebra works in, taken before somebody bounds it.

OpenBLAS takes a buffer of 32 MiB when a library is loaded or first multiplies, and keeps it. Where it gets none, it
tries for ever while it is loaded, and later ends the process with code 1, which is a finding's: neither is an error
that Python could tell. numpy and scipy each bring a library of their own.
"""

from __future__ import annotations

import mmap
import resource

import numpy as np

from fedleak.core.errors import InputError

BUFFER_BYTES = 32 << 20
LIBRARY_BYTES = 96 << 20  # what loading scipy's maps besides
N_ROWS = 160  # smaller products need no buffer
LEAST_ADDRESS_SPACE = 512 << 20  # below it, not even what we import fits beside its buffers
KIB = 1 << 10


def take_blas_memory() -> None:
    """Load both libraries and have each take its buffer; MemoryError where there is no room for them."""
    _check_room(BUFFER_BYTES)
    square = np.ones((N_ROWS, N_ROWS))
    np.matmul(square, square)
    _check_room(BUFFER_BYTES + LIBRARY_BYTES)
    from scipy.linalg.blas import dgemm

    dgemm(1.0, square, square)


def _check_room(n_bytes: int) -> None:
    try:
        mmap.mmap(-1, 2 * n_bytes).close()  # twice: others take some between this and the use
    except (OSError, ValueError) as error:
        raise MemoryError(f"linear algebra needs {2 * n_bytes >> 20} MiB of address space") from error


def settle_blas_memory() -> None:
    """For a process whose address space is bounded from outside, as ``ulimit -v`` does; others have nothing to fear."""
    bound, _ = resource.getrlimit(resource.RLIMIT_AS)
    if bound == resource.RLIM_INFINITY:
        return
    if bound < LEAST_ADDRESS_SPACE:
        raise InputError(
            f"the address space must be at least {LEAST_ADDRESS_SPACE // KIB} KiB; got {bound // KIB}. "
            "Raise it with: ulimit -v"
        )
    take_blas_memory()
