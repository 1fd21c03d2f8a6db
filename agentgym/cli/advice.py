"""Translate the library's advice to flags: `stream=True` becomes --stream."""

from __future__ import annotations

import dataclasses
import re

from agentgym.cli.arguments import Certify, Eval, Replay

FLAGS = {
    field.name: f"--{field.name.replace('_', '-')}"
    for command in (Eval, Replay, Certify)
    for field in dataclasses.fields(command)
}
OTHERS = {
    "tools=True": "--grammar tool_call",
    "seed": "--sampling-seed",
    "total_limits": "--limit-total-tokens or --limit-total-cost",
}
"""Settings with a different name as a flag."""

_SETTING = re.compile(r"`(([a-z_]+)(?:=([^`\n]{1,80}))?)`")


def in_flags(text: str) -> str:
    """Replace Python settings in backticks by the flags of the command.

    Args:
        text: A message or a table cell of the library.
    """
    return _SETTING.sub(_flag, text)


def _flag(match: re.Match[str]) -> str:
    setting, name, value = match.groups()
    flag = FLAGS.get(name)
    # Text in backticks that is not a setting of the command stays unchanged.
    if setting in OTHERS or flag is None:
        return OTHERS.get(setting, match[0])
    if value in (None, "True"):
        return flag
    return f"--no-{flag[2:]}" if value == "False" else f"{flag} {value.strip(chr(34))}"
