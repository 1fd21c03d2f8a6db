"""Host paths that are visible in a sandbox that runs the host's programs."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from agentgym.errors import ConfigurationError
from agentgym.sandbox.base import SandboxConfig

SYSTEM_PREFIXES = (Path("/usr"), Path("/usr/local"))
"""Folders of the system's Pythons, which are readable inside."""


def check_tree(config: SandboxConfig) -> None:
    """Check that the tree is a folder.

    Raises:
        ConfigurationError: It is not.
    """
    if config.tree is not None and not config.tree.is_dir():
        raise ConfigurationError(f"expected a folder as tree, got {config.tree}")


def shown_folders(config: SandboxConfig) -> dict[Path, Path]:
    """Return the visible paths besides the system's programs.

    Returns:
        Path inside -> path on the host, with all links resolved.

    Raises:
        ConfigurationError: A path does not exist.
    """
    visible = {path.absolute(): path for path in (*_prefix(), *config.visible)}
    folders = {}
    for place, path in {
        **visible,
        **{Path(target): path for target, path in config.mounts.items()},
    }.items():
        try:
            folders[place] = path.resolve(strict=True)
        except (OSError, RuntimeError) as error:  # RuntimeError: loops of links before Python 3.13
            raise ConfigurationError(
                f"expected visible paths to exist, got {path}: {error}"
            ) from error
    return folders


def covered_places(config: SandboxConfig) -> list[Path]:
    """Return the paths that are empty inside although their parent is visible; they need not exist.

    Installed packages are hidden: they may contain anything, even solutions.
    """
    return [path.absolute() for path in (*_packages(config), *config.hidden)]


def _prefix() -> Iterator[Path]:
    """Yield the folder of the running Python, unless it is in ``/usr``, which is visible anyway.

    For a virtual environment, it is the folder of its base Python.
    """
    prefix = Path(sys.base_prefix)
    if not prefix.is_relative_to("/usr"):
        yield prefix


def _packages(config: SandboxConfig) -> list[Path]:
    """Return the package folders of every Python that would be visible.

    These are the running Python and the system's others. Conda keeps further environments in
    ``envs``, and their packages in ``pkgs``.
    """
    scheme = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    paths = sysconfig.get_paths(vars=scheme)
    prefixes = {Path(sys.base_prefix), Path(sys.base_exec_prefix), *SYSTEM_PREFIXES}
    folders = {Path(paths["purelib"]), Path(paths["platlib"])}
    for prefix in prefixes:
        for name in ("site-packages", "dist-packages"):
            folders.update(prefix.glob(f"lib*/python*/{name}"))
        if prefix not in SYSTEM_PREFIXES:
            folders.update(prefix / name for name in ("envs", "pkgs"))
    return sorted(path for path in folders if path not in config.visible)
