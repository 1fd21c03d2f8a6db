"""Find out what is installed or missing, and the exact command that repairs it: for `diagnosis`."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from agentgym.errors import DISTRIBUTION, VLLM_CPU_RECIPE
from agentgym.sandbox.registry import AUTOMATIC, probe
from agentgym.support.caching import cache_folder

PYTHON_MARKER = re.compile(r'python(?:_full)?_version\s*([<>=!~]+)\s*"([^"]+)"')
"""The version of Python in the marker of a requirement."""


@dataclass(frozen=True)
class Check:
    """The result of examining one part."""

    group: str
    """``core``, the name of an extra, or ``machine``."""
    name: str
    """The examined part."""
    ok: bool
    """Whether it is in order."""
    detail: str
    """Version, or the problem."""
    fix: str = ""
    """Command that repairs it; empty when nothing is wrong."""

    @property
    def vital(self) -> bool:
        """Whether agentgym cannot work without it."""
        return self.group == "core" and not self.ok


def examine() -> list[Check]:
    """Look at Python, every package of the core and of the extras, and the machine; core first."""
    checks = [_python(), *_packages(), _cache(), *_sandboxes()]
    return sorted(checks, key=lambda check: (check.group != "core", check.group == "machine"))


def install_command(extra: str = "") -> str:
    """Return the shell command that installs a checkout, or one of its extras."""
    suffix = f"[{extra}]" if extra else ""
    root = Path(__file__).resolve().parents[2]
    if (root / "pyproject.toml").is_file():
        return f'{_python_name()} -m pip install -e "{root}{suffix}"'
    return f'{_python_name()} -m pip install -e ".{suffix}"  # in a checkout of agentgym'


def _python_name() -> str:
    return sys.executable or "python"


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= (3, 10)
    return Check("core", "python", ok, version, "" if ok else "install Python 3.10 or newer")


def _packages() -> Iterable[Check]:
    """Check the requirements that the installed distribution declares."""
    try:
        lines = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        yield Check("core", DISTRIBUTION, False, "not installed", install_command())
        return
    yield Check("core", DISTRIBUTION, True, metadata.version(DISTRIBUTION))
    extras = ["", *(metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or [])]
    for requirement in map(Requirement, lines):
        marker = requirement.marker
        matching = (
            extra for extra in extras if marker is None or marker.evaluate({"extra": extra})
        )
        extra = next(matching, None)
        if requirement.name.lower() == DISTRIBUTION:
            continue
        if extra is not None:
            yield _package(requirement.name, str(requirement.specifier), extra)
        elif newer := next((name for name in extras if name and _newer(marker, name)), ""):
            python = ".".join(map(str, sys.version_info[:2]))
            needed = PYTHON_MARKER.findall(str(marker))
            wants = f"needs Python {' and '.join(map(' '.join, needed))}, this is {python}"
            yield Check(newer, requirement.name, False, wants, "use another Python")


def _newer(marker: Marker | None, extra: str) -> bool:
    """Return whether an extra wants something in a newer Python than this one alone."""
    newer = {"extra": extra, "python_version": "3.99", "python_full_version": "3.99.0"}
    return marker is not None and marker.evaluate(newer)


def _package(name: str, specifier: str, extra: str) -> Check:
    group, fix, hint = extra or "core", install_command(extra), ""
    version = _version(name)
    # The CPU build of vLLM is another distribution with the same module.
    if name == "vllm" and version is None and (version := _version("vllm-cpu")) is not None:
        name = "vllm-cpu"
    if extra == "vllm" and not _has_gpu():  # the extra's command would install the CUDA build
        fix, hint = VLLM_CPU_RECIPE, " (no GPU: the CPU build, in a fresh environment)"
    if version is None:
        return Check(group, name, False, f"not installed{hint}", fix)
    if not _fits(version, specifier):
        return Check(group, name, False, f"{version}, but {specifier} is needed{hint}", fix)
    return Check(group, name, True, version)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _has_gpu(devices: Path = Path("/dev")) -> bool:
    """Look for an NVIDIA device, or for the tool that comes with its driver."""
    return any(devices.glob("nvidia[0-9]*")) or shutil.which("nvidia-smi") is not None


def _fits(version: str, specifier: str) -> bool:
    """Return whether a version is within a specifier."""
    return not specifier or SpecifierSet(specifier).contains(version, prereleases=True)


def _cache() -> Check:
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        fix = "export AGENTGYM_CACHE=<a folder that you can write to>"
        return Check("machine", "cache folder", False, f"{folder}: {error.strerror}", fix)
    return Check("machine", "cache folder", True, f"{folder} is writable")


def _sandboxes() -> Iterable[Check]:
    """Probe every sandbox back end that isolates; one that can run is enough."""
    for name in AUTOMATIC:
        reason = probe(name)
        yield Check("machine", f"sandbox {name}", not reason, reason or "can run here")
