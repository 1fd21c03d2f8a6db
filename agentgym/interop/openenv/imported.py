"""``openenv:URL``: an environment behind a server of OpenEnv.

Its tasks are those of the server's task API, else seeds. A server whose seed does not fix the
beginning of an episode is told by trying it, once in a process, and the environment says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agentgym.actions import ActionSpec, parse
from agentgym.authoring.tools.json_schemas import fields_of, plain_schema
from agentgym.authoring.tools.tool_actions import BadArgument, ToolAction, make_tool, neutral_call
from agentgym.core.attribution import ActionFailed
from agentgym.core.tasks import NumberedTasks, Task, TaskSet
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.interop.imported_env import FREE_TEXT, ImportedEnv, share
from agentgym.interop.openenv.client import OpenEnvServer, check_timeout
from agentgym.interop.request import ImportRequest
from agentgym.interop.seeded_tasks import UNSEEDED, SeededTasks
from agentgym.interop.world import World, WorldTurn, stated_turn

HORIZON = 50
TIMEOUT = 60.0
"""Seconds that an answer may take."""
TRIED = (0, 1, 0, 2, 3)
"""Seeds by which it is told whether a seed counts."""
ALIKE = "episodes of four seeds begin alike: the server may ignore the seed"
GOALS = ("goal", "instruction", "prompt", "question", "description")
"""Entries of a task that say what is to be done."""
OFFERED = ("admissible_actions", "legal_actions", "legal_moves", "available_actions")
"""Entries of an observation, or of its metadata, that list actions."""
KINDS = {"train": "train", "validation": "valid", "test": "test"}
"""Our names of splits, by OpenEnv's kinds."""
OURS = {"action_valid", "stop_reason"}
"""Entries of the metadata of this project's servers; a ``score`` of others may mean anything."""
NOT_SHOWN = ("metadata", "reward", "done")
"""Entries of an observation that are no part of its text."""


@dataclass(frozen=True)
class ServerFacts:
    """What is known of a server before an episode."""

    name: str
    """Name of the environment, in the paths of its task API."""
    sizes: Mapping[str, int]
    """Tasks of each split; empty: it lists none."""
    kinds: Mapping[str, str]
    """Our names of its splits, where they are others."""
    action: Mapping[str, Any]
    """Schema of an action."""
    observation: Mapping[str, Any]
    """Schema of an observation."""
    limits: tuple[str, ...]
    """What its seed does not do."""


def make(
    reference: str,
    *,
    timeout: float = TIMEOUT,
    action_field: str = "",
    observation_field: str = "",
    sizes: Mapping[str, int] | None = None,
    **options: Any,
) -> ImportedEnv:
    """Make an environment of a server.

    Args:
        reference: Its address. ``AGENTGYM_OPENENV_TOKEN`` holds its token, if it asks for one.
        timeout: Seconds that an answer may take.
        action_field: Field of an action that takes the text of the policy; found by the schema if
            left out. Where an action has several fields it is called as a tool.
        observation_field: Field of an observation that is shown; its only text, or all of it as
            JSON, if left out.
        sizes: Tasks of each split where the server lists none.
        **options: Arguments of :class:`~agentgym.interop.imported_env.ImportedEnv`; others are
            given to each reset of the server.

    Raises:
        ConfigurationError: It is no address, or an argument is wrong.
        DependencyNotInstalled: The package ``websockets`` is missing.
        EnvFailure: The server cannot be reached, or is none of OpenEnv.
    """
    check_timeout(timeout)
    env_options, peer_options = share(options)
    server = OpenEnvServer(reference, timeout)
    try:
        facts = _facts(reference, timeout, json.dumps(peer_options, sort_keys=True, default=repr))
        tasks = _tasks(ImportRequest("openenv", reference, peer_options), server, facts, sizes)
        reader = _Reader(facts.observation, observation_field)
        tool, field = _action(facts.action, action_field)
    except BaseException:
        server.close()
        raise
    specs = FREE_TEXT if tool is None else (tool.spec,)
    world = OpenEnvWorld(server, peer_options, reader, tool, field, listed=bool(facts.sizes))
    return ImportedEnv(
        world,
        tasks,
        specs=specs,
        states_success=False,
        limits=facts.limits,
        **{"horizon": HORIZON, **env_options},
    )


