"""What a model is told that acts by calling tools."""

from __future__ import annotations


def tool_instructions(horizon: int | None = None) -> str:
    """Return how to act by calls of tools, whose form the protocol between model and caller sets.

    Args:
        horizon: Most turns of the episode, if they are known.
    """
    budget = "" if horizon is None else f", and you have {horizon}"
    return (
        "You act in a text environment by calling tools, one call at a time, until the task is "
        f"done. Each call is a turn{budget}. An answer in words changes nothing."
    )
