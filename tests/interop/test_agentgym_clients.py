"""The clients of AgentGym and AgentGym-RL play here: each call that they make, in their form.

They are of two kinds. WebShop's, SearchQA's and five more read a number from ``/create``, send it
as ``env_idx``, and read a text from ``/observation``. ALFWorld's, BabyAI's, TextCraft's and four
more read objects and send ``id``; WebArena's reads ``env_idx`` from an object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import gymnasium
import pytest

from agentgym.core.env import TextEnv
from agentgym.interop.http_server import describe, make_app
from agentgym.interop.served_envs import ServedEnvs
from tests.servers import serve_in_thread
from tests.toy import ToyEnv


@contextmanager
def served(make: Callable[[], TextEnv], name: str) -> Iterator[str]:
    """Serve as ``agentgym serve http NAME`` does; yields the address."""
    envs = ServedEnvs(make)
    app = make_app(envs, describe(name, make()))
    with serve_in_thread(app, lifespan="off") as url, envs.sweeping():
        yield url
        assert len(envs) == 0, "a client has not closed its environment"


def post(url: str, call: str, body: dict[str, Any] | None = None) -> Any:
    """Post as their clients do: a new environment often without a body."""
    data = b"" if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{url}/{call}", data, method="POST"), timeout=60) as answer:
        return json.load(answer)


def get(url: str, call: str, query: str) -> Any:
    with urlopen(f"{url}/{call}?{query}", timeout=60) as answer:
        return json.load(answer)


class NumberClient:
    """WebShop, SearchQA, SQLGym, and the tools: whatever ``/create`` answers is the number."""

    def __init__(self, url: str, task: str, created_with: dict[str, Any] | None) -> None:
        self.url, self.task = url, task
        self.env_id = post(url, "create", created_with)

    def post(self, call: str, **body: Any) -> Any:
        return post(self.url, call, {**body, "env_idx": self.env_id})

    def observe(self) -> Any:
        return get(self.url, "observation", f"env_idx={self.env_id}")

    def reset(self, index: int) -> str:
        answer = self.post("reset", **{self.task: index})
        answer[0] = self.observe()  # WebShop's, which answers a list there
        return str(answer[0])

    def step(self, action: str) -> tuple[str, float, bool]:
        answer = self.post("step", action=action)
        text = answer["state"] if self.task in ("session_id", "item_id") else answer["observation"]
        return text, answer["reward"], answer["done"]

    def close(self) -> None:
        self.post("close")


class ObjectClient:
    """ALFWorld, BabyAI, ScienceWorld, TextCraft and LMRL-Gym."""

    def __init__(
        self, url: str, task: dict[str, Any], created_with: dict[str, Any] | None = None
    ) -> None:
        self.url, self.task = url, task
        answer = post(url, "create", created_with)
        self.env_id = answer["id"]
        self.text: str = answer["observation"]  # TextCraft's reads it
        self.actions: list[str] = []

    def post(self, call: str, **body: Any) -> Any:
        return post(self.url, call, {**body, "id": self.env_id})

    def reset(self, index: int) -> str:
        names = {name: index if value is None else value for name, value in self.task.items()}
        answer = self.post("reset", **names)
        assert (answer["reward"], answer["score"], answer["done"]) == (0, 0, False)
        assert answer["id"] == self.env_id and answer["task_description"]
        self.text, self.actions = answer["observation"], answer["available_actions"]
        return self.text

    def step(self, action: str) -> tuple[str, float, bool]:
        answer = self.post("step", action=action)
        self.text, self.actions = answer["observation"], answer["available_actions"]
        assert answer["score"] == (answer["reward"] if answer["done"] else 0)
        return answer["observation"], answer["score"], answer["done"]

    def close(self) -> None:
        assert self.post("close")


class WebArenaClient(ObjectClient):
    """Has a number called ``env_idx``, and reads of an end whether it was the task's."""

    def __init__(self, url: str) -> None:
        self.url, self.task = url, {"seed": 0, "idx": None}
        self.env_id = post(url, "create")["env_idx"]
        self.actions = []

    def post(self, call: str, **body: Any) -> Any:
        return post(self.url, call, {**body, "env_idx": self.env_id})

    def step(self, action: str) -> tuple[str, float, bool]:
        answer = self.post("step", action=action)
        return (
            answer["observation"],
            answer["reward"] if answer["terminated"] else 0,
            answer["terminated"],
        )


