"""Disks of tests: one that nothing is forced to, and one on which no file may grow."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def force_nothing() -> None:
    """Let this process, and what it forks, leave to the kernel when a file reaches the disk.

    Every run forces fifty files, and each would wait for the disk: two to twenty milliseconds, in
    which its worker does nothing. Only a loss of power could tell the difference.
    """
    os.fsync = lambda number: None


def limit_file_size(size: int) -> None:
    """Let no file that this process writes grow beyond ``size`` bytes.

    A module that is imported under the limit is not cached: Python would keep the cut bytecode,
    and every later import of it would fail.
    """
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Limit the size of files as :func:`limit_file_size` does, for a while."""
    writes_no_bytecode = sys.dont_write_bytecode
    soft = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    limit_file_size(size)
    try:
        yield
    finally:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = writes_no_bytecode
