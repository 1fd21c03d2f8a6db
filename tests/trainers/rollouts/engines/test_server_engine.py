"""What engines on servers have in common, against stand-ins of every kind of server."""

from __future__ import annotations

import dataclasses
import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agentgym.errors import ConfigurationError, NotSupported
from tests.trainers import tiny_policy
from tests.trainers.rollouts.engines.standin_server import VOCABULARY, SGLangStandIn, StandIn
from tests.trainers.vllm.policy import make_model
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.engines import server_client
from trainers.rollouts.engines.base import (
    GenerationEngine,
    Request,
    Sampling,
    generate,
    least_entropy,
)
from trainers.rollouts.engines.failure import EngineFailure
from trainers.rollouts.engines.policy_weights import policy_weights
from trainers.rollouts.engines.server_engine import IN_TRANSIT, ServerEngine
from trainers.rollouts.engines.sglang_command import SGLangNeeds
from trainers.rollouts.engines.sglang_server import SGLangServerEngine
from trainers.rollouts.engines.vllm_command import ServerNeeds
from trainers.rollouts.engines.vllm_server import VLLMServerEngine
from trainers.rollouts.rollout_runner import RolloutRunner

SAMPLING = Sampling(max_tokens=3)
NEEDS: dict[str, Any] = {
    "model": "some/model", "context": 32, "sequences": 8, "dtype": "float32", "on_cpu": True,
    "nccl": False,
}  # fmt: skip


class Kind(NamedTuple):
    """A kind of server."""

    stand_in: type[StandIn]
    engine: type[ServerEngine]
    needs: ServerNeeds
    generating: str
    """Path of requests for tokens."""
    prompt: str
    """Their field with the prompt."""
    reading: str
    """Path at which weights are read."""

    def prompts(self, server: StandIn) -> list[list[int]]:
        """Return the prompts that a server has got."""
        return [body[self.prompt] for path, body in server.posts if path == self.generating]


KINDS = {
    "vllm": Kind(
        StandIn, VLLMServerEngine, ServerNeeds(**NEEDS), "/v1/completions", "prompt",
        "/collective_rpc",
    ),
    "sglang": Kind(
        SGLangStandIn, SGLangServerEngine, SGLangNeeds(**NEEDS, shared=True), "/generate",
        "input_ids", "/update_weights_from_disk",
    ),
}  # fmt: skip


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def server(kind: Kind) -> Iterator[StandIn]:
    standin = kind.stand_in()
    yield standin
    standin.stop()


@pytest.fixture(scope="module")
def model() -> Any:
    return make_model()


def connect(
    kind: Kind, model: Any, folder: Path, *servers: StandIn, **changes: Any
) -> ServerEngine:
    needs = dataclasses.replace(kind.needs, **changes)
    urls = [standin.url for standin in servers]
    return kind.engine(model, urls, needs, folder=folder, patience=0.3)


@pytest.fixture
def engine(kind: Kind, model: Any, server: StandIn, tmp_path: Path) -> Iterator[ServerEngine]:
    client = connect(kind, model, tmp_path, server)
    client.sync(policy_weights(model), 0)
    yield client
    client.close()


def expected(prompt: list[int], seed: int, count: int) -> list[int]:
    return [(sum(prompt) + seed + i) % VOCABULARY for i in range(count)]


def test_follows_the_protocol(engine: ServerEngine) -> None:
    assert isinstance(engine, GenerationEngine)
    assert (engine.exact, engine.version) == (True, 0)


def test_every_completion_finds_its_prompt(engine: ServerEngine) -> None:
    prompts = [[i, i + 1] for i in range(30)]
    out = generate(engine, prompts, SAMPLING, seeds=range(100, 130))
    assert [c.ids for c in out] == [expected(p, 100 + i, 3) for i, p in enumerate(prompts)]
    assert all(c.logprobs == [0.0, -0.5, -1.0] and not c.stopped for c in out)


def test_entropies_are_the_least_that_the_told_tokens_allow(engine: ServerEngine) -> None:
    """Twenty tokens of 1/40 each, and the rest as one of 1/2."""
    (plain_completions,) = generate(engine, [[4]], SAMPLING)
    (completion,) = generate(engine, [[4]], dataclasses.replace(SAMPLING, entropies=True))
    assert (plain_completions.ids, plain_completions.logprobs, plain_completions.entropies) == (
        completion.ids,
        completion.logprobs,
        [],
    )
    assert completion.entropies == pytest.approx([0.5 * math.log(40) + 0.5 * math.log(2)] * 3)
    assert least_entropy([0.0]) == 0.0


