"""The game in each project's API: a single environment, and a vector environment if it has one.

Every function imports its project itself, because each may need a separate virtual environment.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.game import GUESSES, HIGH, PROMPT, TURNS, Game


@dataclass(frozen=True)
class Loop:
    """One environment, driven like its users do.

    Attributes:
        reset: Begins an episode.
        step: Takes an action; returns whether the episode is over.
    """

    reset: Callable[[], object]
    step: Callable[[str], bool]


@dataclass(frozen=True)
class Vector:
    """A vector environment; finished members restart.

    Attributes:
        turn: Takes one action for each member.
        close: Ends them.
    """

    turn: Callable[[Sequence[str]], object]
    close: Callable[[], object]


@dataclass(frozen=True)
class Stack:
    """The measurements of one project.

    Attributes:
        module: Module that its users import.
        requirement: Requirement for ``pip``.
        loop: Makes one environment.
        vectors: Vector interface -> factory for a number of environments.
        remark: Remark on the figures.
    """

    module: str
    requirement: str
    loop: Callable[[], Loop]
    vectors: dict[str, Callable[[int], Vector]]
    remark: str = ""


def bare() -> Loop:
    """The rules alone."""
    game = Game()
    return Loop(game.reset, lambda action: any(game.step(action)[2:]))


def _steps(env: Any) -> Loop:
    """Drive an environment with Gymnasium's five values."""

    def step(action: str) -> bool:
        _, _, terminated, truncated, _ = env.step(action)
        return bool(terminated or truncated)

    return Loop(env.reset, step)


# Gymnasium


def _gymnasium_id() -> str:
    import gymnasium
    from gymnasium.spaces import Text

    charset = "".join(map(chr, range(32, 127))) + "\n"

    class GuessGymnasium(gymnasium.Env[str, str]):
        def __init__(self) -> None:
            self.observation_space = Text(200, charset=charset)
            self.action_space = Text(200, charset=charset)
            self.game = Game()

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[str, dict[str, Any]]:
            super().reset(seed=seed)
            return self.game.reset(seed), {"turn": 0}

        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            return *self.game.step(action), {"turn": self.game.turn}

    if "peers/Guess-v0" not in gymnasium.registry:
        gymnasium.register("peers/Guess-v0", entry_point=GuessGymnasium)
    return "peers/Guess-v0"


def gymnasium_loop() -> Loop:
    """``gymnasium.make`` of a lean environment, whose info has one key."""
    import gymnasium

    return _steps(gymnasium.make(_gymnasium_id()))


def gymnasium_vector(count: int, kind: str) -> Vector:
    """Gymnasium's own vector of lean environments."""
    import gymnasium
    from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

    # Registered in the factory: from Python 3.14 on workers are not forked from this process.
    makers = [lambda: gymnasium.make(_gymnasium_id())] * count
    envs: Any = SyncVectorEnv(makers) if kind == "sync" else AsyncVectorEnv(makers, False)
    envs.reset(seed=0)
    return Vector(lambda actions: envs.step(tuple(actions)), envs.close)


# agentgym


def _agentgym_id() -> str:
    import gymnasium
    import numpy as np

    from agentgym.actions import ActionSpec, Param
    from agentgym.core.env import TextEnv
    from agentgym.core.outcome import Outcome
    from agentgym.core.tasks import Task, TaskList

    def tasks(split: str, first: int) -> list[Task]:
        numbers = range(first, HIGH + 1, 3)
        return [
            Task(f"guess/{number}", split, index, PROMPT, {"number": number})
            for index, number in enumerate(numbers)
        ]

    dealt = TaskList(
        "guess", {split: tasks(split, 1 + i) for i, split in enumerate(("train", "valid", "test"))}
    )

    class GuessAgentgym(TextEnv):
        """Guess a number."""

        action_specs = (
            ActionSpec(
                name="guess",
                description="Guess the number.",
                params=(Param("number", type="integer", description="The guess."),),
                native="guess[{number}]",
            ),
        )

        def __init__(self, **options: Any) -> None:
            super().__init__(dealt, **{"horizon": TURNS, **options})
            self.game = Game()

        def _start(self, task: Task, rng: np.random.Generator) -> str:
            return self.game.start(task.content["number"])

        def _act(self, action: str) -> Outcome:
            text, reward, terminated, _ = self.game.step(action)
            return Outcome(
                text, reward, terminated, success=terminated, valid=not text.startswith("invalid")
            )

        def _state(self) -> str:
            return f"{self.game.number}/{self.game.turn}"

        def _snapshot(self) -> Any:
            return self.game.number, self.game.turn

        def _restore(self, state: Any) -> None:
            self.game.number, self.game.turn = state

    if "peers/GuessAgentgym-v0" not in gymnasium.registry:
        gymnasium.register("peers/GuessAgentgym-v0", entry_point=GuessAgentgym)
    return "peers/GuessAgentgym-v0"


