"""The text that ``--help`` would print."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from argtree.spec import Command, Option, Positional

GAP = 2
WIDEST_LEFT = 24


def usage_line(command: Command, path: Sequence[str] = ()) -> str:
    """Write the line that shows how a command is called.

    Args:
        command: The command.
        path: Names of the commands around it, outermost first.
    """
    parts = [*path, command.name]
    parts += [_option_usage(option) for option in command.options]
    if command.commands:
        parts.append("COMMAND")
    parts += [_positional_usage(positional) for positional in command.positionals]
    return "usage: " + " ".join(parts)


def format_help(command: Command, path: Sequence[str] = (), width: int = 80) -> str:
    """Write the whole help of a command: usage, description and one section for each kind.

    Args:
        command: The command.
        path: Names of the commands around it, outermost first.
        width: Columns that a line may fill.
    """
    blocks = [usage_line(command, path)]
    if command.help:
        blocks.append("\n".join(textwrap.wrap(command.help, width)))
    sections = [
        ("arguments", [(item.name, item.help) for item in command.positionals]),
        ("options", [(_option_label(item), _option_text(item)) for item in command.options]),
        ("commands", [(item.name, item.help) for item in command.commands]),
    ]
    for title, rows in sections:
        if rows:
            blocks.append(f"{title}:\n" + two_columns(rows, width))
    return "\n\n".join(blocks) + "\n"


def two_columns(rows: Sequence[tuple[str, str]], width: int = 80) -> str:
    """Lay out labels and texts in two columns; a label that is too wide gets a line of its own."""
    fitting = [len(label) for label, _ in rows if len(label) <= WIDEST_LEFT]
    left = max(fitting, default=0)
    indent = " " * (GAP + left + GAP)
    lines = []
    for label, text in rows:
        wrapped = textwrap.wrap(text, max(width - len(indent), 10))
        if len(label) > left:
            lines.append(" " * GAP + label)
            lines += [indent + piece for piece in wrapped]
            continue
        first = wrapped[0] if wrapped else ""
        lines.append((" " * GAP + label.ljust(left) + " " * GAP + first).rstrip())
        lines += [indent + piece for piece in wrapped[1:]]
    return "\n".join(lines)


def _option_usage(option: Option) -> str:
    text = option.short or option.name
    if not option.flag:
        text += " " + option.key.upper()
    if option.repeat:
        text += " ..."
    return text if option.required else f"[{text}]"


def _positional_usage(positional: Positional) -> str:
    name = positional.name.upper()
    return {"one": name, "optional": f"[{name}]", "many": f"[{name} ...]"}[positional.count]


def _option_label(option: Option) -> str:
    label = f"{option.short}, {option.name}" if option.short else option.name
    return label if option.flag else f"{label} {option.key.upper()}"


def _option_text(option: Option) -> str:
    notes = []
    if option.required:
        notes.append("required")
    if option.default is not None:
        notes.append(f"default: {option.default}")
    suffix = f" ({', '.join(notes)})" if notes else ""
    return (option.help + suffix).strip()