class OpenEnvWorld(World):
    """Successive episodes of a server, in one session.

    Args:
        server: The server.
        options: What each reset is given besides the task.
        reader: Reads observations.
        tool: The action, where it has several fields; None: it is a text.
        field: The field of that text.
        listed: Whether tasks are named by split and index, else by their seeds.
    """

    def __init__(
        self,
        server: OpenEnvServer,
        options: Mapping[str, Any],
        reader: _Reader,
        tool: ToolAction | None,
        field: str,
        *,
        listed: bool,
    ) -> None:
        self._server, self._options, self._reader = server, dict(options), reader
        self._tool, self._field, self._listed = tool, field, listed
        self._specs: tuple[ActionSpec, ...] = () if tool is None else (tool.spec,)
        self._offered: tuple[str, ...] = ()
        self._paid = False

    def reset(self, task: Task, seed: int) -> str:
        """Begin a task."""
        request = {"seed": task.content.get("seed", seed), **self._options}
        if self._listed:
            request |= {"split": task.split, "index": task.index}
        self._paid = False
        answer = self._server.ask("reset", request)
        return self._observe(answer)

    def step(self, text: str) -> WorldTurn:
        """Send an action."""
        try:
            action = self._action(text)
        except BadArgument as problem:
            return WorldTurn(str(problem), valid=False, reason=str(problem))
        answer = self._server.ask("step", action)
        reward, terminated = answer.get("reward"), answer.get("done")
        if not isinstance(terminated, bool):
            raise ActionFailed(f"expected done to be true or false, got {terminated!r:.80}")
        self._paid = self._paid or reward is not None
        if terminated and not self._paid:
            raise ActionFailed("expected a reward by the end of the episode, got none")
        metadata = self._reader.metadata(answer)
        return stated_turn(
            self._observe(answer),
            0.0 if reward is None else _number(reward),
            terminated,
            metadata if set(metadata) >= OURS else {},
        )

    def admissible(self) -> Sequence[str]:
        """Return the actions that the server lists with an observation."""
        return self._offered

    def neutral(self) -> Sequence[str]:
        """Return a call with plain values, where an action has several fields."""
        return () if self._tool is None else (neutral_call(self._tool),)

    def release(self) -> None:
        """End the session: by default a server has one."""
        self._server.end()

    def close(self) -> None:
        """End the session."""
        self._server.close()

    def _observe(self, answer: Mapping[str, Any]) -> str:
        """Read an observation, and the actions that are listed with it."""
        text, self._offered = self._reader.text(answer), self._reader.offered(answer)
        return text

    def _action(self, text: str) -> dict[str, Any]:
        """Write an action as the server reads it.

        Raises:
            BadArgument: The text is none.
        """
        if self._tool is None:
            return {self._field: text}
        call = parse(text, self._specs).call
        if call is None:
            raise BadArgument(f"invalid: expected a call of {self._tool.spec.name}")
        return self._tool.arguments(call)


