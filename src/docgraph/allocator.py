"""Memory of long documents: keep what was freed, for the next tensor."""

from __future__ import annotations

import ctypes

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""glibc's names for two parameters of mallopt(3)."""


def keep_freed_memory() -> None:
    """Have glibc keep freed blocks of up to 2 GB; with another C library, do nothing.

    By default it gives every block above 32 MB back to the kernel, so that each operation on a long document pays for
    fresh, zeroed pages: two to three times the time a word at 64,000 words. Commands that run the model call this
    before they load it; a program that uses docgraph as a library may.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(MMAP_THRESHOLD, (1 << 31) - 1)
    mallopt(TRIM_THRESHOLD, -1)  # never
