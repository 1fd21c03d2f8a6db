"""The demonstrators of a run, their tasks, and the training rows of their episodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from itertools import chain, islice
from typing import Any

import gymnasium
import numpy as np

from agentgym.conversation import Conversation, Prompt, SeenTurn
from agentgym.core.oracle import DemonstratorPolicy
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.policies.base import Policy
from agentgym.policies.basic import RandomPolicy
from agentgym.vector.backends import usual_workers
from trainers.algorithms.imitation_weights import advantage_weights, copies
from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_env import TRAIN, ResolvedEnv
from trainers.config.safe_env import make_safe_env
from trainers.methods.episode_loop import loop_of
from trainers.models.loaded_policy import LoadedPolicy
from trainers.output.display import Display
from trainers.phases.recorded_episodes import recorded_demonstrations
from trainers.phases.spending import Spent, affordable
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.expert_demonstrations import (
    Demonstration,
    MakePlayer,
    PlayOne,
    encode,
    play,
    watch,
)
from trainers.rollouts.template import Message
from trainers.rollouts.trajectory import Row, to_rows

__all__ = [
    "BaselineDemonstrations",
    "Demonstrator",
    "demonstrated_rows",
    "demonstration_tasks",
    "require_room",
    "show_watching",
]

WORDS_OF_A_SLOW_ONE = 48
"""Maximum episodes of a slow environment that are played only for its vocabulary."""


class Demonstrator:
    """The demonstrator of one environment: its expert, random actions, or recorded episodes.

    Without a demonstrator, because the environment has no expert or the run does not imitate, the
    first episodes still provide the vocabulary; in slow environments such as sandboxes a few dozen.

    Args:
        run: The run.
        resolved: The environment.
        count: Episodes for the vocabulary.

    Attributes:
        imitated: Whether the episodes are demonstrations.
        planned: Total number of episodes to play.
        spent: Cost of the demonstrations played so far.
        on_episode: Called after each.
    """

    def __init__(self, run: ResolvedRun, resolved: ResolvedEnv, count: int = 0) -> None:
        self._resolved, self._name = resolved, resolved.name
        self._run, self.spent = run, Spent()
        self._seed = run.config.seed
        self.imitated = run.imitates and bool(resolved.demonstrator)
        quick = resolved.backend == "sync"
        self._loop = loop_of(run)
        is_slow = not quick or self._loop is not None
        self._count = min(count, WORDS_OF_A_SLOW_ONE) if is_slow and not self.imitated else count
        self._at_once = 1 if quick else run.config.workers or usual_workers(run.config.backend)
        self._envs = [make_safe_env(resolved, run.config)]
        self._play = self._loop.demonstrate if self._loop else play
        tasks, other_tasks = demonstration_tasks(run, resolved)
        self._opening = tasks[0]
        recorded = None
        if self.imitated and run.config.sft.episodes:
            recorded = recorded_demonstrations(run, resolved)
            tasks, other_tasks = [], self._not_among(recorded, [*tasks, *other_tasks])
        self._tasks = tasks if self.imitated else tasks[: self._count]
        self._begin = len(tasks) if recorded is None else len(recorded)
        self._other_tasks = other_tasks[: max(0, self._count - self._begin)] if quick else []
        self.planned = len(self._tasks) + len(self._other_tasks)
        self.on_episode: Callable[[], None] = lambda: None
        self._first: list[Demonstration] = []
        self._expert = resolved.demonstrator == "expert"
        self._source = (
            self._watched(self._tasks, self._player, 0, self._play)
            if recorded is None
            else (episode for episode in recorded)
        )
        # Demonstrations beyond the budget are not played at all.
        paid = affordable(run, resolved, self._source, self.spent)
        self._rest = paid if self.imitated else self._source

    def vocabulary_episodes(self) -> Iterator[Demonstration]:
        """Yield the first episodes and, if they are too few, random play of other tasks."""
        self._first += islice(self._rest, self._count - len(self._first))
        yield from self._first
        if self._other_tasks:
            yield from self._watched(self._other_tasks, _random_player, self._begin)

    @property
    def demonstrations(self) -> Iterator[Demonstration]:
        """All episodes, each played when it is requested or shortly before."""
        return chain(self._first, self._rest)

    def close(self) -> None:
        """Stop playing, and close the environments."""
        self._source.close()
        if self._loop:
            self._loop.close()
        for env in self._envs:
            env.close()

    def _watched(
        self,
        tasks: Sequence[Mapping[str, Any]],
        make_player: MakePlayer,
        first: int,
        play_one: PlayOne = play,
    ) -> Generator[Demonstration, None, None]:
        """Play tasks, as many at once as the back end allows."""
        while len(self._envs) < min(self._at_once, len(tasks)):
            self._envs.append(make_safe_env(self._resolved, self._run.config))
        seed = self._seed + first
        # Looked up at each episode, because the callback may be set after this has started.
        yield from watch(self._envs, tasks, make_player, seed, lambda: self.on_episode(), play_one)

    def _not_among(
        self, episodes: Sequence[Demonstration], tasks: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Return the tasks without an episode, in order."""
        names, env = (
            {str(episode.info["task_id"]) for episode in episodes},
            self._resolved.make_env(),
        )
        missing = [t for t in tasks if env.tasks.task(t["split"], t["index"]).id not in names]
        env.close()
        return missing

    def _player(self, env: gymnasium.Env[str, str], seed: int) -> Policy:
        """Return the player of an episode."""
        return DemonstratorPolicy(env) if self._expert else RandomPolicy(seed)

    def check_opening(self, policy: LoadedPolicy) -> None:
        """Check that the opening of a training task leaves the model room for a turn.

        Other episodes with too long an opening end individually, with ``length``.

        Raises:
            ConfigurationError: It does not.
        """
        if self._first:
            observation, info = self._first[0].observation, dict(self._first[0].info)
        else:
            try:
                observation, info = self._envs[0].reset(options=self._opening)
            except EnvFailure:
                return  # The phases that play report the error.
        opening = first_messages(policy.prompts[self._name], observation, info)
        require_room(policy.chat, policy.budget, opening, info["task_id"])


