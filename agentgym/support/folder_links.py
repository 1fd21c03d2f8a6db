"""Protection against links in strangers' folders, which could redirect writes elsewhere."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from agentgym.errors import ConfigurationError


def check_no_link_leads_out(folder: Path, own_links: Collection[str] = ()) -> None:
    """Refuse a folder with a link, at any depth, to a place outside of it.

    Args:
        folder: The folder.
        own_links: Names of folders in it in which another program keeps links; they are not looked
            into, but must not be links.

    Raises:
        ConfigurationError: There is one; the message names it.
    """
    real = os.path.realpath(folder)
    for place, folders, files in os.walk(real):
        links = [*folders, *files]
        if place == real:
            folders[:] = [name for name in folders if name not in own_links]
        for name in links:
            path = os.path.join(place, name)
            if os.path.islink(path) and not is_inside(path, real):
                raise ConfigurationError(
                    f"expected {folder} to hold its own files, because what is written there must "
                    f"not reach another place, got {path}, a link to {os.path.realpath(path)}: "
                    "remove the link, or put what it leads to in its place"
                )


def is_inside(path: str | Path, folder: str | Path) -> bool:
    """Return whether a path, with all links followed, lies in a folder."""
    real = os.path.realpath(folder)
    return os.path.realpath(path).startswith(real.rstrip(os.sep) + os.sep)
