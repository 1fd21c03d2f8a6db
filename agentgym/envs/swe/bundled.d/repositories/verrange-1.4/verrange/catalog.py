"""Which packages there are, and what they require."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from dataclasses import dataclass, field

from verrange.constraint import Range, parse_range
from verrange.version import Version


@dataclass(frozen=True)
class Release:
    """One version of a package."""

    package: str
    version: Version
    requires: dict[str, Range] = field(default_factory=dict)

    def __str__(self) -> str:
        """Name package and version."""
        return f"{self.package} {self.version}"


class Catalog:
    """All releases that a resolver may choose from."""

    def __init__(self) -> None:
        self._releases: dict[str, dict[Version, Release]] = {}
        self._ordered: dict[str, list[Version]] = {}

    def add(self, package: str, version: str, requires: Mapping[str, str] | None = None) -> Release:
        """Add a release.

        Args:
            package: Its package.
            version: Its version.
            requires: For each package it needs, a range.

        Raises:
            ValueError: The package already has this version.
        """
        ranges = {name: parse_range(text) for name, text in (requires or {}).items()}
        release = Release(package, Version.parse(version), ranges)
        known = self._releases.setdefault(package, {})
        if release.version in known:
            raise ValueError(f"{release} is already there")
        known[release.version] = release
        insort(self._ordered.setdefault(package, []), release.version)
        return release

    @property
    def packages(self) -> list[str]:
        """The names of all packages, sorted."""
        return sorted(self._releases)

    def versions(self, package: str) -> list[Version]:
        """List the versions of a package, highest first; none if it is unknown."""
        return self._ordered.get(package, [])[::-1]

    def latest(self, package: str, pre: bool = False) -> Version | None:
        """Name the highest version of a package.

        Args:
            package: The package.
            pre: Whether pre-releases count.

        Returns:
            The version; ``None`` if there is none.
        """
        return next((v for v in self.versions(package) if pre or not v.pre), None)

    def release(self, package: str, version: Version) -> Release:
        """Look up a release; ``KeyError`` if there is none."""
        return self._releases[package][version]

    def outdated(self, chosen: Mapping[str, Version]) -> dict[str, Version]:
        """For each package that has a higher release than the chosen one, the highest.

        Pre-releases do not count, except for packages of which one is chosen.
        """
        newer = {}
        for package, current in sorted(chosen.items()):
            highest = self.latest(package, pre=bool(current.pre))
            if highest is not None and highest > current:
                newer[package] = highest
        return newer
