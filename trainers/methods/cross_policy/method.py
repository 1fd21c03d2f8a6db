"""The row of cross-policy sampling in the table of methods."""

from __future__ import annotations

from agentgym.trust.table import PLAIN
from trainers.algorithms.policy_pool import POLICY_POOL, PolicyPool
from trainers.methods.cross_policy.presets import PRESETS
from trainers.methods.cross_policy.settings import (
    CrossPolicyConfig,
    check_pool,
    values_of_pool,
    with_pool,
)
from trainers.methods.method import Method, MethodMemory

METHOD = Method(
    name="cross_policy",
    needs=(POLICY_POOL,),
    presets={"scalinginter": PRESETS},
    parts={"pool": (PolicyPool,)},
    section=CrossPolicyConfig,
    trust=dict.fromkeys(("share", "every"), PLAIN),
    change_preset=with_pool,
    preset_values=values_of_pool,
    check=check_pool,
    own_loop=True,
    memory=lambda run, shape, training: MethodMemory(players=1),
    step_part="trainers.methods.cross_policy.stale_policy:stale_policy_part",
)
