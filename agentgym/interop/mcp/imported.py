"""``mcp:COMMAND``: the tools of an MCP server, started by the command, as actions.

A server with the tool ``start_episode``, such as ``agentgym serve mcp``, defines the beginning, the
end and the rewards of an episode. Any other server is restarted for each episode, and your function
``reward`` or a reward hook defines its rewards.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentgym.actions import ActionSpec, parse, render
from agentgym.actions.specs import ActionCall
from agentgym.authoring.tools.tool_actions import (
    BadArgument,
    CallRecord,
    ToolAction,
    make_tool,
    neutral_call,
)
from agentgym.core.hooks import finite
from agentgym.core.options import import_named
from agentgym.core.tasks import Task
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.interop.imported_env import ImportedEnv, share
from agentgym.interop.mcp.client import BadRequest, McpServer
from agentgym.interop.request import ImportRequest
from agentgym.interop.seeded_tasks import SeededTasks
from agentgym.interop.world import World, WorldTurn, stated_turn
from agentgym.support.json_rpc import Message
from agentgym.support.redaction import for_others, is_secret

START = "start_episode"
"""Tool that begins an episode, where a server has it."""
HORIZON = 50
TIMEOUT = 60.0
"""Seconds that an answer may take."""
NO_REWARD = "the server pays nothing: rewards are those of `reward`, or of reward hooks"
NO_SEED = "the server takes no seed: tasks differ in nothing but their number"
FAILED = "isError"
EMPTY = "(the tool returned nothing)"
"""Observation of an answer without content: some chat templates leave out an empty message."""
NO_WORDS = "the tool failed and does not say why"


Reward = Callable[[str, Sequence[CallRecord]], "float | None"]
"""Says what an episode is worth: given the goal and the calls so far it returns None, or the reward
with which the episode ends."""


def make(
    reference: str,
    *,
    goal: str = "",
    reward: str | Reward | None = None,
    timeout: float = TIMEOUT,
    sizes: Mapping[str, int] | None = None,
    **options: Any,
) -> ImportedEnv:
    """Make an environment of a server.

    Args:
        reference: The command, as a shell reads it, without secrets: the server has this process's
            environment variables.
        goal: The instruction; the server's instructions if left out.
        reward: A `Reward`, or ``MODULE:NAME`` of one.
        timeout: Time limit of an answer, in seconds.
        sizes: Number of tasks of each split.
        **options: Arguments of :class:`~agentgym.interop.imported_env.ImportedEnv`.

    Raises:
        ConfigurationError: The command cannot be started, or an argument is wrong.
        EnvFailure: The server does not say what tools it has.
    """
    env_options, peer_options = share(options)
    command = _command(reference)
    if peer_options:
        raise ConfigurationError(f"expected no arguments of the server, got {sorted(peer_options)}")
    if not (finite(timeout) and timeout > 0):
        raise ConfigurationError(f"expected timeout to be seconds above 0, got {timeout!r}")
    server = McpServer(command, timeout)
    try:
        listed = server.tools()
        start = next((tool for tool in listed if tool["name"] == START), None)
        tools, limits = _usable([tool for tool in listed if tool["name"] != START], reference)
        goal = goal or server.instructions or f"Use the tools of {reference}."
    finally:
        server.close()
    seeded = "seed" in _properties(start)
    request = ImportRequest("mcp", reference, {})
    facts = {**request.facts(), "goal": goal, "tools": _digest(listed)}
    tasks = SeededTasks(request.name, goal, facts, sizes, seeded=seeded)
    if not seeded:
        limits.append(NO_SEED)
    pays = start is not None and any(
        "reward" in _properties(tool, "outputSchema") for tool in listed
    )
    if reward is None and not pays:
        limits.append(NO_REWARD)
    world = McpWorld(command, timeout, tools, start, _reward(reward))
    specs = [tool.spec for tool in tools]
    return ImportedEnv(
        world, tasks, specs=specs, limits=limits, **{"horizon": HORIZON, **env_options}
    )


class McpWorld(World):
    """Episodes of a server.

    Args:
        command: What starts the server.
        timeout: Seconds that an answer may take.
        tools: Its tools.
        start: Its tool that begins an episode, as it is listed; None if it has none.
        reward: Says what an episode is worth; None: the server does.
    """

    def __init__(
        self,
        command: Sequence[str],
        timeout: float,
        tools: Sequence[ToolAction],
        start: Message | None,
        reward: Reward | None,
    ) -> None:
        self._command, self._timeout, self._start = command, timeout, start
        self._tools = {tool.spec.name: tool for tool in tools}
        self._specs: tuple[ActionSpec, ...] = tuple(tool.spec for tool in tools)
        self._reward = reward
        self._server: McpServer | None = None
        self._calls: list[CallRecord] = []
        self._goal = ""
        self._offered = [
            render(ActionCall(tool.spec.name, arguments), self._specs, "native")
            for tool in tools
            for arguments in tool.offered()
        ]

    def reset(self, task: Task, seed: int) -> str:
        """Begin an episode: the server does, or it is started anew."""
        self._calls, self._goal = [], task.goal
        if self._server is None or self._start is None:
            self.close()
            self._server = McpServer(self._command, self._timeout)
        if self._start is None:
            return task.goal
        properties = _properties(self._start)
        arguments: dict[str, Any] = {"seed": task.content["seed"]} if "seed" in properties else {}
        if task.split in (properties.get("split", {}).get("enum") or ()):
            arguments["split"] = task.split
        answer = self._ask(START, arguments)
        text = _text(answer, serves_episodes=True)
        if answer.get(FAILED):
            raise EnvFailure(f"the server did not begin an episode: {text:.500}")
        return text

    def step(self, text: str) -> WorldTurn:
        """Call the tool that an action names."""
        call = parse(text, self._specs).call
        if call is None:
            return _invalid(f"invalid: expected a call of {', '.join(self._tools)}")
        tool = self._tools[call.name]
        try:
            arguments = tool.arguments(call)
        except BadArgument as problem:
            return _invalid(str(problem))
        answer = self._ask(tool.name, arguments)
        serves_episodes, failed = self._start is not None, bool(answer.get(FAILED))
        observation = _text(answer, serves_episodes) or (NO_WORDS if failed else EMPTY)
        self._calls.append(CallRecord(tool.name, arguments, observation, failed))
        if self._reward is not None:
            worth = self._reward(self._goal, tuple(self._calls))
            return WorldTurn(
                observation,
                0.0 if worth is None else worth,
                done=worth is not None,
                valid=not failed,
                reason=observation if failed else "",
            )
        if serves_episodes:
            return _paid(answer, observation, failed)
        return WorldTurn(observation, valid=not failed, reason=observation if failed else "")

    def admissible(self) -> Sequence[str]:
        """List the calls whose arguments have few values; of others there is no end."""
        return self._offered

    def neutral(self) -> Sequence[str]:
        """Return a call of each tool with plain values."""
        return [neutral_call(tool) for tool in self._tools.values()]

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _ask(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool; a server that failed is not asked again."""
        if self._server is None:
            raise EnvFailure("the server failed before in this episode")
        try:
            return self._server.call(name, arguments)
        except BadRequest as refusal:  # other servers say so in a result
            return {"content": [{"type": "text", "text": str(refusal)}], FAILED: True}
        except BaseException:
            self.close()
            raise


