"""Choosing versions that fit together."""

from __future__ import annotations

from collections.abc import Mapping

from verrange.catalog import Catalog
from verrange.constraint import Range, parse_range
from verrange.errors import NoSolution
from verrange.version import Version

Demands = dict[str, list[tuple[str, Range]]]
"""For each package, who requires it and in which range."""


def resolve(
    catalog: Catalog,
    requirements: Mapping[str, str],
    prefer: Mapping[str, Version] | None = None,
) -> dict[str, Version]:
    """Choose a version for every package that is needed, directly or by another one.

    Packages are decided in the order in which they become needed, each with the highest version
    that fits; where that leads nowhere, lower versions are tried.

    Args:
        catalog: The releases.
        requirements: For each package that is wanted, a range.
        prefer: Versions to be kept where they fit, such as those installed now.

    Returns:
        The versions, by package in alphabetical order.

    Raises:
        NoSolution: Nothing fits; the error is that of the first failure.
    """
    demands: Demands = {
        package: [("you", parse_range(text))] for package, text in requirements.items()
    }
    chosen = _search(catalog, demands, {}, prefer or {})
    return dict(sorted(chosen.items()))


def candidates(
    catalog: Catalog, package: str, ranges: list[Range], preferred: Version | None = None
) -> list[Version]:
    """List the versions of a package that are in all ranges: the preferred one, then downwards."""
    fitting = catalog.versions(package)
    for allowed in ranges:
        fitting = allowed.filter(fitting)
    return sorted(fitting, key=lambda version: version != preferred)


def _search(
    catalog: Catalog,
    demands: Demands,
    chosen: dict[str, Version],
    prefer: Mapping[str, Version],
) -> dict[str, Version]:
    """Depth-first search over the packages that are not yet decided."""
    package = next((name for name in demands if name not in chosen), None)
    if package is None:
        return chosen
    ranges = [allowed for _, allowed in demands[package]]
    failure: NoSolution | None = None
    for version in candidates(catalog, package, ranges, prefer.get(package)):
        requires = catalog.release(package, version).requires
        extended = _extend(demands, f"{package} {version}", requires)
        try:
            _check(extended, {**chosen, package: version})
            return _search(catalog, extended, {**chosen, package: version}, prefer)
        except NoSolution as error:
            failure = failure or error
    raise failure or NoSolution(package, _reasons(demands[package]))


def _extend(demands: Demands, source: str, requires: Mapping[str, Range]) -> Demands:
    """Add what a release requires to the demands."""
    extended = {name: list(items) for name, items in demands.items()}
    for name, allowed in requires.items():
        extended.setdefault(name, []).append((source, allowed))
    return extended


def _check(demands: Demands, chosen: Mapping[str, Version]) -> None:
    """Raise if a package that is decided no longer fits."""
    for name, version in chosen.items():
        if any(version not in allowed for _, allowed in demands[name]):
            raise NoSolution(name, _reasons(demands[name]))


def _reasons(items: list[tuple[str, Range]]) -> list[str]:
    return [f"{source} requires {allowed}" for source, allowed in items]
