"""Checks of settings that exclude or need each other."""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.errors import ConfigurationError
from trainers.config.resolved_env import ResolvedEnv
from trainers.config.schema import TINY, TrainConfig
from trainers.config.sections import SftConfig

__all__ = [
    "OWN_SUCCESSES",
    "check_baselines",
    "check_costs",
    "check_engine",
    "check_imitation",
    "check_template",
]

OWN_SUCCESSES = "expert-iteration"
"""The baseline that imitates no demonstrations, but the policy's own solved episodes."""


def check_costs(config: TrainConfig, envs: Sequence[ResolvedEnv]) -> None:
    """Check that ``--rl.price-rate`` has a cost with a limit."""
    limited = any(cost.limit >= 0 for env in envs for cost in env.costs)
    if config.rl.price_rate and not limited:
        raise ConfigurationError(
            "expected a cost with a limit for --rl.price-rate, such as --reward-hooks calls=3, "
            "got none"
        )


def check_template(config: TrainConfig) -> None:
    """Check that only a pretrained model is given a chat template."""
    for name, value in (
        ("chat-template", config.chat_template),
        ("end-of-turn", config.end_of_turn),
    ):
        if value is not None and config.model == TINY:
            raise ConfigurationError(
                f"expected --{name} only with a pretrained --model, got {value!r:.80} with "
                f"{TINY!r}, which is made with a template of its own: leave it out"
            )


def check_engine(config: TrainConfig) -> None:
    """Check that the settings of vLLM and SGLang fit the engine."""
    engine = config.engine
    for section, server in (("vllm", "a vLLM server"), ("sglang", "an SGLang server")):
        url = getattr(config, section).url
        if engine == f"{section}-server" and not url:
            raise ConfigurationError(
                f"expected --{section}.url, the address of {server} such as "
                f"http://127.0.0.1:8000, for --engine {engine}, got none; --dry-run with any "
                "address shows how to start one"
            )
        if url and engine != f"{section}-server":
            raise ConfigurationError(
                f"expected --{section}.url only with --engine {section}-server, got it with "
                f"{engine}"
            )
    if engine == "sglang-server" and config.top_p < 1:
        raise ConfigurationError(
            f"expected --top-p 1 with --engine sglang-server, got {config.top_p}: SGLang reports "
            "log-probabilities before the nucleus; choose --engine vllm-server"
        )
    if config.vllm.sleep and engine != "vllm":
        raise ConfigurationError(
            "expected --vllm.sleep only with --engine vllm, which shares the GPU with the "
            f"training, got it with {engine}"
        )


def check_imitation(
    sft: SftConfig, typed_steps: int | str | None, envs: Sequence[ResolvedEnv]
) -> None:
    """Check that imitation has a demonstrator, and that given episodes are imitated.

    Args:
        sft: The resolved section.
        typed_steps: Its ``max_steps`` as flags and file gave them.
        envs: The environments.
    """
    if sft.episodes and not sft.max_steps:
        raise ConfigurationError(
            "expected --sft.max-steps of at least 1 with --sft.episodes, which a warm start "
            f"imitates; got {sft.max_steps}"
        )
    if sft.rounds and not sft.max_steps:
        raise ConfigurationError(
            "expected --sft.max-steps of at least 1 with --sft.rounds, which begin with a warm "
            f"start on demonstrations; got {sft.max_steps}"
        )
    without = [env.name for env in envs if not env.has_expert]
    if sft.rounds and sft.teacher == "expert" and without:
        raise ConfigurationError(
            f"expected --sft.teacher self, because {', '.join(without)} has no expert to label "
            "states; got expert"
        )
    if sft.episodes and sft.demonstrator != "expert":
        raise ConfigurationError(
            "expected --sft.episodes or --sft.demonstrator, because each selects the "
            f"demonstrations; got both, {sft.demonstrator} and {' '.join(map(str, sft.episodes))}"
        )
    if typed_steps not in (None, 0, "auto") and not any(env.demonstrator for env in envs):
        tasks = ", ".join(env.name for env in envs)
        raise ConfigurationError(
            f"expected --sft.max-steps 0, because {tasks} has no expert whose demonstrations a "
            f"warm start could imitate, or --sft.demonstrator random; got {typed_steps}"
        )


def check_baselines(config: TrainConfig) -> None:
    """Check that baselines have demonstrations to imitate."""
    baselines = config.eval.baselines
    imitating = [baseline for baseline in baselines if baseline != OWN_SUCCESSES]
    if imitating and not config.sft.max_steps:
        raise ConfigurationError(
            f"expected --eval.baselines none or {OWN_SUCCESSES}, because without a warm start "
            "there are no demonstrations to imitate further; got "
            f"{' '.join(baselines)}"
        )
