"""Checks of runs with an agent that owns its loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgym.errors import ConfigurationError
from trainers.algorithms.branching import BRANCHING
from trainers.algorithms.preset import Preset
from trainers.config.schema import TrainConfig
from trainers.methods.table import methods

__all__ = ["check_agent"]


def check_agent(
    config: TrainConfig, preset: Preset, settings: Mapping[str, Any], delegating: Sequence[str]
) -> None:
    """Refuse what agents cannot do, and their settings where there is none.

    Args:
        config: The settings as they were given.
        preset: The method.
        settings: The settings with all defaults.
        delegating: The environments in which a policy may delegate to workers.

    Raises:
        ConfigurationError: Two settings contradict each other.
    """
    flag = "--agent" if config.agent is not None else "--agent-command"
    if config.agent is None and config.agent_command is None:
        if config.rollout.agent_calls is not None:
            raise ConfigurationError(
                "expected --rollout.agent-calls only with --agent or --agent-command, got "
                f"{config.rollout.agent_calls} without"
            )
        return
    if config.agent is not None and config.agent_command is not None:
        raise ConfigurationError("expected --agent or --agent-command, got both; leave out one")
    own_loop = {
        BRANCHING,
        *(need for method in methods() if method.own_loop for need in method.needs),
    }
    missing = [need for need in preset.needs if need in own_loop]
    if missing:
        raise ConfigurationError(
            f"expected a preset whose turns are any agent's with {flag}, because those of "
            f"{preset.name!r} are forked, judged or divided by the trainer's own loop; got "
            f"{', '.join(missing)}"
        )
    if delegating:
        raise ConfigurationError(
            f"expected no workers with {flag}, because the agent keeps one list of messages; got "
            f"them in {', '.join(delegating)}: give --env-kwargs worker_turns=0, or another preset"
        )
    for name, value in (
        ("--prompt", config.prompt),
        ("--window", config.window),
        ("--shots", config.shots),
        ("--sft.episodes", " ".join(map(str, config.sft.episodes))),
        ("--sft.rounds", config.sft.rounds),
    ):
        if value:
            raise ConfigurationError(
                f"expected no {name} with {flag}, because the agent decides what the policy reads; "
                f"got {value}"
            )
    if "expert-iteration" in settings["eval"]["baselines"]:
        raise ConfigurationError(
            f"expected --eval.baselines without expert-iteration with {flag}, because it imitates "
            "episodes recorded by the trainer's own loop"
        )
