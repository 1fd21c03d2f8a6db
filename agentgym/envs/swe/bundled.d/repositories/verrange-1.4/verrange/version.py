"""Semantic versions, after https://semver.org/spec/v2.0.0.html."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import total_ordering

from verrange.errors import VersionError

NUMBER = r"0|[1-9]\d*"
PATTERN = re.compile(
    rf"v?(?P<major>{NUMBER})\.(?P<minor>{NUMBER})\.(?P<patch>{NUMBER})"
    r"(?:-(?P<pre>[0-9A-Za-z.-]+))?(?:\+(?P<build>[0-9A-Za-z.-]+))?"
)


@total_ordering
@dataclass(frozen=True, eq=False)
class Version:
    """A version such as ``1.4.0-rc.1+build5``; the build takes no part in comparisons."""

    major: int
    minor: int = 0
    patch: int = 0
    pre: tuple[int | str, ...] = ()
    """The parts of the pre-release; empty for a release."""
    build: str = field(default="")

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read a version; a leading ``v`` is allowed.

        Raises:
            VersionError: The text is no semantic version.
        """
        match = PATTERN.fullmatch(text.strip())
        if match is None:
            raise VersionError(f"{text!r} is not a version such as 1.2.3")
        pre = parse_pre(match["pre"]) if match["pre"] else ()
        major, minor, patch = (int(match[name]) for name in ("major", "minor", "patch"))
        return cls(major, minor, patch, pre, match["build"] or "")

    @property
    def release(self) -> tuple[int, int, int]:
        """The three numbers."""
        return self.major, self.minor, self.patch

    @property
    def is_stable(self) -> bool:
        """Whether it is neither a pre-release nor before 1.0.0."""
        return self.major > 0 and not self.pre

    def bump(self, part: str) -> Version:
        """Make the next version.

        Args:
            part: ``major``, ``minor``, ``patch`` or ``pre``. A pre-release becomes its release
                where that is already the next one of its part.
        """
        place = {"major": 0, "minor": 1, "patch": 2, "pre": 2}.get(part)
        if place is None:
            raise ValueError(f"a part is major, minor, patch or pre, not {part!r}")
        kept, behind = self.release[: place + 1], self.release[place + 1 :]
        if not (self.pre and not any(behind)):
            kept = (*kept[:-1], kept[-1] + 1)
        return Version(*kept, *(0 for _ in behind), _next_pre(self.pre) if part == "pre" else ())

    def _key(self) -> tuple[object, ...]:
        """A key that sorts as the specification says: numbers before words, pre before release."""
        parts = tuple((0, part, "") if isinstance(part, int) else (1, 0, part) for part in self.pre)
        return (*self.release, not self.pre, parts)

    def __eq__(self, other: object) -> bool:
        """Compare without the build."""
        return isinstance(other, Version) and self._key() == other._key()

    def __lt__(self, other: Version) -> bool:
        """Compare by precedence."""
        return self._key() < other._key()

    def __hash__(self) -> int:
        """Hash what is compared."""
        return hash(self._key())

    def __str__(self) -> str:
        """Write the version."""
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.pre:
            text += "-" + ".".join(str(part) for part in self.pre)
        return f"{text}+{self.build}" if self.build else text

    def __repr__(self) -> str:
        """Show the version in short."""
        return f"Version {self}"


def parse_pre(text: str) -> tuple[int | str, ...]:
    """Split a pre-release at its points; parts of digits only are numbers."""
    parts: list[int | str] = []
    for part in text.split("."):
        if not part or (part.isdigit() and len(part) > 1 and part[0] == "0"):
            raise VersionError(f"{text!r} is not a pre-release such as rc.1")
        parts.append(int(part) if part.isdigit() else part)
    return tuple(parts)


def _next_pre(pre: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Count up the last number of a pre-release, or append one."""
    if not pre:
        return ("rc", 1)
    last = pre[-1]
    return (*pre[:-1], last + 1) if isinstance(last, int) else (*pre, 1)
