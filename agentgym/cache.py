"""Where generated files are kept between processes."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder for generated files; it need not exist.

    Returns:
        ``AGENTGYM_CACHE``, or ``agentgym`` under ``XDG_CACHE_HOME`` or ``~/.cache``.
    """
    own = os.environ.get("AGENTGYM_CACHE")
    if own:
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "agentgym"
