"""The bundled tasks: small libraries written for agentgym, and validated faults in them.

The layout is that of ``agentgym swe build``, except that ``.txt`` is appended to the names of the
libraries' files: they are data that tasks modify, and linters, type checkers and packaging tools
must not take them for modules of the package. :func:`library` unpacks one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from agentgym.envs.swe import stored_instances as stored
from agentgym.envs.swe.stored_instances import HELD_OUT, INSTANCES, StoredInstances
from agentgym.envs.swe.trees import cached_files, read_files, write_tree
from agentgym.support.caching import cache_folder

BUNDLED = Path(__file__).parent / "bundled.d"
"""The folder of the tasks."""
REPOSITORIES = BUNDLED / stored.REPOSITORIES
"""The folder of the libraries, with one subfolder each."""
SUFFIX = ".txt"
"""Suffix appended to the name of every file of a library."""
FILES: Mapping[str, str] = {"bundled": INSTANCES, "bundled-tokens": "tokens.jsonl"}
"""Name of a set -> file with its tasks, relative to :data:`BUNDLED`."""
BANKS: Mapping[str, str] = {"bundled": f"{HELD_OUT}/tasks", "bundled-tokens": HELD_OUT}
"""Name of a set -> folder with its held-out questions, relative to :data:`BUNDLED`."""


class BundledInstances(StoredInstances):
    """The tasks of a bundled set; a library is unpacked into the cache before it is read."""

    def folder_of(self, repo: str) -> Path:
        """Return the folder of the unpacked library."""
        return _library_in(cache_folder(), repo)


@cache
def bundled_instances(
    name: str = "bundled", *, hidden_tests: bool = False, difficulty: str | None = None
) -> BundledInstances:
    """Return a bundled set: splits ``train``, ``valid`` and ``test``, disjoint by library.

    Args:
        name: Its name, a key of :data:`FILES`.
        hidden_tests: Whether the deciding tests are removed from the repositories.
        difficulty: Keep only tasks of this level; None: all levels.

    Raises:
        ConfigurationError: The set has no task of this difficulty.
        DataError: The installation lacks the data.
    """
    return BundledInstances(
        BUNDLED,
        FILES[name],
        banks=BANKS[name],
        hidden_tests=hidden_tests,
        difficulty=difficulty,
    )


def library(name: str) -> Path:
    """Unpack a bundled library into the cache and return its folder.

    Raises:
        DataError: The installation lacks the library.
        EnvFailure: The cache cannot be written.
    """
    packed = read_files(REPOSITORIES / name)
    files = {path.removesuffix(SUFFIX): content for path, content in packed.items()}
    folder = cached_files("libraries", name, files, lambda new: write_tree(new / name, files))
    return folder / name


@cache
def _library_in(cache: Path, name: str) -> Path:
    """Unpack a library once per process and cache folder: its files do not change."""
    return library(name)
