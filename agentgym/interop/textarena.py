"""``textarena:ID``: games of TextArena for one player."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentgym.core.hooks import finite
from agentgym.core.tasks import Task
from agentgym.errors import require
from agentgym.interop.global_randomness import GlobalRandomness
from agentgym.interop.imported_env import ImportedEnv, share
from agentgym.interop.request import ImportRequest
from agentgym.interop.seeded_tasks import SeededTasks
from agentgym.interop.world import World, WorldTurn

HORIZON = 100
"""Turn budget; games end themselves before or after it."""
SOLVED = 1
"""Reward of a game that is won."""
PLAYER = 0
"""Number of the only player."""


def make(reference: str, *, sizes: Mapping[str, int] | None = None, **options: Any) -> ImportedEnv:
    """Make an environment of a game.

    Args:
        reference: Its id, such as ``GuessTheNumber-v0``.
        sizes: Tasks of each split.
        **options: Arguments of :class:`~agentgym.interop.imported_env.ImportedEnv`, and of the
            game.

    Raises:
        DependencyNotInstalled: TextArena is missing.
        ConfigurationError: There is no such id, or it is no game for one player, or cannot be
            played here.
    """
    env_options, peer_options = share(options)
    request = ImportRequest("textarena", reference, peer_options)
    request.check(names())
    tasks = SeededTasks(request.name, f"Play {reference}.", request.facts("textarena"), sizes)
    world = TextArenaWorld(reference, peer_options)
    with request.opening():
        world.reset(tasks.task("test", 0), 0)  # for how many players it is no list says
    return ImportedEnv(world, tasks, **{"horizon": HORIZON, **env_options})


def names() -> list[str]:
    """Return the ids, games for several players among them.

    Raises:
        DependencyNotInstalled: TextArena is missing.
    """
    require("textarena", "textarena")
    return sorted(require("textarena.envs.registration", "textarena").ENV_REGISTRY)


class TextArenaWorld(World):
    """A game of TextArena, made anew for each episode.

    Args:
        reference: Its id.
        arguments: Arguments of the game.

    TextArena's own wrappers repeat the whole conversation at every turn; here an observation is
    what is new, without the player's own words.
    """

    def __init__(self, reference: str, arguments: Mapping[str, Any]) -> None:
        self._reference, self._arguments = reference, arguments
        self._randomness = GlobalRandomness()
        self._game: Any = None
        self._limited = False

    def reset(self, task: Task, seed: int) -> str:
        """Begin the task of its seed."""
        arena = require("textarena", "textarena")
        number = int(task.content["seed"])
        self._randomness.seed(number)
        with self._randomness.in_place():
            game = arena.make(self._reference, **self._arguments)
            self._game = _without_histories(game, arena)
            self._game.reset(num_players=1, seed=number)
            self._limited = False
            self._watch_limit(self._game.state)
            return self._read_news()

    def step(self, text: str) -> WorldTurn:
        """Pass the text on."""
        with self._randomness.in_place():
            terminated = self._game.step(action=text)[0]
            observation = self._read_news()
            if not terminated:
                return WorldTurn(observation)
            rewards, info = self._game.close()
        reward, reason = rewards[PLAYER], str(info[PLAYER].get("reason") or "")
        if info[PLAYER].get("invalid_move") and not finite(reward):
            # Some games say why a move is invalid in the place of its reward: it loses, still.
            reward, reason = 0.0, str(reward)
        if reason and reason not in observation:
            observation = f"{observation}\n{reason}".strip()
        limited = self._limited and reward != SOLVED
        return WorldTurn(observation, reward, not limited, limited, reason=reason)

    def _watch_limit(self, state: Any) -> None:
        """Note whether the game finds that its turns are used up, which it tells only in words."""
        check = state.check_turn_limit

        def noted() -> bool:
            reached = bool(check())
            self._limited = self._limited or reached
            return reached

        state.check_turn_limit = noted

    def _read_news(self) -> str:
        """Return what the game has said since it was last asked."""
        messages: Iterable[Any] = self._game.get_observation()[1]
        return "\n".join(str(message[1]) for message in messages if message[0] != PLAYER)


def _without_histories(game: Any, arena: Any) -> Any:
    """Take out the wrappers that write observations; those that write actions stay."""
    if isinstance(game, arena.ObservationWrapper):
        return _without_histories(game.env, arena)
    if isinstance(game, arena.Wrapper):
        game.env = _without_histories(game.env, arena)
    return game
