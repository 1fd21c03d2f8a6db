"""Checks of runs with an agent that owns its loop."""

from __future__ import annotations

from agentgym.errors import ConfigurationError
from trainers.config.resolve import ResolvedRun
from trainers.methods.table import methods

__all__ = ["check_agent"]


def check_agent(run: ResolvedRun) -> None:
    """Refuse what agents cannot do.

    Raises:
        ConfigurationError: Two settings contradict each other.
    """
    config, preset = run.config, run.preset
    flag = "--agent" if config.agent is not None else "--agent-command"
    own_loop = {need for method in methods() if method.own_loop for need in method.needs}
    missing = [need for need in preset.needs if need in own_loop]
    if missing:
        raise ConfigurationError(
            f"expected a preset whose turns are any agent's with {flag}, because those of "
            f"{preset.name!r} are forked, judged or divided by the trainer's own loop; got "
            f"{', '.join(missing)}"
        )
    if delegating := [env.name for env in run.envs if env.delegates]:
        raise ConfigurationError(
            f"expected no workers with {flag}, because the agent keeps one list of messages; got "
            f"them in {', '.join(delegating)}: give --env-kwargs worker_turns=0, or another preset"
        )
    for name, value in (
        ("--prompt", "" if "prompt" in run.filled else config.prompt),
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
    if "expert-iteration" in config.eval.baselines:
        raise ConfigurationError(
            f"expected --eval.baselines without expert-iteration with {flag}, because it imitates "
            "episodes recorded by the trainer's own loop"
        )
