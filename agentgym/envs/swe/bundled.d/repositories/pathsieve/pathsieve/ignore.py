"""Ignore files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pathsieve.glob import Pattern
from pathsieve.paths import name_of, parents, relative


@dataclass(frozen=True)
class Rule:
    """One line of an ignore file."""

    text: str
    pattern: Pattern
    negated: bool
    """Whether it takes back what earlier rules ignore."""
    folders_only: bool
    anchored: bool
    """Whether it is about whole paths and not about names in any folder."""
    base: str = ""
    """The folder of the ignore file."""
    line: int = 0

    def matches(self, path: str, folder: bool = False) -> bool:
        """Tell whether the rule is about this very path.

        Args:
            path: The path.
            folder: Whether it is a folder.
        """
        if self.folders_only and not folder:
            return False
        inside = relative(path, self.base)
        if inside is None:
            return False
        return self.pattern.matches(inside if self.anchored else name_of(inside))


def parse_rule(line: str, base: str = "", number: int = 0) -> Rule | None:
    """Read a line of an ignore file; empty lines and comments are no rules."""
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    body = text
    negated = body.startswith("!")
    if negated:
        body = body[1:]
    folders_only = body.endswith("/")
    body = body.rstrip("/")
    if not body:
        return None
    anchored = "/" in body
    pattern = Pattern(body.removeprefix("/"))
    return Rule(text, pattern, negated, folders_only, anchored, base, number)


class IgnoreRules:
    """The rules of one or more ignore files.

    Args:
        text: The lines of an ignore file in the root.
    """

    def __init__(self, text: str = "") -> None:
        self.rules: list[Rule] = []
        self.add(text)

    def add(self, text: str, base: str = "") -> None:
        """Add the lines of another ignore file; it overrides the ones before.

        Args:
            text: Its lines.
            base: The folder where it lies; its rules are about what is in this folder.
        """
        for number, line in enumerate(text.splitlines(), start=1):
            rule = parse_rule(line, base, number)
            if rule is not None:
                self.rules.append(rule)

    def explain(self, path: str, folder: bool = False) -> Rule | None:
        """Find the rule that decides about a path: the last one about it or a folder above it.

        A folder that is ignored decides about everything in it. ``None`` means that no rule is
        about the path.
        """
        for parent in parents(path):
            rule = self._last(parent, folder=True)
            if rule is not None and not rule.negated:
                return rule
        return self._last(path, folder)

    def ignores(self, path: str, folder: bool = False) -> bool:
        """Tell whether a path is ignored."""
        rule = self.explain(path, folder)
        return rule is not None and not rule.negated

    def keep(self, paths: Iterable[str]) -> list[str]:
        """Keep the files that are not ignored, in their order."""
        return [path for path in paths if not self.ignores(path)]

    def _last(self, path: str, folder: bool) -> Rule | None:
        for rule in reversed(self.rules):
            if rule.matches(path, folder):
                return rule
        return None
