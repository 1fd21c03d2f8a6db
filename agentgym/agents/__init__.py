"""Episodes for agents with their own loop: tools instead of a policy that is asked for an action.

`session` plays an episode by tool calls, and has `play_agent`; `tool_functions` turns an
environment's actions into Python functions for frameworks. Whatever serves an episode to an agent
(the trainer's gateway, TRL, MCP) builds on this package.

To add one of these, touch these files:

- what an agent may ask of its episode: a property or method of ``Session`` in
  ``agentgym/agents/session.py``; its test in ``tests/agents/test_session.py``
"""

from agentgym.agents.session import (
    GRAMMAR,
    ModelAddress,
    Session,
    call_text,
    check_grammar,
    play_agent,
    takes_any_grammar,
    written_call,
)
from agentgym.agents.tool_functions import tool_function

__all__ = [
    "GRAMMAR",
    "ModelAddress",
    "Session",
    "call_text",
    "check_grammar",
    "play_agent",
    "takes_any_grammar",
    "tool_function",
    "written_call",
]
