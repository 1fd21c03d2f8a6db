"""Expert episodes, to fit blind policies on and to show models as worked examples."""

from __future__ import annotations

from itertools import pairwise

import gymnasium

from agentgym.conversation import Shot, ShotTurn
from agentgym.core.guard import GuardedEnv
from agentgym.core.options import integer
from agentgym.core.oracle import DemonstratorPolicy
from agentgym.core.tasks import TaskSet
from agentgym.errors import ConfigurationError, NotSupported
from agentgym.policies.blind import Turn
from agentgym.policies.play import play
from agentgym.vector.episode import derive_seed

DEMONSTRATIONS = 100
"""Maximum number of tasks that the expert plays to fit a blind policy."""


SHOT_TURNS = 4
"""Maximum number of turns of a worked example."""
SHOT_STREAM = 17
"""Added to the seed, so that the tasks of examples differ from other draws with the same seed."""
TRIES = 8
"""Maximum number of training tasks that the demonstrator plays for each worked example."""


def make_shots(env: gymnasium.Env[str, str], n: int, seed: int = 0) -> tuple[Shot, ...]:
    """Make worked examples of the first turns of training tasks that the demonstrator solves.

    Args:
        env: A text environment, wrapped or not, with tasks in the split ``train``.
        n: Number of examples; 0: none.
        seed: Seed of the choice of tasks and of the episodes; determines the examples.

    Returns:
        The examples.

    Raises:
        ConfigurationError: There are no training tasks, there is no demonstrator, or it solves too
            few of them.
    """
    if not integer(n, "shots", low=0):
        return ()
    tasks: TaskSet = env.unwrapped.tasks  # type: ignore[attr-defined]  # of every text environment
    if "train" not in (*tasks.splits, *tasks.aliases):
        raise ConfigurationError(
            f"expected training tasks for --shots (shots=), but {tasks.name} has "
            f"{' and '.join(tasks.splits)} alone; leave the worked examples out"
        )
    panel = tasks.panel("train", min(TRIES * n, tasks.len("train")), derive_seed(seed, SHOT_STREAM))
    guarded, shots = GuardedEnv(env), []
    for index, task_id in enumerate(panel.ids):
        try:
            shot = _shot(guarded, task_id, derive_seed(seed, index))
        except NotSupported as error:
            raise ConfigurationError(
                f"expected a demonstrator for --shots (shots=), but {tasks.name} has none; leave "
                "the worked examples out"
            ) from error
        if shot is not None:
            shots.append(shot)
        if len(shots) == n:
            return tuple(shots)
    raise ConfigurationError(
        f"expected the demonstrator to solve {n} training tasks of {tasks.name} for --shots "
        f"(shots=), but of {len(panel.ids)} it solved {len(shots)}; ask for fewer"
    )


def _shot(env: GuardedEnv, task_id: str, seed: int) -> Shot | None:
    """Return the first turns of the demonstrator's episode of a task; None if it failed."""
    moments = [*play(DemonstratorPolicy(env), env, seed=seed, options={"task_id": task_id})]
    last = moments[-1]
    if last.failure is not None or not last.info["success"]:
        return None
    opening = moments[: SHOT_TURNS + 1]
    turns = tuple(
        ShotTurn(
            was.observation, str(newer.action), tuple(was.info.get("admissible_actions") or ())
        )
        for was, newer in pairwise(opening)
    )
    return Shot(str(moments[0].info.get("goal", "")), turns, opening[-1].observation)


def demonstrate(
    env: gymnasium.Env[str, str], n: int = DEMONSTRATIONS, seed: int = 0
) -> list[list[Turn]]:
    """Let the expert play tasks, to pass the episodes to `agentgym.policies.fit_blind`.

    Args:
        env: A text environment, wrapped or not.
        n: Maximum number of tasks, from the split ``train``, or else from the first split.
        seed: Seed of the choice of tasks and of the episodes.

    Returns:
        The turns of each episode: the admissible actions, and the expert's action. Episodes in
        which the environment failed are left out.

    Raises:
        NotSupported: The family has no expert.
    """
    tasks: TaskSet = env.unwrapped.tasks  # type: ignore[attr-defined]  # of every text environment
    split = "train" if "train" in tasks.splits else next(iter(tasks.splits))
    # Another seed than the evaluation's: with a small panel the policy would otherwise be fitted
    # on exactly the tasks that it plays.
    panel = tasks.panel(split, min(n, tasks.len(split)), derive_seed(seed, n))
    guarded, episodes = GuardedEnv(env), []
    for index, task_id in enumerate(panel.ids):
        options = {"task_id": task_id}
        own_seed = derive_seed(seed, index)
        moments = [*play(DemonstratorPolicy(guarded), guarded, seed=own_seed, options=options)]
        if moments[-1].failure is None:
            # An action was chosen from the admissible actions of the moment before it.
            turns = (
                (was.info["admissible_actions"], newer.action) for was, newer in pairwise(moments)
            )
            episodes.append([(actions, str(action)) for actions, action in turns])
    return episodes