def _paid(answer: Mapping[str, Any], observation: str, failed: bool) -> WorldTurn:
    """Read what the server says of a turn besides its text."""
    structured = answer.get("structuredContent")
    if not isinstance(structured, Mapping) or not {"reward", "done", "failure"} & set(structured):
        return WorldTurn(observation, valid=not failed, reason=observation if failed else "")
    if "failure" in structured:
        raise EnvFailure(f"the server's environment failed: {structured['failure']!s:.500}")
    over, info = structured.get("done"), structured.get("info")
    if not isinstance(over, bool) or "reward" not in structured:
        raise EnvFailure(
            f"expected a reward, and done true or false, got {dict(structured)!r:.200}"
        )
    stated = info if isinstance(info, Mapping) else {}
    return stated_turn(observation, structured["reward"], over, stated, valid=not failed)


def _text(answer: Mapping[str, Any], serves_episodes: bool) -> str:
    """Return the text of an answer.

    Args:
        answer: The answer.
        serves_episodes: Whether the server has episodes, so that ``observation`` is what an agent
            sees.
    """
    structured, content = answer.get("structuredContent"), answer.get("content")
    if (
        serves_episodes
        and isinstance(structured, Mapping)
        and isinstance(structured.get("observation"), str)
    ):
        return str(structured["observation"])
    if isinstance(content, list) and content:
        return "\n".join(map(_block, content))
    fields = {
        key: value for key, value in answer.items() if key not in ("_meta", FAILED, "content")
    }
    payload = structured if structured is not None else content or fields
    return payload if isinstance(payload, str) else _json(payload) if payload else ""


