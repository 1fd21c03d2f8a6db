"""Actions: parsers, renderers, prompts and schemas derived from one declaration.

An environment declares its actions as a tuple of `ActionSpec`. Agents write them in one of five
grammars: `native` (the environment's own text), `xml`, `react`, `tool_call` and `action_tag`
(native text in ``<action>`` tags). For every call that a grammar can express,
``parse(render(call, specs, grammar), specs, grammar).call == call``.
"""

from __future__ import annotations

from agentgym.actions.parser import parse
from agentgym.actions.renderer import prompt, render, translate
from agentgym.actions.schema import mcp_tools, openai_tools
from agentgym.actions.specs import (
    GRAMMARS,
    MAX_ACTION_CHARS,
    MAX_TEXT_CHARS,
    ActionCall,
    ActionSpec,
    Param,
    Parsed,
    check_grammar,
)
from agentgym.actions.thinking import strip_think

__all__ = [
    "GRAMMARS",
    "MAX_ACTION_CHARS",
    "MAX_TEXT_CHARS",
    "ActionCall",
    "ActionSpec",
    "Param",
    "Parsed",
    "check_grammar",
    "mcp_tools",
    "openai_tools",
    "parse",
    "prompt",
    "render",
    "strip_think",
    "translate",
]