def first_messages(prompt: Prompt, observation: str, info: Mapping[str, Any]) -> list[Message]:
    """Return the messages that the policy reads before its first action."""
    return [*Conversation(prompt, str(info["goal"])).messages(SeenTurn.of(observation, info))]


def require_room(
    chat: TurnTokenizer, budget: TokenBudget, opening: Sequence[Message], task_id: str
) -> int:
    """Check that the opening of an episode leaves the policy room for a turn.

    Returns:
        Its tokens.

    Raises:
        ConfigurationError: It does not.
    """
    tokens = len(chat.start(opening))
    if budget.context - tokens < budget.floor:
        raise ConfigurationError(
            f"expected the opening of an episode to leave room for a turn of {budget.floor} "
            f"tokens among the {budget.context} that the model reads, but that of {task_id} takes "
            f"{tokens}: use a model with more positions, lower --rl.turn-tokens, or ask for "
            "shorter observations with --env-kwargs"
        )
    return tokens


def show_watching(display: Display, demonstrators: Iterable[Demonstrator]) -> None:
    """Start the demonstration phase, and show each episode as it ends."""
    players = list(demonstrators)
    planned = sum(player.planned for player in players)
    if planned:
        watched = display.episodes("demonstrations", planned)
        for player in players:
            player.on_episode = watched


def _random_player(env: gymnasium.Env[str, str], seed: int) -> Policy:
    """Return a random player, which provides vocabulary."""
    return RandomPolicy(seed)


