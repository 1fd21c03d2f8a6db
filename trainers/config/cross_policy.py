"""Cross-policy sampling by flags, ``--rl.stale-share`` and ``--rl.stale-every``."""

from __future__ import annotations

from dataclasses import replace

from agentgym.errors import ConfigurationError
from trainers.algorithms.policy_pool import PolicyPool
from trainers.algorithms.preset import Preset
from trainers.config.schema import TINY, TrainConfig
from trainers.config.sections import RlConfig


def with_pool(preset: Preset, rl: RlConfig) -> Preset:
    """Return a preset with the pool that flags ask for; a share of 0 leaves it none.

    Raises:
        ConfigurationError: There is no stale policy that could be refreshed.
    """
    if rl.stale_share == 0:
        preset = replace(preset, pool=None)
    elif rl.stale_share is not None:
        pool = preset.pool or PolicyPool()
        preset = replace(preset, pool=replace(pool, stale_share=rl.stale_share))
    if rl.stale_every is None:
        return preset
    if preset.pool is None:
        raise ConfigurationError(
            "expected --rl.stale-every where a stale policy plays (--rl.stale-share above 0, or a "
            f"preset such as agentrl), got {rl.stale_every} with {preset.name!r}"
        )
    return replace(preset, pool=replace(preset.pool, refresh_every=rl.stale_every))


def check_pool(preset: Preset, config: TrainConfig, engine: str) -> None:
    """Check that vLLM can hold the policy twice, if it has to.

    Raises:
        ConfigurationError: It would be two whole models.
    """
    merged = config.model == TINY or not config.lora.r or config.vllm.lora == "merge"
    if preset.pool is not None and merged and engine in ("vllm", "vllm-server"):
        raise ConfigurationError(
            "expected adapters that vLLM serves (--model with --lora.r, --vllm.lora adapter) where "
            "a stale policy plays, because two of those share one base, got "
            f"--engine {engine} without; choose --engine hf, or --rl.stale-share 0"
        )
