"""The episode of an agent as a server of the Model Context Protocol: its actions are the tools.

The token of a request names the episode, which began before the agent did. So no session is kept
here and no tool begins an episode; the task stands in the server's instructions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from agentgym.episodes.recorder import package_version
from agentgym.errors import DISTRIBUTION
from agentgym.support import json_rpc
from trainers.methods.gateway.episode import AgentEpisode

__all__ = ["answer_message"]


def answer_message(episode: AgentEpisode, message: Mapping[str, Any]) -> json_rpc.Message | None:
    """Answer a message of an agent; None if it requires no answer.

    Args:
        episode: The agent's episode.
        message: The message.

    Raises:
        Refused: The episode has long been over.
    """
    session, version = episode.session, package_version(DISTRIBUTION)
    methods: json_rpc.Methods = {
        "initialize": lambda params: json_rpc.welcome(
            params, "agentgym episode", version, session.instruction
        ),
        "ping": lambda params: {},
        "tools/list": lambda params: {"tools": session.mcp_tools},
        "tools/call": partial(_call, episode),
    }
    return json_rpc.respond(message, methods)


def _call(episode: AgentEpisode, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take a turn; the environment explains errors in the call."""
    name = params.get("name")
    if not isinstance(name, str):
        raise json_rpc.InvalidParams(f"expected the name of a tool, got {name!r:.80}")
    text = episode.call(name, params.get("arguments"))
    return {"content": [{"type": "text", "text": text}]}