def agentgym_loop() -> Loop:
    """``gymnasium.make`` of our environment, with the whole contract."""
    import gymnasium

    return _steps(gymnasium.make(_agentgym_id()))


def agentgym_slots(count: int) -> Vector:
    """The interface of rollouts: slots step and reset individually."""
    from agentgym.vector import TextVectorEnv

    envs = TextVectorEnv.make(_agentgym_id(), count)
    slots = list(range(count))
    envs.reset_slots(slots, slots)

    def turn(actions: Sequence[str]) -> None:
        results = envs.step_slots(slots, actions)
        if terminated := [
            slot for slot, result in zip(slots, results, strict=True) if any(result[2:4])
        ]:
            envs.reset_slots(terminated)

    return Vector(turn, envs.close)


def agentgym_vector(count: int) -> Vector:
    """Our environments behind Gymnasium's vector interface."""
    from agentgym.vector import TextVectorEnv

    envs = TextVectorEnv.make(_agentgym_id(), count, autoreset_mode="NextStep")
    envs.reset(seed=0)
    return Vector(lambda actions: envs.step(tuple(actions)), envs.close)


# GEM


def _gem_id() -> str:
    from gem.core import Env
    from gem.envs.registration import ENV_REGISTRY, register

    class GuessGem(Env):
        def __init__(self, seed: int = 0, **_: Any) -> None:
            self.game = Game(seed)

        def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
            super().reset(seed)
            return self.game.reset(seed), {}

        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            return *self.game.step(action), {"turn": self.game.turn}

    if "peers:Guess-v0" not in ENV_REGISTRY:
        register("peers:Guess-v0", GuessGem)
    return "peers:Guess-v0"


def gem_loop() -> Loop:
    """``gem.make``."""
    import gem

    return _steps(gem.make(_gem_id()))


def gem_vector(count: int, threads: bool) -> Vector:
    """``gem.make_vec``, in turn or in threads."""
    import gem

    envs = gem.make_vec([_gem_id()] * count, async_mode=threads)
    envs.reset()
    return Vector(
        lambda actions: envs.step(list(actions)), getattr(envs, "close", None) or (lambda: None)
    )


# TextArena, skyrl-gym, OpenEnv, verifiers


def textarena_loop() -> Loop:
    """A game in the default observation wrapper, rebuilt for each episode.

    The wrapper accumulates all observations.
    """
    import textarena

    numbers = Game()

    class GuessTextArena(textarena.Env):
        def reset(self, num_players: int, seed: int | None = None) -> None:
            self.state = textarena.SinglePlayerState(
                num_players=num_players, seed=seed, max_turns=TURNS
            )
            numbers.reset()
            self.state.reset(
                game_state={}, player_prompt_function=lambda player_id, game_state: PROMPT
            )

        def step(self, action: str) -> Any:
            kind = textarena.ObservationType
            self.state.add_observation(
                from_id=0, to_id=-1, message=action, observation_type=kind.PLAYER_ACTION
            )
            text, reward, terminated, truncated = numbers.step(action)
            if terminated or truncated:
                self.state.set_outcome(reward=reward, reason=text)
            else:
                self.state.add_observation(message=text, observation_type=kind.GAME_MESSAGE)
            return self.state.step()

    env: Any = None

    def reset() -> None:
        nonlocal env
        env = textarena.wrappers.LLMObservationWrapper(GuessTextArena())
        env.reset(num_players=1)
        env.get_observation()

    def step(action: str) -> bool:
        terminated, _ = env.step(action)
        if not terminated:
            env.get_observation()
        return bool(terminated)

    return Loop(reset, step)


