"""Flags that every command has: ``--version``, ``--quiet`` and ``--log-level``."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Literal

from agentgym.errors import DISTRIBUTION, ConfigurationError

__all__ = ["COMMON", "CommonFlags", "log_to_terminal", "take_common_flags", "version_line"]

COMMON = ("--version", "--quiet", "--log-level")
"""The flags."""
LogLevel = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[LogLevel, ...] = ("debug", "info", "warning", "error")


@dataclass(frozen=True)
class CommonFlags:
    """What was typed of the flags that every command has."""

    version: bool = False
    """Print the version and end."""
    quiet: bool = False
    """Show no progress: results, warnings and errors alone."""
    log_level: LogLevel | None = None
    """Also print what the packages log, from this level on, to standard error."""
    remaining: tuple[str, ...] = field(default=(), repr=False)
    """What was typed besides."""

    @property
    def words(self) -> list[str]:
        """What was typed of these flags, for a command that reads them itself."""
        level = [] if self.log_level is None else ["--log-level", self.log_level]
        return [*(["--quiet"] if self.quiet else []), *level]


def take_common_flags(argv: Sequence[str]) -> CommonFlags:
    """Read these flags, wherever they stand before a lone ``--``.

    Raises:
        ConfigurationError: The level is none.
    """
    end = argv.index("--") if "--" in argv else len(argv)
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--log-level", "--log_level", nargs="?", const="")
    flags, remaining = parser.parse_known_args(list(argv[:end]))
    if flags.log_level is not None and flags.log_level not in LEVELS:
        raise ConfigurationError(
            f"expected --log-level to be {', '.join(LEVELS[:-1])} or {LEVELS[-1]}, got "
            f"{flags.log_level or 'none'}"
        )
    return CommonFlags(flags.version, flags.quiet, flags.log_level, (*remaining, *argv[end:]))


def version_line(program: str) -> str:
    """Return what ``--version`` prints."""
    return f"{program} {metadata.version(DISTRIBUTION)}"


class _TerminalHandler(logging.StreamHandler):
    """Write to whatever standard error is now, which progress bars take over and give back."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def log_to_terminal(level: LogLevel | None, packages: Sequence[str] = ("agentgym",)) -> None:
    """Print what packages log, from a level on, to standard error.

    Args:
        level: The level; None prints nothing.
        packages: Names of their loggers.
    """
    if level is None:
        return
    handler = _TerminalHandler()
    handler.setLevel(level.upper())
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    for name in packages:
        logger = logging.getLogger(name)
        for terminal_handler in [
            candidate for candidate in logger.handlers if isinstance(candidate, _TerminalHandler)
        ]:
            logger.removeHandler(terminal_handler)
        logger.addHandler(handler)
        logger.setLevel(level.upper())