def test_what_ends_first_comes_first_and_the_timeout_is_kept(
    engine: ServerEngine, server: StandIn
) -> None:
    server.delays[5] = 1.0
    engine.submit([Request(0, [5], 2, 0), Request(1, [6], 2, 0)], SAMPLING)
    assert [key for key, _ in engine.advance()] == [1]
    assert engine.running == 1
    assert engine.advance(timeout=0.01) == []
    assert [key for key, _ in engine.advance()] == [0]
    assert engine.running == 0 and engine.advance() == []


@pytest.mark.parametrize("prompt", [[], [1] * 32])
def test_prompts_that_leave_no_room_are_refused(engine: ServerEngine, prompt: list[int]) -> None:
    with pytest.raises(ConfigurationError, match="1 to 31 tokens"):
        engine.submit([Request(0, [1], 1, 0), Request(1, prompt, 1, 0)], SAMPLING)
    assert engine.running == 0


class Hanging:
    """Lets a server answer some requests only after the test.

    Attributes:
        answered: Paths of such requests that it has answered.
    """

    def __init__(self, server: StandIn, path: str) -> None:
        self.answered: list[str] = []
        self._answer, self._path, self._ended = server.answer, path, threading.Event()
        self.asked = threading.Event()

    def __call__(self, path: str, payload: Any) -> Any:
        if path == self._path:
            self.asked.set()
            self._ended.wait(20)
            self.answered.append(path)
        return self._answer(path, payload)

    def end(self) -> None:
        self._ended.set()