def skyrl_loop() -> Loop:
    """``skyrl_gym.make``."""
    import skyrl_gym
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
    from skyrl_gym.envs.registration import register, registry

    class GuessSkyRL(BaseTextEnv):
        def __init__(self, env_config: Any = None, extras: Any = None) -> None:
            super().__init__()
            self.game = Game()

        def init(self, prompt: Any) -> Any:
            return [{"role": "user", "content": self.game.reset()}], {}

        def step(self, action: str) -> Any:
            text, reward, terminated, truncated = self.game.step(action)
            return BaseTextEnvStepOutput(
                observations=[{"role": "user", "content": text}],
                reward=reward,
                done=terminated or truncated,
                metadata={"turn": self.game.turn},
            )

    if "peers_guess" not in registry:
        register(id="peers_guess", entry_point=GuessSkyRL)
    env = skyrl_gym.make("peers_guess")
    return Loop(lambda: env.init([]), lambda action: bool(env.step(action)["done"]))


def openenv_loop() -> Loop:
    """An environment in the process of its caller: no server, no client."""
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, Observation, State

    class Guess(Action):
        text: str

    class Reply(Observation):
        text: str

    class GuessOpenEnv(Environment):
        def __init__(self) -> None:
            super().__init__()
            self.game, self._state = Game(), State()

        def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> Any:
            self._state = State(episode_id=episode_id, step_count=0)
            return Reply(text=self.game.reset(seed))

        def step(self, action: Any, timeout_s: float | None = None, **_: Any) -> Any:
            text, reward, terminated, truncated = self.game.step(action.text)
            self._state.step_count += 1
            return Reply(text=text, reward=reward, done=terminated or truncated)

        @property
        def state(self) -> Any:
            return self._state

    env = GuessOpenEnv()
    return Loop(env.reset, lambda action: bool(env.step(Guess(text=action)).done))


def verifiers_loop() -> Loop:
    """Tasks of one reply, scored by their reward in the caller's process."""
    import verifiers.v1 as vf

    class GuessTask(vf.Task[vf.TaskData]):
        @vf.reward
        async def correct(self, trace: vf.Trace) -> float:
            game = Game()
            game.start(int(self.data.name))
            return game.step(trace.last_reply)[1]

    class Reply:
        def __init__(self, text: str) -> None:
            self.last_reply, self.rewards, self.metrics = text, {}, {}

        def record_reward(self, *_: Any, **__: Any) -> None: ...

        def record_metric(self, *_: Any, **__: Any) -> None: ...

    numbers = itertools.cycle(range(1, HIGH + 1))
    events = asyncio.new_event_loop()
    task: Any = None

    def reset() -> None:
        nonlocal task
        number = next(numbers)
        task = GuessTask(vf.TaskData(idx=number, name=str(number), prompt=PROMPT), vf.TaskConfig())

    def step(action: str) -> bool:
        events.run_until_complete(task.score(Reply(action)))
        return True

    return Loop(reset, step)


STACKS = {
    "bare Python": Stack("random", "", bare, {}, "the rules alone"),
    "agentgym": Stack(
        "agentgym",
        "agentgym",
        agentgym_loop,
        {"slots": agentgym_slots, "Gymnasium vector": agentgym_vector},
        "the whole contract: 14 keys of info, tasks, splits, state keys",
    ),
    "gymnasium": Stack(
        "gymnasium",
        "gymnasium",
        gymnasium_loop,
        {
            "SyncVectorEnv": lambda count: gymnasium_vector(count, "sync"),
            "AsyncVectorEnv": lambda count: gymnasium_vector(count, "async"),
        },
        "one key of info",
    ),
    "gem": Stack(
        "gem",
        "gem-llm",
        gem_loop,
        {
            "sync": lambda count: gem_vector(count, False),
            "threads": lambda count: gem_vector(count, True),
        },
        "one key of info",
    ),
    "textarena": Stack("textarena", "textarena", textarena_loop, {}, "its default wrapper"),
    "skyrl-gym": Stack("skyrl_gym", "skyrl-gym", skyrl_loop, {}, "one key of metadata"),
    "openenv": Stack(
        "openenv.core.env_server.interfaces", "openenv", openenv_loop, {}, "without its server"
    ),
    "verifiers": Stack(
        "verifiers.v1", "verifiers", verifiers_loop, {}, "tasks of one reply, scored in process"
    ),
}

__all__ = ["GUESSES", "STACKS", "Loop", "Stack", "Vector"]
