"""The section ``--cross-policy.*``: how often a stale copy of the policy plays a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError
from trainers import processes
from trainers.algorithms.policy_pool import PolicyPool
from trainers.algorithms.preset import Preset
from trainers.config.field_types import Count, Fraction, strict
from trainers.methods.method import section_of

if TYPE_CHECKING:
    from trainers.config.schema import TrainConfig


@strict
@dataclass(frozen=True)
class CrossPolicyConfig:
    """Cross-policy sampling (AgentRL, arXiv 2510.04206): a stale copy of the policy plays turns."""

    share: Fraction | None = None
    """Share of turns that a stale policy plays, drawn turn by turn, with its own log-probabilities.
    0: none. None: the preset's, mostly 0."""
    every: Count | None = None
    """Steps between two updates of the stale policy to the current one; None: the preset's, 25."""


def with_pool(preset: Preset, config: TrainConfig) -> Preset:
    """Return a preset with the pool that flags ask for; a share of 0 leaves it none.

    Raises:
        ConfigurationError: There is no stale policy that could be refreshed.
    """
    flags = section_of(config, CrossPolicyConfig)
    if flags.share == 0:
        preset = replace(preset, pool=None)
    elif flags.share is not None:
        pool = preset.pool or PolicyPool()
        preset = replace(preset, pool=replace(pool, stale_share=flags.share))
    if flags.every is None:
        return preset
    if preset.pool is None:
        raise ConfigurationError(
            "expected --cross-policy.every where a stale policy plays (--cross-policy.share above "
            f"0, or a preset such as agentrl), got {flags.every} with {preset.name!r}"
        )
    return replace(preset, pool=replace(preset.pool, refresh_every=flags.every))


def values_of_pool(preset: Preset) -> Mapping[str, Any]:
    """Return the settings that the pool of a preset stands for, by names of the section."""
    if preset.pool is None:
        return {"share": 0.0}
    return {"share": preset.pool.stale_share, "every": preset.pool.refresh_every}


def check_pool(preset: Preset, config: TrainConfig, without_expert: Sequence[str]) -> None:
    """Check that the stale policy has all of its weights, and that vLLM can hold both.

    Raises:
        ConfigurationError: No process has the whole weights, or vLLM would hold two whole models.
    """
    if preset.pool is None:
        return
    if processes.sharded():
        raise ConfigurationError(
            "expected --cross-policy.share 0 where weights are sharded over processes, because no "
            "process has the whole weights that the stale policy needs; got "
            f"{preset.pool.stale_share:g} (launch with ddp)"
        )
    merged = config.model == "tiny" or not config.lora.r or config.vllm.lora == "merge"
    if config.engine == "sglang-server" or (merged and config.engine.startswith("vllm")):
        raise ConfigurationError(
            "expected adapters that vLLM serves (--model with --lora.r, --vllm.lora adapter) where "
            "a stale policy plays, because two of those share one base, got "
            f"--engine {config.engine} without; choose --engine hf, or --cross-policy.share 0"
        )
