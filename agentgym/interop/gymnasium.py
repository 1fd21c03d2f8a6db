"""``gymnasium:ID``: registered Gymnasium environments that can be played in text.

Text spaces are used unchanged. Other observations are rendered as text (mode ``ansi``), or else
printed as numbers, if they are few. Discrete actions are typed by their names.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from agentgym.actions import ActionSpec, Param
from agentgym.core.env import TextEnv
from agentgym.core.tasks import Task
from agentgym.errors import ConfigurationError
from agentgym.interop.imported_env import FREE_TEXT, ImportedEnv, share
from agentgym.interop.request import ImportRequest
from agentgym.interop.seeded_tasks import UNSEEDED, SeededTasks
from agentgym.interop.world import World, WorldTurn

HORIZON = 100
"""Turn budget where the id has no limit of steps."""
MOST_NUMBERS = 64
"""Most numbers of an observation that is written out."""
MOST_ACTIONS = 256
"""Most discrete actions."""
DIRECTIONS: Mapping[str, tuple[str, ...]] = {
    "Blackjack": ("stick", "hit"),
    "CartPole": ("left", "right"),
    "CliffWalking": ("up", "right", "down", "left"),
    "FrozenLake": ("left", "down", "right", "up"),
    "FrozenLake8x8": ("left", "down", "right", "up"),
    "MountainCar": ("left", "wait", "right"),
    "Taxi": ("south", "north", "east", "west", "pickup", "dropoff"),
}
"""Names of the actions of Gymnasium's own environments, in the order of its documentation."""
THRESHOLD = (
    "an episode counts as solved if its rewards add up to {:g}, the reward_threshold, which "
    "Gymnasium means for the average of many episodes; solved_at=NUMBER is another"
)
"""Limit of environments with a threshold."""
SAMPLES = 4
"""Texts that are drawn from a text space, to try whether an environment works."""
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_COLOURED = re.compile(r"\x1b\[[34](?P<colour>[0-7])[\d;]*m(?P<text>.*?)\x1b\[0?m")


def make(
    reference: str,
    *,
    action_names: Sequence[str] = (),
    sizes: Mapping[str, int] | None = None,
    **options: Any,
) -> ImportedEnv:
    """Make an environment of Gymnasium.

    Args:
        reference: Its id, or ``module:id``.
        action_names: Names of discrete actions; empty: the environment's own, else numbers.
        sizes: Tasks of each split.
        **options: Arguments of :class:`~agentgym.interop.imported_env.ImportedEnv`, and of the
            environment.

    Raises:
        ConfigurationError: There is no such id, an argument is wrong, or the environment cannot be
            played in text.
    """
    env_options, peer_options = share(options)
    request = ImportRequest("gymnasium", reference, peer_options)
    with request.opening():
        spec, env = _open_env(reference, peer_options)
    try:
        actions = _Actions(env, reference, action_names)
        world = GymnasiumWorld(env, actions, _reader(env, reference))
        threshold = spec.reward_threshold
        defaults: dict[str, Any] = {"horizon": spec.max_episode_steps or HORIZON}
        seeded = not spec.nondeterministic
        limits = [] if seeded else [UNSEEDED]
        if threshold is not None:
            defaults["solved_at"] = threshold
            if "solved_at" not in env_options:
                limits.append(THRESHOLD.format(threshold))
        facts = request.facts("gymnasium")
        tasks = SeededTasks(request.name, f"Play {spec.name}.", facts, sizes, seeded=seeded)
        return ImportedEnv(
            world,
            tasks,
            specs=actions.specs,
            states_success=False,
            limits=limits,
            **{**defaults, **env_options},
        )
    except BaseException:
        env.close()
        raise


def names() -> list[str]:
    """Return the registered ids, whether or not they can be played in text."""
    return [name for name in gymnasium.registry if not name.startswith("agentgym/")]


def _open_env(
    reference: str, arguments: Mapping[str, Any]
) -> tuple[EnvSpec, gymnasium.Env[Any, Any]]:
    """Make the environment, with text as its rendering where it has one."""
    # Our horizon takes the place of its limit of steps.
    options = {"disable_env_checker": True, "max_episode_steps": -1, **arguments}
    env = gymnasium.make(reference, **options)
    spec = gymnasium.spec(reference.rpartition(":")[2])
    if "ansi" in env.metadata.get("render_modes", ()):
        env.close()
        env = gymnasium.make(reference, render_mode="ansi", **options)
    if isinstance(env.unwrapped, TextEnv):
        env.close()
        raise ConfigurationError(
            f"expected an environment of others behind gymnasium:, got {reference!r}, which is "
            "one of agentgym: name it without the prefix"
        )
    return spec, env


