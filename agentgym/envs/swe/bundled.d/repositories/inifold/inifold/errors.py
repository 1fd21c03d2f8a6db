"""What can go wrong with a configuration."""

from __future__ import annotations


class ConfigError(Exception):
    """Base of the errors of this package."""


class ParseError(ConfigError):
    """The text is not a configuration.

    Attributes:
        line: The number of the line, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


class MissingKey(ConfigError, KeyError):
    """A section or a value is not there."""

    def __str__(self) -> str:
        """Return the message itself, without the quotes that KeyError puts around it."""
        return str(self.args[0])


class ValueFormatError(ConfigError, ValueError):
    """A value cannot be read as what was asked for."""
