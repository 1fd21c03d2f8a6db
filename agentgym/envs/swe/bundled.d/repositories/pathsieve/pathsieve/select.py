"""Choosing among many paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pathsieve.glob import Pattern
from pathsieve.ignore import IgnoreRules
from pathsieve.paths import name_of, normalize, parents


def sift(
    paths: Iterable[str], include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> list[str]:
    """Choose files by patterns.

    Args:
        paths: The files.
        include: Patterns of which a file must match one; without a slash they are about its
            name. No pattern includes everything.
        exclude: Rules as in an ignore file.

    Returns:
        The chosen files in normal form, sorted, each once.
    """
    wanted = [(Pattern(text), "/" in text) for text in include]
    rules = IgnoreRules("\n".join(exclude))
    chosen = set()
    for path in map(normalize, paths):
        included = not wanted or any(
            pattern.matches(path if whole else name_of(path)) for pattern, whole in wanted
        )
        if included and not rules.ignores(path):
            chosen.add(path)
    return sorted(chosen)


class Tree:
    """Files in folders, as a listing of their paths.

    Args:
        paths: The files.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self.files = sorted({normalize(path) for path in paths})
        self.folders = sorted({folder for path in self.files for folder in parents(path)})

    def children(self, folder: str = "") -> list[str]:
        """List what lies directly in a folder, sub-folders with a slash at the end first."""
        depth = folder.count("/") + 1 if folder else 0
        prefix = folder + "/" if folder else ""

        def directly(path: str) -> bool:
            return path.startswith(prefix) and path.count("/") == depth

        folders = [name_of(path) + "/" for path in self.folders if directly(path)]
        return folders + [name_of(path) for path in self.files if directly(path)]

    def glob(self, pattern: str) -> list[str]:
        """List the files that match a pattern."""
        return Pattern(pattern).filter(self.files)

    def walk(self, rules: IgnoreRules, folder: str = "") -> Iterator[str]:
        """Go through the files that are not ignored, without entering ignored folders."""
        for name in self.children(folder):
            path = f"{folder}/{name}" if folder else name
            if name.endswith("/"):
                if not rules.ignores(path[:-1], folder=True):
                    yield from self.walk(rules, path[:-1])
            elif not rules.ignores(path):
                yield path