class _Reader:
    """Reads observations.

    Args:
        schema: Their schema.
        field: The field that is shown; empty: the only text, or all.

    Raises:
        ConfigurationError: The schema has no such field.
    """

    def __init__(self, schema: Mapping[str, Any], field: str) -> None:
        properties = _properties(schema)
        if field and properties and field not in properties:
            raise ConfigurationError(
                f"expected observation_field to be one of {', '.join(properties)}, got {field!r}"
            )
        texts = [name for name, spec in properties.items() if spec.get("type") == "string"]
        self._field = field or (texts[0] if len(texts) == 1 and len(properties) == 1 else "")

    def text(self, answer: Mapping[str, Any]) -> str:
        """Return the text of an observation.

        Raises:
            ActionFailed: It has none.
        """
        observation = answer.get("observation")
        if not isinstance(observation, Mapping) or self._field not in ("", *observation):
            raise ActionFailed(
                f"expected an observation with {self._field or 'fields'}, got {observation!r:.200}"
            )
        if self._field and isinstance(observation[self._field], str):
            return str(observation[self._field])
        visible_fields = {key: value for key, value in observation.items() if key not in NOT_SHOWN}
        return json.dumps(
            observation[self._field] if self._field else visible_fields, ensure_ascii=False
        )

    def metadata(self, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what the server says besides."""
        metadata = answer.get("metadata")
        return metadata if isinstance(metadata, Mapping) else {}

    def offered(self, answer: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the actions that it lists."""
        for place in (self.metadata(answer), answer.get("observation") or {}):
            for key in OFFERED:
                actions = place.get(key)
                if isinstance(actions, list) and all(isinstance(action, str) for action in actions):
                    return tuple(actions)
        return ()


class OpenEnvTasks(NumberedTasks[Mapping[str, Any]]):
    """Tasks that a server lists; what it says of each is in its content.

    Args:
        name: Name of the environment, which begins every id.
        server: The server.
        facts: What is known of it.
        content: What else decides an episode; hashed into panels.
    """

    def __init__(
        self, name: str, server: OpenEnvServer, facts: ServerFacts, content: Mapping[str, Any]
    ) -> None:
        super().__init__(name)
        self._server, self._facts, self._content = server, facts, dict(content)
        self.splits = tuple(facts.sizes)
        self.aliases = facts.kinds

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return self._facts.sizes[self.check(split)]

    def _problem(self, split: str, number: int) -> Mapping[str, Any]:
        answer = self._server.fact(f"/{self._facts.name}/task", split=split, index=number)
        task = answer.get("task") if isinstance(answer, Mapping) else None
        return task if isinstance(task, Mapping) else {"task": task}

    def _describe(
        self, split: str, number: int, problem: Mapping[str, Any]
    ) -> tuple[str, Mapping[str, Any]]:
        goal = next((problem[key] for key in GOALS if isinstance(problem.get(key), str)), "")
        return goal, {**self._content, "task": dict(problem)}


def _tasks(
    request: ImportRequest,
    server: OpenEnvServer,
    facts: ServerFacts,
    sizes: Mapping[str, int] | None,
) -> TaskSet:
    """Return the tasks of the server, else seeds."""
    content = request.facts()
    if facts.sizes:
        return OpenEnvTasks(request.name, server, facts, content)
    seeded = UNSEEDED not in facts.limits
    return SeededTasks(request.name, f"Play {facts.name}.", content, sizes, seeded=seeded)


@lru_cache(maxsize=64)
def _facts(url: str, timeout: float, options: str) -> ServerFacts:
    """Ask a server about itself, and try its seed."""
    server = OpenEnvServer(url, timeout)
    try:
        schema = server.fact("/schema")
        action, observation = (
            schema.get(key) if isinstance(schema, Mapping) else None
            for key in ("action", "observation")
        )
        if not isinstance(action, Mapping) or not isinstance(observation, Mapping):
            raise EnvFailure(f"expected OpenEnv's schemas at {url}/schema, got {schema!r:.200}")
        names = server.fact("/list_environments")
        name = names[0] if isinstance(names, list) and names else "environment"
        sizes, kinds = _splits(server, str(name))
        request: dict[str, Any] = json.loads(options)
        if sizes:
            request |= {"split": next(iter(sizes)), "index": 0}
        limits = _seed_limits(server, request, listed=bool(sizes))
        return ServerFacts(str(name), sizes, kinds, action, observation, limits)
    finally:
        server.close()


def _splits(server: OpenEnvServer, name: str) -> tuple[dict[str, int], dict[str, str]]:
    """Return how many tasks the server lists in each split, and our names of splits."""
    splits = server.fact(f"/{name}/splits")
    sizes: dict[str, int] = {}
    kinds: dict[str, str] = {}
    for entry in splits if isinstance(splits, list) else ():
        split = entry.get("name") if isinstance(entry, Mapping) else entry
        answer = server.fact(f"/{name}/num_tasks", split=split)
        size = answer.get("num_tasks") if isinstance(answer, Mapping) else None
        if not isinstance(split, str) or not isinstance(size, int) or size < 0:
            raise EnvFailure(f"expected a number of tasks of split {split!r}, got {answer!r:.200}")
        if size:
            sizes[split] = size
            kind = KINDS.get(str(entry.get("type"))) if isinstance(entry, Mapping) else None
            kinds.setdefault(kind or split, split)
    return sizes, {kind: split for kind, split in kinds.items() if kind not in sizes}


def _seed_limits(
    server: OpenEnvServer, request: Mapping[str, Any], listed: bool
) -> tuple[str, ...]:
    """Begin episodes of some seeds, and say what the seed does not do."""
    parameters = [
        json.dumps(
            server.ask("reset", {**request, "seed": seed}).get("observation"), sort_keys=True
        )
        for seed in TRIED
    ]
    if parameters[0] != parameters[TRIED.index(0, 1)]:
        return (UNSEEDED,)
    return (ALIKE,) if len(set(parameters)) == 1 and not listed else ()


def _action(schema: Mapping[str, Any], field: str) -> tuple[ToolAction | None, str]:
    """Return the action as a tool, or the field that takes a text.

    Raises:
        ConfigurationError: The schema has no such field.
    """
    properties = _properties(schema)
    if field:
        if field not in properties:
            raise ConfigurationError(
                f"expected action_field to be one of {', '.join(properties)}, got {field!r}"
            )
        return None, field
    only = next(iter(properties), "")
    if (
        len(properties) == 1
        and properties[only].get("type") == "string"
        and not properties[only].get("enum")
    ):
        return None, only
    _, needed = fields_of(plain_schema(schema))
    required = [name for name in needed if name in properties]
    about = str(schema.get("description") or "Act.")
    return make_tool("act", about, {"properties": properties, "required": required}), ""


def _properties(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the fields of an action or observation, plain and without those that all have."""
    fields, _ = fields_of(plain_schema(schema))
    return {name: field for name, field in fields.items() if name not in NOT_SHOWN}


def _number(reward: object) -> float:
    """Return a reward; the environment judges whether it is finite.

    Raises:
        ActionFailed: It is no number.
    """
    if not isinstance(reward, int | float):
        raise ActionFailed(f"expected a number as reward, got {reward!r:.80}")
    return float(reward)
