"""Catalogues and choosing versions."""

import pytest
from verrange import Catalog, NoSolution, Version, resolve


def catalog_of(*releases):
    """A catalogue of releases such as ``web 1.0.0 core=^1 log=*``."""
    catalog = Catalog()
    for release in releases:
        package, version, *needs = release.split()
        catalog.add(package, version, dict(need.split("=", 1) for need in needs))
    return catalog


def chosen(catalog, prefer=None, **requirements):
    """The chosen versions as texts."""
    versions = resolve(catalog, requirements, prefer)
    return {package: str(version) for package, version in versions.items()}


def test_highest_version():
    """The highest version that fits is chosen."""
    catalog = catalog_of("core 1.0.0", "core 1.10.0", "core 1.9.0", "core 2.0.0")
    assert chosen(catalog, core="^1") == {"core": "1.10.0"}


def test_needed_by_another_package():
    """Packages that a chosen one requires are chosen, too."""
    catalog = catalog_of("web 1.0.0 core=^1", "core 1.2.0", "core 2.0.0")
    assert chosen(catalog, web="*") == {"core": "1.2.0", "web": "1.0.0"}


def test_packages_that_nobody_needs():
    """Packages that nobody requires are not chosen."""
    assert chosen(catalog_of("web 1.0.0", "core 1.0.0"), web="*") == {"web": "1.0.0"}


def test_names_are_sorted():
    """The chosen versions come in alphabetical order of their packages."""
    assert list(chosen(catalog_of("b 1.0.0", "a 1.0.0"), b="*", a="*")) == ["a", "b"]


def test_shared_requirement():
    """A package that two others require must fit both."""
    catalog = catalog_of("a 1.0.0 c=<2", "b 1.0.0 c=>=1.5", "c 1.4.0", "c 1.6.0", "c 2.0.0")
    assert chosen(catalog, a="*", b="*")["c"] == "1.6.0"


def test_lower_version_of_the_first_package():
    """A lower version of a package is taken where the highest one leads to a conflict."""
    catalog = catalog_of("a 2.0.0 c=^2", "a 1.0.0 c=^1", "b 1.0.0 c=^1", "c 1.0.0", "c 2.0.0")
    assert chosen(catalog, a="*", b="*") == {"a": "1.0.0", "b": "1.0.0", "c": "1.0.0"}


def test_requirement_on_a_package_that_is_decided():
    """A version that requires another version of a package already decided is passed over."""
    catalog = catalog_of("c 1.0.0", "b 2.0.0 c=^2", "b 1.0.0 c=^1")
    assert chosen(catalog, c="*", b="*") == {"b": "1.0.0", "c": "1.0.0"}


def test_packages_that_need_each_other():
    """Two packages may require each other."""
    catalog = catalog_of("a 1.0.0 b=*", "b 1.0.0 a=*")
    assert chosen(catalog, a="*") == {"a": "1.0.0", "b": "1.0.0"}


def test_preferred_version():
    """A preferred version is kept although there is a higher one."""
    catalog = catalog_of("core 1.0.0", "core 1.1.0")
    assert chosen(catalog, {"core": Version(1, 0, 0)}, core="^1") == {"core": "1.0.0"}


def test_preferred_version_that_does_not_fit():
    """A preferred version that does not fit is not kept."""
    catalog = catalog_of("core 1.0.0", "core 2.1.0")
    assert chosen(catalog, {"core": Version(1, 0, 0)}, core="^2") == {"core": "2.1.0"}


def test_unknown_package():
    """A package that is not in the catalogue has no version that fits."""
    with pytest.raises(NoSolution, match=r"no version of ghost fits: you requires"):
        resolve(Catalog(), {"ghost": "^1"})


def test_conflict_names_everyone():
    """The message about a conflict names everyone who requires the package."""
    catalog = catalog_of("a 1.0.0 c=^1", "b 1.0.0 c=^2", "c 1.0.0", "c 2.0.0")
    with pytest.raises(NoSolution) as info:
        resolve(catalog, {"a": "*", "b": "*"})
    assert info.value.reasons == [
        "a 1.0.0 requires >=1.0.0 <2.0.0",
        "b 1.0.0 requires >=2.0.0 <3.0.0",
    ]


def test_first_failure_is_reported():
    """Of several failures the one of the highest version is reported."""
    catalog = catalog_of("a 2.0.0 x=*", "a 1.0.0 y=*")
    with pytest.raises(NoSolution, match=r"no version of x fits"):
        resolve(catalog, {"a": "*"})


def test_no_requirements():
    """Without requirements nothing is chosen."""
    assert resolve(catalog_of("a 1.0.0"), {}) == {}


def test_same_release_twice():
    """A release can be added to a catalogue only once."""
    with pytest.raises(ValueError, match=r"a 1.0.0 is already there"):
        catalog_of("a 1.0.0", "a 1.0.0")


def test_versions_highest_first():
    """The versions of a package are listed highest first."""
    versions = catalog_of("a 1.0.0", "a 1.10.0", "a 1.9.0").versions("a")
    assert [str(version) for version in versions] == ["1.10.0", "1.9.0", "1.0.0"]


def test_versions_of_an_unknown_package():
    """A package that is not in the catalogue has no versions."""
    assert Catalog().versions("a") == []


def test_packages():
    """The packages of a catalogue are listed in alphabetical order."""
    assert catalog_of("b 1.0.0", "a 1.0.0").packages == ["a", "b"]


def test_outdated():
    """A package with a higher release than the chosen one is outdated."""
    catalog = catalog_of("a 1.0.0", "a 2.0.0", "b 1.0.0")
    assert catalog.outdated({"a": Version(1), "b": Version(1)}) == {"a": Version(2)}


def test_pre_releases_make_nothing_outdated():
    """A release is not outdated by a pre-release."""
    assert catalog_of("a 1.0.0", "a 2.0.0-rc.1").outdated({"a": Version(1)}) == {}


def test_chosen_pre_release_is_outdated():
    """A pre-release is outdated by a later pre-release."""
    catalog = catalog_of("a 2.0.0-rc.1", "a 2.0.0-rc.2")
    outdated = catalog.outdated({"a": Version.parse("2.0.0-rc.1")})
    assert outdated == {"a": Version.parse("2.0.0-rc.2")}


def test_latest():
    """The latest version of a package is the highest release, or pre-release if these count."""
    catalog = catalog_of("a 1.9.0", "a 1.10.0", "a 2.0.0-rc.1")
    assert (str(catalog.latest("a")), str(catalog.latest("a", pre=True))) == (
        "1.10.0",
        "2.0.0-rc.1",
    )


def test_latest_of_an_unknown_package():
    """A package that is not in the catalogue has no latest version."""
    assert Catalog().latest("a") is None


def test_listing_leaves_the_catalogue_alone():
    """What is done to a list of versions does not reach the catalogue."""
    catalog = catalog_of("a 1.0.0", "a 2.0.0")
    catalog.versions("a").clear()
    assert [str(version) for version in catalog.versions("a")] == ["2.0.0", "1.0.0"]
