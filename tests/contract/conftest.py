"""Every test of this folder runs over every registered id, with the network cut off."""

from __future__ import annotations

import importlib.util
import random
import socket
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest

from agentgym.core.env import TextEnv
from agentgym.registration import FAMILIES
from tests.authoring.tools.sums import SUMS_ID
from tests.contract.choices import BOXED
from tests.contract.playing import play
from tests.contract.variants import VARIANTS, packages
from tests.envs.alfworld.grammars import keep_grammars
from tests.envs.swe.boxed import NO_BOX
from tests.toy import TOY_ID
from tests.vector.conftest import warm_workers

__all__ = ["warm_workers"]  # which this folder's tests have, too

keep_grammars()

PACKAGES = {family.id: family.packages for family in FAMILIES}
SANDBOXED = tuple(
    family.id.partition("/")[2].partition("-")[0] for family in FAMILIES if family.boxed
)
"""Begins the names of ids, variants included, whose tasks are played in a sandbox."""
SLOW = {
    *(family.id for family in FAMILIES if family.name in BOXED), "agentgym-test/SWEDense-v0",
    "agentgym-test/TextWorldInform-v0", "agentgym-test/ALFWorldOriginal-v0",
}  # fmt: skip
"""Those whose every turn asks another process: a sandbox, or an engine of other people."""
IDS = [
    pytest.param(env_id, marks=[pytest.mark.slow] * (env_id in SLOW))
    for env_id in (TOY_ID, SUMS_ID, *PACKAGES, *VARIANTS)
]

Make = Callable[..., TextEnv]
TURNS = 50
"""Turns of a recorded play; an id whose every turn asks another process plays a third."""


def share(env_id: str, turns: int) -> int:
    """How many of some turns a test plays: a third where each asks another process."""
    return turns // 3 if env_id in SLOW else turns


def short(env_id: str) -> dict[str, Any]:
    """Arguments with which an episode ends within a third of the turns, too."""
    return {"horizon": 6} if env_id in SLOW else {}


class Recorded(NamedTuple):
    """What came of playing an id, once for all tests that look at it."""

    log: list[Any]
    """As :func:`tests.contract.playing.play` returns it."""
    drawn: bool
    """Whether one of the global generators was drawn from."""


@cache
def recorded(env_id: str, choose: Callable[..., str]) -> Recorded:
    """Play with a chooser of actions; what is returned is not to be changed."""
    random.seed(5)
    np.random.seed(5)
    generators_before = _generators()
    env = gymnasium.make(env_id, **short(env_id)).unwrapped
    assert isinstance(env, TextEnv)
    log = play(env, choose, share(env_id, TURNS))
    env.close()
    return Recorded(log, _generators() != generators_before)


def _generators() -> tuple[Any, ...]:
    """Return the states of the global generators."""
    name, keys, *rest_of_state = np.random.get_state()
    return random.getstate(), name, np.asarray(keys).tolist(), rest_of_state


@pytest.fixture(params=IDS)
def env_id(request: pytest.FixtureRequest) -> str:
    """An id whose optional packages are installed."""
    env_id = str(request.param)
    for package in (*PACKAGES.get(env_id, ()), *packages(env_id)):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{env_id} needs the package {package}")
    if env_id.partition("/")[2].startswith(SANDBOXED) and NO_BOX:
        pytest.skip(f"{env_id} needs a sandbox: {NO_BOX}")
    return env_id


@pytest.fixture
def make(env_id: str) -> Iterator[Make]:
    """Make the environment without wrappers; all are closed after the test."""
    envs: list[TextEnv] = []

    def make_one(**kwargs: Any) -> TextEnv:
        env = gymnasium.make(env_id, **kwargs).unwrapped
        assert isinstance(env, TextEnv)
        envs.append(env)
        return env

    yield make_one
    for env in envs:
        env.close()


@pytest.fixture
def env(make: Make) -> TextEnv:
    """One environment without wrappers."""
    return make()


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every attempt to reach another machine fail; local (UNIX) sockets stay."""

    def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
        def connect(self: socket.socket, address: Any, *args: Any) -> Any:
            if self.family != getattr(socket, "AF_UNIX", None):
                raise AssertionError(f"the environment tried to reach {address!r}")
            return method(self, address, *args)

        return connect

    def resolve(host: Any, *args: Any, **more: Any) -> Any:
        raise AssertionError(f"the environment tried to look up {host!r}")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, guarded(getattr(socket.socket, name)))
    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        monkeypatch.setattr(socket, name, resolve)
