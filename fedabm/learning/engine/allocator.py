"""Memory that a step of training frees stays with the process, as the next step asks for it again.

By itself the C library of Linux hands large freed blocks back to the system at once, and every step then fetches them
page by page: 20,000 pages for a round of 30 owners with `small_cnn`, a fifth of its time with one thread and more with
two, which wait for each other there.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform

__all__ = ["keep_memory"]

#: bytes that may lie unused at the end of a heap, and the largest block that comes from a heap (as large as can be)
_UNUSED, _BLOCK = 256 * 2**20, 32 * 2**20
#: the names of both in malloc.h, and what a user says them with
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_SAID = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD")


@functools.cache
def keep_memory() -> bool:
    """Keep freed memory, once per process; False where that is left to the user or to another C library."""
    if platform.libc_ver()[0] != "glibc" or any(os.environ.get(name) for name in _SAID):
        return False
    settings = ((_TRIM_THRESHOLD, _UNUSED), (_MMAP_THRESHOLD, _BLOCK))
    return all(ctypes.CDLL(None).mallopt(which, value) == 1 for which, value in settings)
