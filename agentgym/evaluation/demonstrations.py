"""Expert episodes of an environment, for policies that are fitted on them."""

from __future__ import annotations

from itertools import pairwise

import gymnasium

from agentgym.core.guard import GuardedEnv
from agentgym.core.oracle import DemonstratorPolicy
from agentgym.core.tasks import TaskSet
from agentgym.policies.blind import Turn
from agentgym.policies.play import play
from agentgym.vector.episode import derive_seed

DEMONSTRATIONS = 100
"""Most tasks that the expert plays for a blind policy to be fitted on."""


def demonstrate(
    env: gymnasium.Env[str, str], n: int = DEMONSTRATIONS, seed: int = 0
) -> list[list[Turn]]:
    """Let the expert play, for `agentgym.policies.fit_blind`.

    Args:
        env: A text environment, wrapped or not.
        n: Most tasks: of the train split, or of the first one where there is none.
        seed: Seed of the choice of tasks and of the episodes.

    Returns:
        The turns of each episode: the admissible actions, and what the expert typed. Episodes in
        which the environment failed are left out.

    Raises:
        NotSupported: The family has no expert.
    """
    tasks: TaskSet = env.unwrapped.tasks  # type: ignore[attr-defined]  # of every text environment
    split = "train" if "train" in tasks.splits else next(iter(tasks.splits))
    # Tasks of their own, or else the one task of a small panel would be fitted and then played.
    panel = tasks.panel(split, min(n, tasks.len(split)), derive_seed(seed, n))
    guarded, found = GuardedEnv(env), []
    for index, task_id in enumerate(panel.ids):
        options = {"task_id": task_id}
        own_seed = derive_seed(seed, index)
        moments = [*play(DemonstratorPolicy(guarded), guarded, seed=own_seed, options=options)]
        if moments[-1].failure is None:
            # Pair each action with the list it was chosen from, which is that of the moment before.
            turns = ((was.info["admissible_actions"], now.action) for was, now in pairwise(moments))
            found.append([(actions, str(action)) for actions, action in turns])
    return found
