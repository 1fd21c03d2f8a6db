"""The bundled tasks: small libraries of our own, and faults in them that were validated once.

They lie as ``agentgym swe build`` lays tasks out, except that the names of the libraries' files end
in ``.txt``: they are data, in which tasks plant faults, and no tool takes them for code of the
package. :func:`library` unpacks one.
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
"""The libraries, one folder each."""
SUFFIX = ".txt"
"""What the name of each of their files ends in, beyond its own."""
FILES: Mapping[str, str] = {"bundled": INSTANCES, "bundled-tokens": "tokens.jsonl"}
"""The sets, by name, and the files in which their tasks stand."""
BANKS: Mapping[str, str] = {"bundled": f"{HELD_OUT}/tasks", "bundled-tokens": HELD_OUT}
"""The folders of their held-out questions."""


class BundledInstances(StoredInstances):
    """The tasks of a bundled set, whose libraries are unpacked before they are read."""

    def folder_of(self, repo: str) -> Path:
        """Return where a library lies unpacked."""
        return _library_in(cache_folder(), repo)


@cache
def bundled_instances(
    name: str = "bundled", *, hidden_tests: bool = False, difficulty: str | None = None
) -> BundledInstances:
    """Return a bundled set: splits ``train``, ``valid`` and ``test``, disjoint by library.

    Args:
        name: Its name, a key of :data:`FILES`.
        hidden_tests: Whether the tests that decide are left out of the repositories.
        difficulty: Level of the tasks; None: all of them.

    Raises:
        DataError: The installation lacks them.
    """
    return BundledInstances(
        BUNDLED,
        FILES[name],
        banks=BANKS[name],
        hidden_tests=hidden_tests,
        difficulty=difficulty,
    )


def library(name: str) -> Path:
    """Unpack a bundled library, and return the folder in the cache that has its name.

    Raises:
        DataError: The installation lacks it.
        EnvFailure: The folder can be written nowhere.
    """
    packed = read_files(REPOSITORIES / name)
    files = {path.removesuffix(SUFFIX): content for path, content in packed.items()}
    folder = cached_files("libraries", name, files, lambda new: write_tree(new / name, files))
    return folder / name


@cache
def _library_in(cache: Path, name: str) -> Path:
    """Unpack a library once in a process and cache folder: its files do not change."""
    return library(name)