CLIENTS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "webshop": ("webshop", lambda url: NumberClient(url, "session_id", None)),
    "searchqa": ("search:standard", lambda url: NumberClient(url, "id", {"id": 0})),
    "sqlgym": ("agentgym/WebShop-v0", lambda url: NumberClient(url, "item_id", None)),
    "alfworld": ("alfworld", lambda url: ObjectClient(url, {"game": None, "world_type": "Text"})),
    "babyai": ("babyai", lambda url: ObjectClient(url, {"data_idx": None})),
    "sciworld": ("scienceworld:x", lambda url: ObjectClient(url, {"data_idx": None})),
    "maze": ("toy", lambda url: ObjectClient(url, {"game": None})),
    "textcraft": (
        "textcraft",
        lambda url: ObjectClient(
            url,
            {"data_idx": None},
            {"minecraft_dir": "agentenv_textcraft/", "commands": None, "goal": None},
        ),
    ),
    "webarena": ("toy", WebArenaClient),
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("index", [0, 7])
def test_its_clients_play_the_task_that_they_name(client: str, index: int) -> None:
    local = ToyEnv()
    name, make = CLIENTS[client]
    with served(ToyEnv, name) as url:
        remote = make(url)
        text, info = local.reset(seed=0, options={"index": index})
        assert remote.reset(index) == text
        is_done = False
        while not is_done:
            action = local.oracle_action()
            assert action is not None
            text, reward, terminated, truncated, info = local.step(action)
            is_done = terminated or truncated
            assert remote.step(action) == (text, reward, is_done)
            if client in ("alfworld", "babyai", "sciworld", "maze", "textcraft"):
                assert remote.actions == info["admissible_actions"]
        assert reward == 1.0
        remote.close()


def test_a_seed_draws_as_in_the_process() -> None:
    """The client of Wordle names a seed and no task."""
    local = ToyEnv()
    with served(ToyEnv, "toy") as url:
        remote = ObjectClient(url, {"seed": None})
        for seed in (0, 5):
            assert remote.reset(seed) == local.reset(seed=seed)[0]
        remote.close()


def test_a_client_may_send_back_all_that_its_environment_came_with() -> None:
    with served(ToyEnv, "toy") as url:
        environment = post(url, "create")
        answer = post(url, "reset", {"env_idx": environment, "id": 4})
        assert answer["observation"] == ToyEnv().reset(options={"index": 4})[0]
        post(url, "close", {"env_idx": environment})


def test_a_new_environment_takes_no_task_of_its_own() -> None:
    with served(ToyEnv, "textcraft") as url:
        for body in ({"goal": "craft sticks"}, {"commands": "craft 4 sticks using 2 planks"}):
            with pytest.raises(HTTPError) as caught:
                post(url, "create", body)
            with caught.value as answer:
                assert answer.code == 400 and b"a reset chooses the task" in answer.read()


def test_the_real_shop_is_played_as_its_client_does() -> None:
    def make() -> TextEnv:
        env = gymnasium.make("agentgym/WebShop-v0", size=60).unwrapped
        assert isinstance(env, TextEnv)
        return env

    local = make()
    with served(make, "webshop:easy") as url:
        remote = NumberClient(url, "session_id", None)
        text, _ = local.reset(seed=0, options={"index": 3})
        assert isinstance(remote.env_id, int) and remote.reset(3) == text
        assert remote.step("search[red shoes]")[0] == local.step("search[red shoes]")[0]
        remote.close()
    local.close()


def test_session_numbers_cannot_be_guessed() -> None:
    """Numbers near one that a client knows, and those from 0 on, lead nowhere."""
    with served(ToyEnv, "toy") as url:
        client, other_client = ObjectClient(url, {"game": None}), ObjectClient(url, {"game": None})
        text = other_client.reset(2)
        assert 0 < client.env_id < 1 << 53 and 0 < other_client.env_id < 1 << 53
        near = (client.env_id + step for step in (-2, -1, 1, 2))
        guesses = {*range(20), *near, client.env_id ^ (1 << 52)}
        for number in guesses - {client.env_id, other_client.env_id}:
            for call, body in (("step", {"action": "press red"}), ("close", {}), ("reset", {})):
                with pytest.raises(HTTPError, match="404") as caught:
                    post(url, call, {"id": number, **body})
                caught.value.close()
        assert get(url, "observation", f"id={quote(str(other_client.env_id))}") == {
            "observation": text
        }
        client.close()
        other_client.close()
