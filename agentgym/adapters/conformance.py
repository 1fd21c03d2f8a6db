"""Whether an environment is the same world through each of its doors, and for equal seeds.

Episodes are played once: by the expert where there is one, by random admissible actions, and by
hostile text. The same actions are then taken again through every door; observations, rewards, ends
and failures have to be equal, to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import gymnasium
import numpy as np

from agentgym.core.env import TextEnv
from agentgym.core.guard import GuardedEnv
from agentgym.core.options import integer
from agentgym.core.outcome import bounded
from agentgym.errors import AgentGymError, EnvFailure, NotSupported
from agentgym.making import make_env, resolve
from agentgym.vector.isolated import IsolatedEnv

HOSTILE = ("", "lone \ud800, NUL \x00 <think> </tool_call> 😀 \u202e " + "x" * 9000, "]]]}}{{((")
"""Texts that no environment understands."""
SHOWN = 120
"""Most characters of an observation in a report."""
PATIENCE = 600.0
"""Seconds that a door may take for all episodes in a process of its own."""

Turn = tuple[str, str, bool, str]
"""Observation, reward as the hexadecimal digits of a float, whether the episode is over, and why it
failed, if it did."""


@dataclass(frozen=True)
class Play:
    """What is done in a task."""

    task_id: str
    seed: int
    horizon: int | None
    actions: tuple[str, ...]


@dataclass(frozen=True)
class DoorResult:
    """What was found at a door."""

    door: str
    """Its name, one of `DOORS`."""
    equal: int
    """Episodes that were the same."""
    n: int
    """Episodes that were played; 0 if the door cannot be tried here."""
    difference: str = ""
    """The first difference, or why the door cannot be tried."""

    @property
    def passed(self) -> bool:
        """Whether no episode differed."""
        return self.equal == self.n


@dataclass(frozen=True)
class Conformance:
    """Result of `conform`."""

    env: str
    """Id of the environment."""
    expert: bool
    """Whether an expert played."""
    failed: int
    """Episodes in which the environment failed; they have to fail alike."""
    sha256: str
    """Hash of observations, rewards and ends."""
    doors: tuple[DoorResult, ...]
    """What was found at each door."""

    @property
    def passed(self) -> bool:
        """Whether nothing differed anywhere."""
        return all(door.passed for door in self.doors)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {**asdict(self), "passed": self.passed}


Replay = Callable[[str, Mapping[str, Any], Sequence[Play]], list[list[Turn]]]


def conform(
    env: str,
    *,
    split: str = "test",
    n: int = 12,
    seed: int = 0,
    horizon: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    on_door: Callable[[DoorResult], None] = lambda result: None,
) -> Conformance:
    """Play the same episodes through every door and compare.

    Args:
        env: A short name such as ``webshop``, an id, ``MODULE:ID`` or ``PREFIX:NAME``.
        split: Split of the tasks.
        n: Number of tasks, cut to the split's size; a third each for expert, random and hostile.
        seed: Seed of the panel, the episodes and the random actions.
        horizon: Turn budget; None: the environment's own.
        env_kwargs: Arguments of the environment.
        on_door: Called after each door.

    Raises:
        ConfigurationError: Nothing has this name, or an argument is wrong.
    """
    kwargs = dict(env_kwargs or {})
    env_id = resolve(env)[1]
    with closing(make_env(env_id, kwargs, "env_kwargs")) as made:
        tasks = made.tasks
        count = min(integer(n, "n", 1), tasks.len(tasks.check(split)))
        ids = tasks.panel(split, count, seed).ids
        found = [_first(made, task_id, seed + k, k, horizon) for k, task_id in enumerate(ids)]
    plays, right = [play for play, _, _ in found], [turns for _, turns, _ in found]
    results = []
    for door, replay in DOORS.items():
        results.append(_compared(door, replay, (env, kwargs), plays, right))
        on_door(results[-1])
    return Conformance(
        env_id,
        any(expert for _, _, expert in found),
        sum(bool(turns[-1][3]) for turns in right),
        digest(right),
        tuple(results),
    )


def digest(episodes: Sequence[Sequence[Turn]]) -> str:
    """Return one hash over the turns of episodes; what failed counts without its words."""
    plain = [[(*turn[:3], bool(turn[3])) for turn in turns] for turns in episodes]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


# -- playing ---------------------------------------------------------------------------------------


def _first(
    env: TextEnv, task_id: str, seed: int, number: int, horizon: int | None
) -> tuple[Play, list[Turn], bool]:
    """Play a task for the first time; return what was done, what came, and if an expert played."""
    rng = np.random.Generator(np.random.PCG64(seed))
    guarded = GuardedEnv(env)
    begin = Play(task_id, seed, horizon, ())
    actions: list[str] = []
    expert = False
    turns, info = _begin(guarded, begin)
    while not turns[-1][2]:
        offered = info.get("admissible_actions") or ()
        action = _expert(guarded) if number % 3 == 0 else None
        expert = expert or action is not None
        if number % 3 == 2 and len(actions) < len(HOSTILE):
            action = HOSTILE[len(actions)]
        if action is None:
            action = str(offered[int(rng.integers(len(offered)))]) if offered else HOSTILE[2]
        actions.append(action)
        turn, info = _take(guarded, action)
        turns.append(turn)
    return Play(task_id, seed, horizon, tuple(actions)), turns, expert


def _expert(env: GuardedEnv) -> str | None:
    try:
        return env.oracle_action()
    except (NotSupported, EnvFailure):
        return None


def _begin(env: gymnasium.Env[str, str], play: Play) -> tuple[list[Turn], Mapping[str, Any]]:
    """Begin an episode."""
    options: dict[str, Any] = {"task_id": play.task_id}
    options |= {} if play.horizon is None else {"horizon": play.horizon}
    try:
        observation, info = env.reset(seed=play.seed, options=options)
    except EnvFailure as failure:
        return [("", "", True, str(failure) or "failed")], {}
    return [(observation, (0.0).hex(), False, "")], info


def _take(env: gymnasium.Env[str, str], action: str) -> tuple[Turn, Mapping[str, Any]]:
    """Take a turn."""
    try:
        observation, reward, terminated, truncated, info = env.step(action)
    except EnvFailure as failure:
        return ("", "", True, str(failure) or "failed"), {}
    return (observation, float(reward).hex(), bool(terminated or truncated), ""), info


def _again(env: gymnasium.Env[str, str], plays: Sequence[Play]) -> list[list[Turn]]:
    """Take the same actions in an environment."""
    found = []
    for play in plays:
        turns, _ = _begin(env, play)
        for action in play.actions:
            if turns[-1][2]:
                break
            turns.append(_take(env, action)[0])
        found.append(turns)
    return found


# -- doors -----------------------------------------------------------------------------------------


def _another(env: str, kwargs: Mapping[str, Any], plays: Sequence[Play]) -> list[list[Turn]]:
    with closing(make_env(resolve(env)[1], kwargs, "env_kwargs")) as made:
        return _again(GuardedEnv(made), plays)


def _reversed(env: str, kwargs: Mapping[str, Any], plays: Sequence[Play]) -> list[list[Turn]]:
    return _another(env, kwargs, plays[::-1])[::-1]


def _in_process(env: str, kwargs: Mapping[str, Any], plays: Sequence[Play]) -> list[list[Turn]]:
    with closing(make_env(resolve(env)[1], kwargs, "env_kwargs")) as made:
        spec = made.spec
    with closing(IsolatedEnv(spec, "process")) as isolated:
        return _again(isolated, plays)


def _with_hash_seed(env: str, kwargs: Mapping[str, Any], plays: Sequence[Play]) -> list[list[Turn]]:
    """Play in a process in which sets have another order."""
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    asked = json.dumps({"env": env, "kwargs": dict(kwargs), "plays": [asdict(p) for p in plays]})
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "turns.json")
        # To a file, because the libraries of peers print what they like.
        subprocess.run(
            [sys.executable, "-c", f"import {__name__} as it; it.answer({str(told)!r})"],
            input=asked,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=True,
        )
        return [[(t[0], t[1], t[2], t[3]) for t in turns] for turns in json.loads(told.read_text())]


def answer(path: str) -> None:
    """Play what standard input asks for, in a process that was started for it.

    Args:
        path: File to write the turns to, as JSON.
    """
    asked = json.load(sys.stdin)
    plays = [Play(**{**play, "actions": tuple(play["actions"])}) for play in asked["plays"]]
    turns = _another(asked["env"], asked["kwargs"], plays)
    Path(path).write_text(json.dumps(turns))


def _over_http(env: str, kwargs: Mapping[str, Any], plays: Sequence[Play]) -> list[list[Turn]]:
    with _served(env, kwargs) as ask:
        number = ask("createEnv")["env_idx"]
        found = []
        for play in plays:
            named = {"task_id": play.task_id, "seed": play.seed, "horizon": play.horizon}
            turns = [_heard(ask("reset", env_idx=number, **named))]
            for action in play.actions:
                if turns[-1][2]:
                    break
                turns.append(_heard(ask("step", env_idx=number, action=action)))
            found.append(turns)
        return found


def _heard(told: Mapping[str, Any]) -> Turn:
    if "error" in told:
        return ("", "", True, str(told["error"]))
    return told["observation"], float(told["reward"]).hex(), bool(told["done"]), ""


@contextmanager
def _served(env: str, kwargs: Mapping[str, Any]) -> Iterator[Callable[..., dict[str, Any]]]:
    """Serve an environment in a process of its own; yield what asks it."""
    pairs = [f"{name}={json.dumps(value)}" for name, value in kwargs.items()]
    command = [sys.executable, "-m", "agentgym", "serve", "http", env, "--port", "0", "--open"]
    with subprocess.Popen(
        [*command, *(["--set", *pairs] if pairs else [])],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "COLUMNS": "1000"},
    ) as server:
        assert server.stdout is not None and server.stderr is not None
        try:
            said = next((line for line in server.stdout if " is at http" in line), "")
            if not said:
                raise EnvFailure(f"no server: {server.stderr.read()[-500:].strip()}")
            url = said.rpartition(" is at ")[2].partition(";")[0].strip()
            opener = build_opener(ProxyHandler({}))

            def ask(call: str, **body: Any) -> dict[str, Any]:
                request = Request(
                    f"{url}/{call}",
                    json.dumps(body).encode(),
                    {"Content-Type": "application/json"},
                )
                try:
                    with opener.open(request, timeout=PATIENCE) as found:
                        told: dict[str, Any] = json.load(found)
                except OSError as error:
                    read = getattr(error, "read", None)
                    return {"error": read().decode("utf-8", "replace") if read else str(error)}
                return told

            yield ask
        finally:
            server.terminate()


DOORS: Mapping[str, Replay] = {
    "again": _another,
    "other order": _reversed,
    "process": _in_process,
    "hash seed": _with_hash_seed,
    "http": _over_http,
}
"""The doors: another environment of the same name, the same tasks in another order, a process of
its own, one with another ``PYTHONHASHSEED``, and ``agentgym serve http``."""


def _compared(
    door: str,
    replay: Replay,
    made: tuple[str, Mapping[str, Any]],
    plays: Sequence[Play],
    right: Sequence[Sequence[Turn]],
) -> DoorResult:
    """Play through a door and compare."""
    try:
        found = replay(*made, plays)
    except (AgentGymError, OSError, ValueError, subprocess.SubprocessError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return DoorResult(door, 0, 0, f"not tried: {bounded(reason, 3 * SHOWN)}")
    differences = [
        _difference(play, turns, wanted)
        for play, turns, wanted in zip(plays, found, right, strict=True)
    ]
    real = [difference for difference in differences if difference]
    return DoorResult(door, len(plays) - len(real), len(plays), real[0] if real else "")


def _difference(play: Play, found: Sequence[Turn], wanted: Sequence[Turn]) -> str:
    """Say where two episodes differ first; empty if they do not."""
    for number, (now, before) in enumerate(zip(found, wanted, strict=False)):
        # That both fail is the same; in which words they do so is not compared.
        failed = (before[3], now[3]) if bool(now[3]) != bool(before[3]) else ("", "")
        parts = {
            "failure": failed,
            "observation": (before[0], now[0]),
            "reward": (before[1], now[1]),
            "end": (before[2], now[2]),
        }
        for what, (then, later) in parts.items():
            if then != later:
                place = f"{play.task_id}, turn {number}, {what}"
                return f"{place}: {' then '.join(_shown(then, later))}"
    if len(found) != len(wanted):
        return f"{play.task_id}: {len(wanted) - 1} turns, then {len(found) - 1}"
    return ""


def _shown(then: object, later: object) -> tuple[str, str]:
    """Return two values that differ, texts from shortly before the place where they do."""
    if not isinstance(then, str) or not isinstance(later, str):
        return repr(then), repr(later)
    pairs = enumerate(zip(then, later, strict=False))
    same = next((k for k, (a, b) in pairs if a != b), min(len(then), len(later)))
    start = max(0, same - SHOWN // 4)
    before = "..." if start else ""
    return (
        repr(before + bounded(then[start:], SHOWN)),
        repr(before + bounded(later[start:], SHOWN)),
    )
