"""The code of an environment family, for folders that need no published agentgym.

A folder for a hub contains a copy of agentgym, and of the package that adds the family if it is not
one of agentgym's own.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement

import agentgym.registration as registration
from agentgym import errors
from agentgym.errors import DISTRIBUTION, ConfigurationError
from agentgym.registration.families import GROUP
from agentgym.registration.making import resolve
from agentgym.support.caching import SCRATCH, publish
from agentgym.support.folder_lock import holds_other_files

PYTHON = {"python_version": "3.12", "python_full_version": "3.12.0"}
"""The Python for which requirements are listed."""
UNWANTED = shutil.ignore_patterns("__pycache__", "*.py[co]")


@dataclass(frozen=True)
class FamilyCode:
    """What a folder needs to make the environments of a family."""

    family: registration.EnvFamily
    """The family."""
    short: str
    """Name of the environment for folders: ``webshop``, or ``webshop-easy`` for a task set."""
    version: str
    """Version of agentgym."""
    requirements: tuple[str, ...]
    """Requirements of all the code."""
    own_packages: tuple[Path, ...] = ()
    """Packages and modules that add the family; empty for agentgym's own."""
    entry_point: str = ""
    """The entry point of these, as ``name = "module:attribute"``."""

    @property
    def dependencies(self) -> str:
        """The requirements as lines of a TOML list."""
        return "\n".join(f"    {json.dumps(requirement)}," for requirement in self.requirements)

    @property
    def description(self) -> str:
        """The description of the family as a string of TOML."""
        return json.dumps(self.family.summary, ensure_ascii=False)

    @property
    def entry_points(self) -> str:
        """The entry point as a table of ``pyproject.toml``; empty for agentgym's own families."""
        if not self.entry_point:
            return ""
        return f'\n[project.entry-points."{GROUP}"]\n{self.entry_point}\n'

    @property
    def own_names(self) -> str:
        """Names of the own packages for a list in TOML, each after a comma."""
        return "".join(f", {json.dumps(path.name)}" for path in self.own_packages)

    def write(self, folder: Path, texts: Mapping[str, str], agentgym_in: str) -> None:
        """Write a folder with texts and the code, whole or not at all.

        Args:
            folder: The folder.
            texts: Texts of files, by their paths.
            agentgym_in: Path of the folder in it that gets the copy of agentgym.
        """
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent, prefix=SCRATCH) as parent:
            scratch = Path(parent) / folder.name
            for path, text in texts.items():
                (scratch / path).parent.mkdir(parents=True, exist_ok=True)
                (scratch / path).write_text(text, encoding="utf-8")
            package = Path(errors.__file__).parent
            _copy(package, scratch / agentgym_in / package.name)
            for package_name in self.own_packages:
                _copy(package_name, scratch / package_name.name)
            publish(scratch, folder)


def check_new(folder: Path) -> None:
    """Check that a folder can be written.

    Raises:
        ConfigurationError: It has content.
    """
    if holds_other_files(folder):
        raise ConfigurationError(f"expected a new folder or an empty one, got {folder}")


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=UNWANTED)
    else:
        shutil.copyfile(source, target)


def family_code(name: str, extra: str) -> FamilyCode:
    """Return the code of a family.

    Args:
        name: Short name, task set or id.
        extra: Extra of agentgym that the folder needs, such as ``openenv``.

    Raises:
        ConfigurationError: The name does not belong to a family, agentgym is not installed, or it
            was installed before it had the extra.
    """
    named = resolve(name)
    family = registration.find_family(named.id)
    if family is None:
        names = ", ".join(entry.name for entry in registration.families())
        raise ConfigurationError(
            f"expected a family of agentgym or of an installed package ({names}), as the folder "
            f"contains its code; got {name}; agentgym init package writes such a package"
        )
    installed = _distribution()
    requirements = dict.fromkeys(_requirements(installed, extra, family.extra))
    if family in registration.FAMILIES:
        return FamilyCode(family, named.short, installed.version, tuple(requirements))
    point = next(p for p in metadata.entry_points(group=GROUP) if p.load() == family)
    modules = dict.fromkeys(
        value.partition(":")[0].partition(".")[0] for value in (point.value, family.entry_point)
    )
    listed = [
        line for line in (point.dist.requires if point.dist else ()) or () if not _is_ours(line)
    ]
    return FamilyCode(
        family,
        named.short,
        installed.version,
        (*requirements, *(line for line in listed if "extra ==" not in line)),
        tuple(_source(module) for module in modules),
        f"{json.dumps(point.name)} = {json.dumps(point.value)}",
    )


def _is_ours(line: str) -> bool:
    return Requirement(line).name.replace("_", "-").lower() == DISTRIBUTION


def _source(module: str) -> Path:
    """Return the folder of a package, or the file of a module."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            f"expected {module} to be a package with an __init__.py, or a module, got "
            f"{spec!r:.80}; its code belongs into the folder"
        )
    path = Path(spec.origin)
    return path.parent if path.name == "__init__.py" else path


def _distribution() -> metadata.Distribution:
    """Return the metadata of agentgym as it was installed.

    Raises:
        ConfigurationError: It was not installed.
    """
    try:
        return metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError as error:
        raise ConfigurationError(
            "expected agentgym to be installed, because the folder lists its requirements; run: "
            "pip install -e . (in a checkout of agentgym)"
        ) from error


def _requirements(installed: metadata.Distribution, *extras: str) -> list[str]:
    """Return the requirements of agentgym with some of its extras; the first must exist.

    Raises:
        ConfigurationError: The installed metadata is older than this code, and lacks the extra.
    """
    if extras[0] not in (installed.metadata.get_all("Provides-Extra") or ()):
        raise ConfigurationError(
            f"expected agentgym to be installed with the extra {extras[0]}, which the folder "
            f"needs, got version {installed.version} without one; run again: pip install -e . (in "
            "a checkout of agentgym)"
        )
    requirements = []
    for line in installed.requires or ():
        requirement = Requirement(line)
        marker = requirement.marker
        # Those of extras name the extra in their marker; others stay as they are.
        if marker is None or "extra" not in str(marker):
            requirements.append(line)
        elif any(marker.evaluate({**PYTHON, "extra": extra}) for extra in extras if extra):
            requirements.append(str(Requirement(line.partition(";")[0])))
    return requirements
