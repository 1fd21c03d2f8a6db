"""The output of ``agentgym`` without arguments: first steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console

STEPS = (
    ("agentgym doctor", "what works on this machine, and what to install"),
    ("agentgym list", "the environments"),
    ("agentgym play webshop", "play one yourself"),
    (
        "agentgym eval webshop --policy oracle --num-tasks 10 --out first",
        "the expert plays ten tasks",
    ),
    ("agentgym view first", "read its episodes in the browser"),
    (
        "agentgym eval webshop --policy chat --model NAME --base-url URL",
        "your model, behind an OpenAI-compatible endpoint",
    ),
    ("agentgym train webshop --quick", "train a small model here (extra train)"),
)
"""First commands in order, each with its purpose."""


def show(console: Console) -> int:
    """Print the first steps; return the exit code."""
    say(console, "Text environments for language-model agents. First steps:\n")
    for command, purpose in STEPS:
        say(console, f"  # {purpose}\n  {command}")
    say(console, "\nAll commands: agentgym --help. One of them: agentgym eval --help.")
    return 0
