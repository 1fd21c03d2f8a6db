"""Register tool environments by name, for every command."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import gymnasium

from agentgym.authoring.tools.env import (
    HORIZON,
    TIMEOUT,
    ToolEnv,
    answer_spec,
    check_parts,
)
from agentgym.authoring.tools.episode import Expert, Reward
from agentgym.authoring.tools.tasks import tool_tasks
from agentgym.authoring.tools.tool_set import declared
from agentgym.core.options import import_named
from agentgym.core.tasks import TaskSet
from agentgym.errors import ConfigurationError

_REGISTERED: dict[str, dict[str, Any]] = {}
"""Arguments of `ToolEnv` by id."""


def register_tools(
    env_id: str,
    *,
    tools: Any,
    tasks: Any,
    reward: Reward,
    answer: bool | str = True,
    expert: Expert | None = None,
    timeout: float | None = TIMEOUT,
    horizon: int = HORIZON,
    solved_at: float = 1.0,
) -> None:
    """Register a tool environment with Gymnasium, and so for every command.

    Call it at the top of a module, ``own.py``: ``own:own/Sums-v0`` is then its name. The data set
    is read when the first environment is made.

    Args:
        env_id: The id, such as ``own/Sums-v0``.
        tools: See `ToolEnv`.
        tasks: See `tool_tasks`.
        reward: See `ToolEnv`.
        answer: See `ToolEnv`.
        expert: See `ToolEnv`.
        timeout: See `ToolEnv`.
        horizon: See `ToolEnv`.
        solved_at: See `ToolEnv`.

    Raises:
        ConfigurationError: A function cannot be a tool, or a value is out of range.
    """
    check_parts(reward, answer, expert, timeout, solved_at)
    answer_spec(answer, [tool.spec for tool in declared(tools)])
    _REGISTERED[env_id] = {
        "tools": tools,
        "tasks": tasks,
        "reward": reward,
        "answer": answer,
        "expert": expert,
        "timeout": timeout,
        "horizon": horizon,
        "solved_at": solved_at,
    }
    # By name, so that the id can be sent to another process, which imports the module.
    module = str(sys._getframe(1).f_globals.get("__name__", "__main__"))
    gymnasium.registry.pop(env_id, None)
    gymnasium.register(
        env_id, entry_point=f"{__name__}:make", kwargs={"module": module, "name": env_id}
    )


def make(module: str, name: str, **options: Any) -> ToolEnv:
    """Make a registered environment.

    Args:
        module: The module that registers it.
        name: Its id.
        **options: Arguments of `ToolEnv` that differ from those of the registration.

    Raises:
        ConfigurationError: The module does not register it.
    """
    if name not in _REGISTERED:
        import_named(module, f"{name} of a module")
    registration: Mapping[str, Any] | None = _REGISTERED.get(name)
    if registration is None:
        raise ConfigurationError(
            f"expected the module {module!r} to call register_tools({name!r}, ...), got one that "
            "does not: call it at the top of a module that other processes can import"
        )
    if not isinstance(registration["tasks"], TaskSet):
        # Once per process: a set of tasks is never changed.
        title = name.rsplit("/", 1)[-1].rsplit("-v", 1)[0].lower()
        _REGISTERED[name]["tasks"] = tool_tasks(registration["tasks"], name=title)
    return ToolEnv(**{**registration, **options})