def test_a_server_that_hangs_holds_up_no_abort(
    engine: ServerEngine, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a limit of its own the abort would wait as long as for a completion."""
    monkeypatch.setattr(server_client, "TELL_SECONDS", 0.05)
    hanging = Hanging(server, engine.kind.abort_path)
    monkeypatch.setattr(server, "answer", hanging)
    engine.submit([Request(0, [1], 2, 0)], SAMPLING)
    engine.abort()
    assert engine.running == 0 and not hanging.answered
    hanging.end()


def test_a_server_that_hangs_holds_up_no_end(
    engine: ServerEngine, server: StandIn, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process joins the threads of its requests before it ends."""
    hanging = Hanging(server, kind.generating)
    monkeypatch.setattr(server, "answer", hanging)
    engine.submit([Request(0, [1], 2, 0)], SAMPLING)
    assert hanging.asked.wait(20)
    pool = engine._pool
    assert pool is not None
    engine.close()
    pool.shutdown(wait=True)
    assert not hanging.answered
    hanging.end()


def test_an_abort_forgets_what_is_in_flight(engine: ServerEngine, server: StandIn) -> None:
    server.delays[5] = 0.3
    engine.submit([Request(0, [5], 2, 0)], SAMPLING)
    engine.abort()
    assert engine.running == 0
    assert engine.kind.abort_path in server.paths()
    out = generate(engine, [[7], [5]], SAMPLING)
    assert [c.ids for c in out] == [expected([7], 0, 3), expected([5], 1, 3)]


def test_connections_are_used_again(engine: ServerEngine, server: StandIn) -> None:
    for _ in range(20):
        generate(engine, [[1], [2]], SAMPLING)
    assert server.connections <= 1 + 2 * NEEDS["sequences"]


def test_conversations_stay_at_one_of_several_servers(
    kind: Kind, model: Any, tmp_path: Path
) -> None:
    servers = [kind.stand_in(), kind.stand_in()]
    engine = connect(kind, model, tmp_path, *servers)
    engine.sync(policy_weights(model), 0)
    generate(engine, [[i] for i in range(6)], SAMPLING)
    generate(engine, [[i] for i in range(6)], SAMPLING)
    openings = [{prompt[0] for prompt in kind.prompts(s)} for s in servers]
    assert openings == [{0, 2, 4}, {1, 3, 5}]
    assert all(s.weights == "0" for s in servers)
    engine.close()
    for standin in servers:
        standin.stop()


def test_episodes_of_a_task_share_the_prefix_of_one_server(
    kind: Kind, model: Any, tmp_path: Path
) -> None:
    """Through a rollout: members of a group play in different slots."""
    servers = [kind.stand_in(max_model_len=512), kind.stand_in(max_model_len=512)]
    engine = connect(kind, model, tmp_path, *servers, context=512)
    engine.sync(policy_weights(model), 0)
    chat, envs = tiny_policy.chat(), tiny_policy.envs(8)
    runner = RolloutRunner(envs, chat, engine, TokenBudget(4, 200, 250))
    runner.run(tiny_policy.tasks(4), group_size=2, horizon=2)
    openings = [{tuple(prompt[:12]) for prompt in kind.prompts(s)} for s in servers]
    assert all(openings) and openings[0].isdisjoint(openings[1])
    engine.close()
    for standin in servers:
        standin.stop()


def test_all_servers_read_the_weights_at_once(kind: Kind, model: Any, tmp_path: Path) -> None:
    """Each waits for the other, as if reading took long."""
    servers, together = [kind.stand_in(), kind.stand_in()], threading.Barrier(2, timeout=20)
    for standin in servers:
        standin.while_reading = together.wait
    engine = connect(kind, model, tmp_path, *servers)
    engine.sync(policy_weights(model), 3)
    assert [standin.weights for standin in servers] == ["3", "3"]
    engine.close()
    for standin in servers:
        standin.stop()


def test_a_server_that_fails_now_and_then_is_asked_again(
    engine: ServerEngine, server: StandIn
) -> None:
    server.failing = 1
    assert generate(engine, [[3]], SAMPLING)[0].ids == expected([3], 0, 3)


def test_a_server_that_dies_ends_the_wait_in_a_sentence(
    engine: ServerEngine, server: StandIn
) -> None:
    server.delays[5] = 0.5
    engine.submit([Request(0, [5], 2, 0)], SAMPLING)
    time.sleep(0.1)
    server.stop()
    with pytest.raises(EngineFailure, match=r"some/model.*--resume") as error:
        while engine.running:
            engine.advance()
    assert server.url in str(error.value)
    assert engine.running == 0


def test_a_server_that_came_back_without_the_weights_is_noticed(
    engine: ServerEngine, server: StandIn
) -> None:
    server.weights = "default"
    with pytest.raises(EngineFailure, match="version 0, but it has 'default': it was restarted"):
        generate(engine, [[1]], SAMPLING)


def test_a_server_that_comes_back_between_two_attempts_is_noticed(
    engine: ServerEngine, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.failing = 1
    complete = server._complete

    def restarting(payload: Any) -> Any:
        server.weights = "default"
        return complete(payload)

    monkeypatch.setattr(server, "_complete", restarting)
    with pytest.raises(EngineFailure, match="it was restarted"):
        generate(engine, [[1]], SAMPLING)


def test_a_request_after_another_lost_contact_is_checked_at_once(
    engine: ServerEngine, server: StandIn
) -> None:
    """Else it could be answered before the other one finds out in its next attempt."""
    client, checks = engine._servers[0], list[str]()

    def ask() -> None:
        client.post("/anything", {}, before_retry=lambda: checks.append(client.weight_version()))

    server.stop()
    with pytest.raises(EngineFailure):
        client.get("/anything")
    server.start(server.port)
    ask()
    ask()
    assert checks == ["0"]


def test_a_server_that_is_restarted_at_the_end_of_a_sync_is_noticed(
    engine: ServerEngine, model: Any, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_flush", lambda _: setattr(server, "weights", "default"))
    with pytest.raises(EngineFailure, match="version in-transit, but it has 'default'"):
        engine.sync(policy_weights(model), 1)
    assert (engine.version, server.weights) == (-1, "default")


def test_a_server_goes_on_if_another_cannot_be_paused(
    kind: Kind, model: Any, tmp_path: Path
) -> None:
    servers = [kind.stand_in(), kind.stand_in()]
    engine = connect(kind, model, tmp_path, *servers)
    servers[1].refusal[engine.kind.pause_path] = "no"
    with pytest.raises(EngineFailure, match="pause"):
        engine.sync(policy_weights(model), 0)
    assert servers[0].paths()[-1] == engine.kind.resume_path
    engine.close()
    for standin in servers:
        standin.stop()


def test_weights_of_another_model_are_refused_in_a_sentence(
    kind: Kind, model: Any, server: StandIn, tmp_path: Path
) -> None:
    engine = connect(kind, model, tmp_path, server)
    server.refusal[kind.reading] = "shape mismatch"
    with pytest.raises(EngineFailure, match=r"architecture.*--\w+.folder.*shape mismatch"):
        engine.sync(policy_weights(model), 0)
    with pytest.raises(NotSupported, match="before submit"):
        generate(engine, [[1]], SAMPLING)


def test_wrong_weights_and_wrong_moments(engine: ServerEngine, server: StandIn) -> None:
    with pytest.raises(ConfigurationError, match="got no"):
        engine.sync([], 1)
    engine.close()
    engine.close()
    with pytest.raises(NotSupported, match=r"close\(\)"):
        engine.sync([], 1)


def test_servers_are_paused_while_their_weights_change(
    kind: Kind, engine: ServerEngine, model: Any, server: StandIn
) -> None:
    server.posts.clear()
    engine.sync(policy_weights(model), 1)
    paths = server.paths()
    pause, resume = engine.kind.pause_path, engine.kind.resume_path
    assert paths.index(pause) < paths.index(kind.reading) < paths.index(resume)
    assert server.weights == "1"
    server.refusal[kind.reading] = "no"
    with pytest.raises(EngineFailure):
        engine.sync(policy_weights(model), 2)
    assert server.paths()[-1] == resume and server.weights == IN_TRANSIT
