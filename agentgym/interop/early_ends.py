"""Reports episodes that another project's loop ended before the environment did."""

from __future__ import annotations

import logging

logger = logging.getLogger(__name__)

_reported: set[tuple[str, str]] = set()


def warn_of_early_end(project: str, env: str, turns: int, horizon: int, causes: str) -> None:
    """Log that an episode was ended early, once for each project and environment in a process.

    Args:
        project: Name of the project whose loop ended it.
        env: Name of the environment.
        turns: Turns that were played.
        horizon: Turns that it could have had.
        causes: What ends episodes there and how to prevent it, as a clause.
    """
    if (project, env) in _reported:
        return
    _reported.add((project, env))
    logger.warning(
        "%s ended an episode of %s after %d of up to %d turns: %s; further episodes that end so "
        "are not reported", project, env, turns, horizon, causes,
    )  # fmt: skip