def demonstration_tasks(
    run: ResolvedRun, env: ResolvedEnv
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Choose the training tasks of the demonstrations, each at most once.

    Several environments share the demonstrations by weight.

    Returns:
        These tasks and all other training tasks, in an order drawn from the run's seed.
    """
    text_env = env.make_env()
    size = text_env.tasks.len(TRAIN)
    text_env.close()
    total = sum(e.weight for e in run.envs if bool(e.demonstrator) == bool(env.demonstrator))
    limit = max(1, math.ceil(run.config.sft.demonstrations * env.weight / total))
    # A separate stream: the 1 distinguishes it from every other use of the run's seed.
    rng = np.random.Generator(np.random.PCG64([run.config.seed, 1]))
    order = [{"split": TRAIN, "index": int(index)} for index in rng.permutation(size)]
    return order[:limit], order[limit:]


class BaselineDemonstrations:
    """The demonstrations of the warm start, played once for all imitating baselines.

    Args:
        run: The run.
        display: Shows the episodes as they are played.
    """

    def __init__(self, run: ResolvedRun, display: Display) -> None:
        self._run, self._display = run, display

    def solved(self) -> tuple[int, int]:
        """Return the numbers of demonstrations that solved their task and of all."""
        successes = [
            bool(e.last["success"])
            for demonstrations in self._watched.values()
            for e in demonstrations
        ]
        return sum(successes), len(successes)

    def rows(self, policy: LoadedPolicy, only_successes: bool) -> list[Row]:
        """Return the demonstrations as training rows of a policy, all or only the solved ones."""
        return [
            row
            for name, demonstrations in self._watched.items()
            for row in _rows(self._run, name, demonstrations, policy, only_successes)
        ]

    @cached_property
    def _watched(self) -> dict[str, list[Demonstration]]:
        """All demonstrations, by environment."""
        with ExitStack() as stack:
            imitated = [env for env in self._run.envs if env.demonstrator]
            players = {env.name: Demonstrator(self._run, env) for env in imitated}
            for player in players.values():
                stack.callback(player.close)
            show_watching(self._display, players.values())
            return {name: list(player.demonstrations) for name, player in players.items()}


def demonstrated_rows(
    run: ResolvedRun, policy: LoadedPolicy, demonstrators: Mapping[str, Demonstrator]
) -> Sequence[Row]:
    """Return the demonstrations of all environments as training rows of a policy.

    Raises:
        ConfigurationError: Only successes are requested, and there are none.
    """
    sft = run.config.sft
    rows: list[Row] = []
    for name, demonstrator in demonstrators.items():
        if demonstrator.imitated:
            rows += _rows(run, name, demonstrator.demonstrations, policy, sft.only_successes)
    if not rows and sft.only_successes:
        raise ConfigurationError(
            "expected demonstrations that solved their task, but none did within the horizon (and "
            "files of AgentTraj do not tell); give a longer --horizon, another --sft.demonstrator, "
            "or --sft.no-only-successes"
        )
    return rows


def _rows(
    run: ResolvedRun,
    name: str,
    demonstrations: Iterable[Demonstration],
    policy: LoadedPolicy,
    only_successes: bool,
) -> list[Row]:
    """Return an environment's demonstrations as training rows, repeated by their weight."""
    imitated = [
        episode for episode in demonstrations if episode.last["success"] or not only_successes
    ]
    loop = loop_of(run)
    prompt = policy.prompts[name]
    encoded = list(
        loop.encode(imitated, policy.chat) if loop else encode(imitated, policy.chat, prompt)
    )
    if run.config.sft.weights == "none" or not encoded:
        return to_rows(encoded)
    returns = np.array([episode.episode_return for episode in encoded])
    numbers = {task: number for number, task in enumerate({e.task_id: None for e in encoded})}
    tasks = np.array([numbers[episode.task_id] for episode in encoded])
    weights = advantage_weights(returns, tasks, run.config.sft.beta)
    # A separate stream: the 2 distinguishes it from every other use of the run's seed.
    drawn = copies(weights, np.random.Generator(np.random.PCG64([run.config.seed, 2])))
    return to_rows([e for e, times in zip(encoded, drawn, strict=True) for _ in range(times)])
