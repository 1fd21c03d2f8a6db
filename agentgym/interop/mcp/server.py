"""Serve any environment by the Model Context Protocol, with its actions as tools.

A session has one environment. The tool ``start_episode`` begins an episode, a call of another tool
is a turn. The content of an answer is for the agent. Its structured content is for programs such as
trainers: ``observation``, ``reward``, ``done`` and ``info``, with what a policy may read, and at
the end ``success``, ``score`` and ``reward_terms``. If the environment fails, the answer has
``isError`` and no reward: the episode has no valid score.

`McpSessions` answers messages, `agentgym.interop.mcp.transports` transports them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from gymnasium.error import ResetNeeded

from agentgym.actions import mcp_tools
from agentgym.agents import call_text
from agentgym.conversation import tool_instructions
from agentgym.core.env import TextEnv
from agentgym.episodes.recorder import package_version
from agentgym.errors import (
    DISTRIBUTION,
    AgentGymError,
    ConfigurationError,
    EnvFailure,
    TaskNotFound,
)
from agentgym.interop.served_envs import ENDED, ServedEnv, ServedEnvs, TooManyEnvs
from agentgym.support import json_rpc

START = "start_episode"
"""Name of the tool that begins an episode."""
OPENING, CLOSING = "<tool_call>", "</tool_call>"
ANSWER = {
    "type": "object",
    "properties": {
        "observation": {"type": "string"},
        "reward": {"type": "number"},
        "done": {"type": "boolean"},
        "info": {"type": "object"},
    },
    "required": ["observation", "reward", "done", "info"],
}
"""Schema of the structured content of a turn."""


class McpSessions:
    """Answers the messages of sessions, identified by the numbers of environments; thread-safe.

    Args:
        envs: The environments, with ``grammar="tool_call"``.
        name: Name of the environment.
        env: Another such environment, the source of the tools; it is closed.

    Raises:
        ConfigurationError: An action has the name of the tool that begins an episode.
    """

    def __init__(self, envs: ServedEnvs, name: str, env: TextEnv) -> None:
        self.envs, self._name = envs, name
        try:
            specs, splits = env.spoken.specs, env.tasks.splits
            about = (type(env).__doc__ or "").partition("\n")[0]
            self._horizon = env.default_horizon
        finally:
            env.close()
        if any(spec.name.lower() == START for spec in specs):
            raise ConfigurationError(
                f"expected actions without the name {START}, which begins an episode, got it among "
                f"those of {name}: name the action otherwise"
            )
        self._tools = [
            {**tool, "outputSchema": ANSWER} for tool in (_start_tool(splits), *mcp_tools(specs))
        ]
        self._instructions = (
            f"{about} Call {START} first. {tool_instructions(self._horizon)}".strip()
        )

    def answer(self, key: int, message: Mapping[str, Any]) -> json_rpc.Message | None:
        """Answer a message of a session; None if the message needs no answer.

        Raises:
            UnknownEnv: The environment of the session has been closed.
        """
        self.envs.touch(key)
        methods: json_rpc.Methods = {
            "initialize": self._initialize,
            "ping": lambda params: {},
            "tools/list": lambda params: {"tools": self._tools},
            "tools/call": partial(self._call, key),
        }
        return json_rpc.respond(message, methods)

    def open(self, message: Mapping[str, Any]) -> tuple[int | None, json_rpc.Message]:
        """Begin a session by an initialize message.

        Returns:
            The number of the session (None if it cannot begin), and the answer.
        """
        try:
            key = self.envs.open()
        except TooManyEnvs as problem:
            return None, json_rpc.error(message.get("id"), json_rpc.FULL, str(problem))
        except AgentGymError as problem:
            return None, json_rpc.error(message.get("id"), json_rpc.INTERNAL_ERROR, str(problem))
        answer = self.answer(key, message)
        if answer is None or "error" in answer:
            self.envs.close(key)
            words = "expected a request to initialize"
            return None, answer or json_rpc.error(None, json_rpc.INVALID_REQUEST, words)
        return key, answer

    def _initialize(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Agree on a version."""
        version = package_version(DISTRIBUTION)
        return json_rpc.welcome(params, f"agentgym {self._name}", version, self._instructions)

    def _call(self, key: int, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call a tool; whatever is wrong with it is for the agent to read."""
        name, arguments = params.get("name"), params.get("arguments") or {}
        with self.envs.use(key) as env:
            try:
                if not isinstance(name, str) or not isinstance(arguments, Mapping):
                    raise ConfigurationError(
                        "expected the name of a tool and its arguments as an object, got "
                        f"{name!r:.80} and {arguments!r:.80}"
                    )
                return _start(env, arguments) if name == START else _turn(env, name, arguments)
            except ResetNeeded:
                return _failed(f"expected a running episode: call {START}")
            except (ConfigurationError, TaskNotFound) as problem:
                return _failed(str(problem))
            except EnvFailure as failure:
                structured = {"done": True, "failure": str(failure)}
                words = f"the environment failed, so this episode has no score: {failure}"
                return {
                    **_failed(f"{words}\n\nCall {START} for another."),
                    "structuredContent": structured,
                }


def _start(env: ServedEnv, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Begin an episode."""
    options = dict(arguments)
    observation, info = env.begin(options.pop("seed", None), options)
    text = f"{tool_instructions(info['horizon'])}\n\n{observation}"
    return _answered(env, text, observation, 0.0, False, info)


def _turn(env: ServedEnv, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Take a turn; a faulty call, of an unknown tool too, is one that changes nothing."""
    action = call_text(name, arguments)
    observation, reward, terminated, truncated, info = env.step(action)
    over, text = terminated or truncated, observation
    if over:
        text += f"\n\nThe episode is over ({info['stop_reason']}): {START} begins another."
    return _answered(env, text, observation, reward, over, info)


def _answered(
    env: ServedEnv, text: str, observation: str, reward: float, done: bool, info: Mapping[str, Any]
) -> dict[str, Any]:
    """Write what a tool answers."""
    public = env.filter_info(info, ENDED if done else ())
    if env.lists_actions:
        public["admissible_actions"] = [
            json.loads(action.removeprefix(OPENING).removesuffix(CLOSING))
            for action in public["admissible_actions"]
            if action.startswith(OPENING)  # a text that is no call cannot be called
        ]
    content = {"observation": observation, "reward": reward, "done": done, "info": public}
    return {"content": [{"type": "text", "text": text}], "structuredContent": content}


def _failed(text: str) -> dict[str, Any]:
    """Write what a tool answers that could not be called."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _start_tool(splits: tuple[str, ...]) -> dict[str, Any]:
    """Describe the tool that begins an episode."""
    non_negative = {"type": "integer", "minimum": 0}
    return {
        "name": START,
        "description": "Begin an episode and read its task. A running episode is given up.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "split": {
                    "type": "string",
                    "enum": list(splits),
                    "description": "Split of the task.",
                },
                "index": {**non_negative, "description": "Index of the task in the split."},
                "task_id": {
                    "type": "string",
                    "description": "The task itself, instead of split and index.",
                },
                "seed": {
                    **non_negative,
                    "description": "Seed of the episode; it draws the task where none is named.",
                },
                "horizon": {"type": "integer", "minimum": 1, "description": "Most turns."},
                "list_actions": {
                    "type": "boolean",
                    "description": "List the admissible actions after each turn.",
                },
            },
            "additionalProperties": False,
        },
    }