def _block(block: object) -> str:
    """Return the text of a block of content; what is no text is named."""
    if not isinstance(block, Mapping):
        return block if isinstance(block, str) else _json(block)
    kind, resource = block.get("type"), block.get("resource")
    if kind == "resource" and isinstance(resource, Mapping) and "text" in resource:
        block = resource
    elif kind == "resource_link":
        return f"[resource_link: {block.get('uri')!s:.200}]"
    elif kind != "text":
        return f"[{kind!s:.40}]"
    text = block.get("text")
    return text if isinstance(text, str) else _json(text)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _invalid(reason: str) -> WorldTurn:
    return WorldTurn(reason, valid=False, reason=reason)


def _usable(listed: Sequence[Message], reference: str) -> tuple[list[ToolAction], list[str]]:
    """Make actions of the tools, and say of which that is not possible.

    Raises:
        ConfigurationError: Of none.
    """
    tools: list[ToolAction] = []
    limits: list[str] = []
    for entry in listed:
        names = [tool.spec.name.lower() for tool in tools]
        about = str(entry.get("description") or "")
        try:
            tools.append(make_tool(entry["name"], about, entry.get("inputSchema"), names))
        except ConfigurationError as problem:
            limits.append(f"a tool is left out: {problem}")
    if not tools:
        reason = "; ".join(limits) or "it has none"
        raise ConfigurationError(f"expected a tool of {reference} that can be called: {reason}")
    return tools, limits


def _command(reference: str) -> list[str]:
    """Read a command, and refuse secrets in it: records hold it."""
    try:
        command = shlex.split(reference)
    except ValueError as error:
        raise ConfigurationError(
            f"expected mcp:COMMAND as a shell reads it, got {reference!r}: {error}"
        ) from error
    named = any(
        is_secret(word.lstrip("-").partition("=")[0]) for word in command if "-" in word[:1]
    )
    if (
        not command
        or named
        or for_others([word.lstrip("-") for word in command])
        != [word.lstrip("-") for word in command]
    ):
        raise ConfigurationError(
            "expected mcp:COMMAND without keys, tokens and passwords, because records hold it: "
            "pass them as environment variables, which the server has, too"
        )
    return command


def _properties(tool: Message | None, schema: str = "inputSchema") -> Mapping[str, Any]:
    """Return the arguments of a tool, or what it answers, by their names."""
    json_schema = (tool or {}).get(schema)
    properties = json_schema.get("properties") if isinstance(json_schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _digest(listed: Sequence[Message]) -> str:
    """Hash what a server offers, so that another version makes another panel."""
    return hashlib.sha256(json.dumps(listed, sort_keys=True).encode()).hexdigest()


def _reward(reward: str | Reward | None) -> Reward | None:
    """Return the function that a person named."""
    if reward is None or callable(reward):
        return reward
    module, _, name = str(reward).partition(":")
    attribute = getattr(import_named(module, "reward=MODULE:NAME"), name, None)
    if not callable(attribute):
        raise ConfigurationError(f"expected reward=MODULE:NAME of a function, got {reward!r}")
    function: Reward = attribute
    return function
