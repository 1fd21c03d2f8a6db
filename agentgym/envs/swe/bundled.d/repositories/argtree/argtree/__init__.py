"""Command lines with nested subcommands, declared as data."""

from argtree.errors import DeclarationError, UsageError
from argtree.help import format_help, usage_line
from argtree.parser import Result, parse
from argtree.spec import Command, Option, Positional

__all__ = [
    "Command",
    "DeclarationError",
    "Option",
    "Positional",
    "Result",
    "UsageError",
    "format_help",
    "parse",
    "usage_line",
]