class _Actions:
    """What can be typed, and what it stands for.

    Args:
        env: The environment.
        reference: Its id.
        names: Names of discrete actions.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], reference: str, names: Sequence[str]) -> None:
        self.names: tuple[str, ...] = ()
        self._first = 0
        space = env.action_space
        if isinstance(space, spaces.Text):
            self.specs = FREE_TEXT
            return
        if not isinstance(space, spaces.Discrete) or space.n > MOST_ACTIONS:
            raise ConfigurationError(
                f"expected actions that can be typed (a Text space, or a Discrete one of at most "
                f"{MOST_ACTIONS}), got {space} in {reference}: wrap the environment"
            )
        size, self._first = int(space.n), int(space.start)
        self.names = tuple(names) or _known_names(env, size, self._first)
        cleaned = tuple(" ".join(str(name).split()) for name in self.names)
        if len(set(cleaned)) != size or len(cleaned) != size or "" in cleaned:
            raise ConfigurationError(
                f"expected {size} different action_names for {reference}, got {list(self.names)}"
            )
        self.names = cleaned
        self.specs = (
            ActionSpec(
                "act",
                "Take one of the actions.",
                (Param("action", description="Its name.", enum=self.names),),
                native="{action}",
            ),
        )

    def read(self, text: str) -> Any:
        """Return the action that a text stands for; None if it stands for none."""
        if not self.names:
            return text
        word = " ".join(text.split()).lower()
        return next(
            (self._first + i for i, name in enumerate(self.names) if name.lower() == word), None
        )

    def admissible(self, info: Mapping[str, Any]) -> Sequence[str]:
        """Return the names of what is allowed, by the mask in ``info`` if there is one."""
        mask = np.asarray(info.get("action_mask", ()), bool).reshape(-1)
        if len(mask) != len(self.names):
            return self.names
        return [name for name, allowed in zip(self.names, mask, strict=True) if allowed]


def _known_names(env: gymnasium.Env[Any, Any], size: int, first: int) -> tuple[str, ...]:
    """Return the names that the environment gives its actions, else their numbers."""
    meanings = getattr(env.unwrapped, "get_action_meanings", None)
    action_names = tuple(map(str, meanings())) if callable(meanings) else ()
    if not action_names and env.spec is not None:
        action_names = DIRECTIONS.get(env.spec.name or "", ())
    return action_names if len(action_names) == size else tuple(str(first + i) for i in range(size))


def _reader(env: gymnasium.Env[Any, Any], reference: str) -> Callable[[Any], str]:
    """Return what makes text of an observation."""
    space = env.observation_space
    if isinstance(space, spaces.Text):
        return lambda observation: observation  # its type is checked where it is used
    if env.render_mode == "ansi":
        return lambda observation: _rendered(env)
    if (numbers := _count(space)) is None or numbers > MOST_NUMBERS:
        raise ConfigurationError(
            f"expected observations in text (a Text space, a rendering in mode ansi, or at most "
            f"{MOST_NUMBERS} numbers), got {space} in {reference}: wrap the environment"
        )
    return lambda observation: json.dumps(_to_json(observation))


def _rendered(env: gymnasium.Env[Any, Any]) -> str:
    """Return the rendering, with words in the place of the codes that colour it on a terminal."""
    return _COLOURED.sub(_in_words, str(env.render())).strip("\n")


def _in_words(match: re.Match[str]) -> str:
    """Write a coloured text as ``(blue R)``: the colour says what stands there."""
    return f"({_COLOURS[int(match['colour'])]} {match['text']})"


def _count(space: spaces.Space[Any]) -> int | None:
    """Return how many numbers an observation has; None if it is not made of numbers."""
    if isinstance(space, spaces.Discrete):
        return 1
    if isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        return int(np.prod(space.shape, dtype=np.int64))
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
        counts = [_count(part) for part in parts]
        return None if None in counts else sum(count or 0 for count in counts)
    return None


def _to_json(observation: Any) -> Any:
    """Return an observation as JSON can hold it, numbers with six digits."""
    if isinstance(observation, Mapping):
        return {str(key): _to_json(value) for key, value in observation.items()}
    if isinstance(observation, tuple | list):
        return [_to_json(value) for value in observation]
    if isinstance(observation, np.ndarray | np.generic):
        return _to_json(observation.tolist())
    return float(f"{observation:.6g}") if isinstance(observation, float) else observation


class GymnasiumWorld(World):
    """An environment of Gymnasium.

    Args:
        env: The environment.
        actions: What can be typed.
        render: Makes text of an observation.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], actions: _Actions, render: Callable[[Any], str]
    ) -> None:
        self._env, self._actions, self._render = env, actions, render
        self._info: Mapping[str, Any] = {}
        self._observation = ""

    def reset(self, task: Task, seed: int) -> str:
        """Begin the task of its seed."""
        observation, self._info = self._env.reset(seed=int(task.content["seed"]))
        self._observation = self._render(observation)
        return self._observation

    def step(self, text: str) -> WorldTurn:
        """Take an action by its name."""
        action = self._actions.read(text)
        if action is None:
            reason = f"expected one of {', '.join(self.admissible())}; got {text!r:.80}"
            return WorldTurn(
                f"{self._observation}\n\ninvalid: {reason}", reason=reason, valid=False
            )
        observation, reward, terminated, truncated, self._info = self._env.step(action)
        self._observation = self._render(observation)
        value: Any = reward  # checked where it is counted
        return WorldTurn(
            self._observation,
            value,
            bool(terminated),
            bool(truncated),
            success=_read_success(self._info),
        )

    def admissible(self) -> Sequence[str]:
        """Return the names of the actions that are allowed."""
        return self._actions.admissible(self._info)

    def neutral(self) -> Sequence[str]:
        """Draw texts from a text space, always the same ones."""
        if self._actions.names:
            return ()
        space = copy.deepcopy(self._env.action_space)  # the environment may draw from its own
        space.seed(0)
        return [space.sample() for _ in range(SAMPLES)]

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


def _read_success(info: Mapping[str, Any]) -> bool | None:
    """Return what the environment says of success; None if it says nothing."""
    success = next((info[key] for key in ("success", "is_success") if key in info), None)
    values = np.asarray(success).reshape(-1)
    is_boolean = len(values) == 1 and values.dtype.kind in "biuf" and values[0] in (0, 1)
    return bool(values[0]) if is_boolean else None
