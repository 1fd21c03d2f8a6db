"""INI files with inheritance, interpolation and typed values."""

from inifold.config import Config, Section
from inifold.errors import ConfigError, MissingKey, ParseError, ValueFormatError

__all__ = ["Config", "ConfigError", "MissingKey", "ParseError", "Section", "ValueFormatError"]
