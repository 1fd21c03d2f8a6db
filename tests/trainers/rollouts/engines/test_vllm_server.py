"""The client of vLLM servers, against a stand-in that needs no vLLM."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from agentgym.errors import ConfigurationError, NotSupported
from tests.trainers.rollouts.engines.standin_server import VOCABULARY, StandIn
from tests.trainers.vllm.policy import add_lora, make_model
from trainers.rollouts.engines import vllm_weights
from trainers.rollouts.engines.base import GenerationEngine, Request, Sampling, generate
from trainers.rollouts.engines.failure import EngineFailure
from trainers.rollouts.engines.policy_weights import policy_weights
from trainers.rollouts.engines.vllm_command import ServerNeeds
from trainers.rollouts.engines.vllm_server import VLLMServerEngine

NEEDS = ServerNeeds(
    model="some/model", context=32, sequences=8, dtype="float32", on_cpu=True, nccl=False
)
SAMPLING = Sampling(max_tokens=3)


@pytest.fixture
def server() -> Iterator[StandIn]:
    made = StandIn()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def model() -> Any:
    return make_model()


def connect(
    model: Any, folder: Path, *servers: StandIn, needs: ServerNeeds = NEEDS, **options: Any
) -> VLLMServerEngine:
    options = {"patience": 0.3, **options}
    return VLLMServerEngine(model, [s.url for s in servers], needs, folder=folder, **options)


@pytest.fixture
def engine(model: Any, server: StandIn, tmp_path: Path) -> Iterator[VLLMServerEngine]:
    made = connect(model, tmp_path, server)
    made.sync(policy_weights(model), 0)
    yield made
    made.close()


def expected(prompt: list[int], seed: int, count: int) -> list[int]:
    return [(sum(prompt) + seed + i) % VOCABULARY for i in range(count)]


# -- generation ------------------------------------------------------------------------------------


def test_follows_the_protocol(engine: VLLMServerEngine) -> None:
    assert isinstance(engine, GenerationEngine)
    assert (engine.name, engine.exact, engine.version) == ("vllm-server", True, 0)


def test_every_completion_finds_its_prompt(engine: VLLMServerEngine) -> None:
    prompts = [[i, i + 1] for i in range(30)]
    out = generate(engine, prompts, SAMPLING, seeds=range(100, 130))
    assert [c.ids for c in out] == [expected(p, 100 + i, 3) for i, p in enumerate(prompts)]
    assert all(c.logprobs == [0.0, -0.5, -1.0] and not c.stopped for c in out)


def test_what_ends_first_comes_first_and_the_timeout_is_kept(
    engine: VLLMServerEngine, server: StandIn
) -> None:
    server.delays[5] = 1.0
    engine.submit([Request(0, [5], 2, 0), Request(1, [6], 2, 0)], SAMPLING)
    assert [key for key, _ in engine.advance()] == [1]
    assert engine.running == 1
    assert engine.advance(timeout=0.01) == []
    assert [key for key, _ in engine.advance()] == [0]
    assert engine.running == 0 and engine.advance() == []


def test_requests_say_all_that_decides_their_tokens(
    engine: VLLMServerEngine, server: StandIn
) -> None:
    sampling = Sampling(max_tokens=50, temperature=0.7, top_p=0.9, stop_ids=(4, 9))
    engine.submit([Request(0, [1] * 30, 50, 2**62)], sampling)
    engine.advance()
    path, payload = server.asked[-1]
    assert path == "/v1/completions"
    assert payload["prompt"] == [1] * 30
    assert (payload["max_tokens"], payload["seed"]) == (2, 2**62), "the context holds two more"
    assert (payload["temperature"], payload["top_p"]) == (0.7, 0.9)
    assert payload["stop_token_ids"] == [4, 9]
    assert payload["ignore_eos"] is True


@pytest.mark.parametrize("prompt", [[], [1] * 32])
def test_prompts_that_leave_no_room_are_refused(
    engine: VLLMServerEngine, prompt: list[int]
) -> None:
    with pytest.raises(ConfigurationError, match="1 to 31 tokens"):
        engine.submit([Request(0, [1], 1, 0), Request(1, prompt, 1, 0)], SAMPLING)
    assert engine.running == 0


def test_an_abort_forgets_what_is_in_flight(engine: VLLMServerEngine, server: StandIn) -> None:
    server.delays[5] = 0.3
    engine.submit([Request(0, [5], 2, 0)], SAMPLING)
    engine.abort()
    assert engine.running == 0
    assert "/abort_requests" in server.paths()
    out = generate(engine, [[7], [5]], SAMPLING)
    assert [c.ids for c in out] == [expected([7], 0, 3), expected([5], 1, 3)]


def test_connections_are_used_again(engine: VLLMServerEngine, server: StandIn) -> None:
    for _ in range(20):
        generate(engine, [[1], [2]], SAMPLING)
    assert server.connections <= 1 + 2 * NEEDS.sequences


def test_conversations_stay_at_one_of_several_servers(model: Any, tmp_path: Path) -> None:
    servers = [StandIn(), StandIn()]
    engine = connect(model, tmp_path, *servers)
    engine.sync(policy_weights(model), 0)
    generate(engine, [[i] for i in range(6)], SAMPLING)
    generate(engine, [[i] for i in range(6)], SAMPLING)
    seen = [{p["prompt"][0] for at, p in s.asked if at == "/v1/completions"} for s in servers]
    assert seen == [{0, 2, 4}, {1, 3, 5}]
    assert all(s.weights == "0" for s in servers)
    engine.close()
    for each in servers:
        each.stop()


# -- weights ---------------------------------------------------------------------------------------


def test_a_sync_writes_a_checkpoint_lets_it_be_read_and_names_it(
    model: Any, server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm_weights, "PART_BYTES", 40_000)
    engine, read = connect(model, tmp_path, server), {}
    answer = server.answer

    def reading(path: str, payload: Any) -> Any:
        if path == "/collective_rpc":
            assert payload["method"] == "reload_weights"
            for file in Path(payload["kwargs"]["weights_path"]).glob("*.safetensors"):
                read.update(load_file(file))
        return answer(path, payload)

    monkeypatch.setattr(server, "answer", reading)
    with pytest.raises(NotSupported, match="before submit"):
        generate(engine, [[1]], SAMPLING)
    engine.sync(policy_weights(model), 7)
    assert engine.version == 7
    assert server.paths() == ["/collective_rpc", "/reset_prefix_cache", "/update_weight_version"]
    assert server.weights == "7"
    wanted = dict(model.named_parameters())
    assert set(read) == {*wanted, "lm_head.weight"}, "the tied head is written explicitly"
    assert all(bool((read[name] == tensor).all()) for name, tensor in wanted.items())
    assert not list(tmp_path.rglob("*.safetensors"))


def test_adapters_are_sent_alone_after_the_base(
    server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, held = add_lora(make_model()), {}
    server.lora = {"max_lora_rank": 8}
    engine = connect(policy, tmp_path, server, lora="adapter")
    answer = server.answer

    def reading(path: str, payload: Any) -> Any:
        if path == "/v1/load_lora_adapter":
            held[payload["lora_name"]] = load_file(
                f"{payload['lora_path']}/adapter_model.safetensors"
            )
        return answer(path, payload)

    monkeypatch.setattr(server, "answer", reading)
    for version in (0, 1):
        engine.sync(iter(()), version)
    assert server.paths().count("/collective_rpc") == 1
    assert list(held) == ["policy-0", "policy-1"]
    assert all(".lora_" in name for name in held["policy-1"])
    generate(engine, [[1]], SAMPLING)
    assert server.asked[-1][1]["model"] == "policy-1"
    engine.close()


def test_a_server_without_adapters_gets_merged_weights(server: StandIn, tmp_path: Path) -> None:
    policy = add_lora(make_model())
    assert not connect(policy, tmp_path, server, lora="auto").adapter
    with pytest.raises(ConfigurationError, match="start them with --enable-lora"):
        connect(policy, tmp_path, server, lora="adapter")


def test_nccl_streams_every_part_to_every_server(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of calls of TRL's client; its transport needs GPUs."""
    import contextlib
    import sys
    from types import ModuleType

    calls: list[Any] = []

    class Client:
        def __init__(self, base_url: str, group_port: int) -> None:
            calls.append(("connect", base_url, group_port))

        def init_communicator(self, device: Any) -> None:
            calls.append("join")

        @contextlib.contextmanager
        def weight_update(self) -> Iterator[None]:
            calls.append("begin")
            yield
            calls.append("end")

        def update_named_params(self, described: Any, pairs: Any) -> None:
            for (name, dtype, shape), (sent, tensor) in zip(described, pairs, strict=True):
                assert (name, dtype, shape) == (sent, "float32", list(tensor.shape))
                calls.append(name)

        def close_communicator(self) -> None:
            calls.append("leave")

    fake = ModuleType("trl.generation.vllm_client")
    fake.VLLMClient = Client  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "trl.generation.vllm_client", fake)
    monkeypatch.setattr(vllm_weights, "require", lambda *_: None)
    monkeypatch.setattr(vllm_weights, "PART_BYTES", 40_000)
    import torch

    from trainers.rollouts.engines.vllm_client import VLLMServer

    servers = [VLLMServer(f"http://node:{port}", 1.0, "") for port in (1, 2)]
    transfer = vllm_weights.NcclTransfer(servers, torch.float32, "cpu")
    transfer.send(policy_weights(model), 0, servers)
    transfer.close()
    names = [name for name, _ in model.named_parameters()]
    sent = [call for call in calls if isinstance(call, str) and "." in call]
    assert sorted(sent) == sorted(names * 2)
    ports = {call[2] for call in calls if isinstance(call, tuple)}
    assert len(ports) == 2, "a group each"
    assert calls.count("begin") == calls.count("end") == calls.count("leave") == 2


# -- what goes wrong -------------------------------------------------------------------------------


def test_a_server_that_fails_now_and_then_is_asked_again(
    engine: VLLMServerEngine, server: StandIn
) -> None:
    server.failing = 1
    assert generate(engine, [[3]], SAMPLING)[0].ids == expected([3], 0, 3)


def test_a_server_that_dies_ends_the_wait_in_a_sentence(
    engine: VLLMServerEngine, server: StandIn
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
    engine: VLLMServerEngine, server: StandIn
) -> None:
    server.weights = "default"
    with pytest.raises(EngineFailure, match="version 0, but it has 'default': it was restarted"):
        generate(engine, [[1]], SAMPLING)


def test_a_server_that_comes_back_between_two_attempts_is_noticed(
    engine: VLLMServerEngine, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.failing = 1
    complete = server._complete

    def restarting(payload: Any) -> Any:
        server.weights = "default"
        return complete(payload)

    monkeypatch.setattr(server, "_complete", restarting)
    with pytest.raises(EngineFailure, match="it was restarted"):
        generate(engine, [[1]], SAMPLING)


def test_no_server_names_the_command_that_starts_one(
    model: Any, server: StandIn, tmp_path: Path
) -> None:
    server.stop()
    with pytest.raises(EngineFailure, match=r"refused; start it \(VLLM_SERVER_DEV_MODE=1 python"):
        connect(model, tmp_path, server)


def test_a_policy_without_a_home_is_written_for_the_server(
    model: Any, server: StandIn, tmp_path: Path
) -> None:
    import dataclasses

    server.stop()
    needs = dataclasses.replace(NEEDS, model="")
    with pytest.raises(EngineFailure, match=f"--model {tmp_path}/model"):
        connect(model, tmp_path, server, needs=needs)
    written = {path.suffix for path in (tmp_path / "model").iterdir()}
    assert written == {".json", ".safetensors"}


@pytest.mark.parametrize(
    ("changes", "missing", "expected"),
    [
        ({"max_model_len": 16}, "", "--max-model-len of at least 32, .* got 16"),
        ({"logprobs_mode": "raw_logprobs"}, "", "--logprobs-mode processed_logprobs, got raw"),
        ({}, "/server_info?config_format=json", "VLLM_SERVER_DEV_MODE=1 in its environment"),
    ],
)
def test_a_server_that_does_not_fit_is_refused(
    model: Any, tmp_path: Path, changes: dict[str, Any], missing: str, expected: str
) -> None:
    server = StandIn(**changes)
    server.missing = {missing}
    with pytest.raises((ConfigurationError, EngineFailure), match=expected):
        connect(model, tmp_path, server)
    server.stop()


def test_weights_of_another_model_are_refused_in_a_sentence(
    model: Any, server: StandIn, tmp_path: Path
) -> None:
    engine = connect(model, tmp_path, server)
    server.refusal["/collective_rpc"] = "shape mismatch"
    with pytest.raises(EngineFailure, match=r"architecture.*--vllm.folder.*shape mismatch"):
        engine.sync(policy_weights(model), 0)
    with pytest.raises(NotSupported, match="before submit"):
        generate(engine, [[1]], SAMPLING)


def test_wrong_weights_and_wrong_moments(engine: VLLMServerEngine, server: StandIn) -> None:
    with pytest.raises(ConfigurationError, match="got no"):
        engine.sync([], 1)
    engine.close()
    engine.close()
    with pytest.raises(NotSupported, match=r"close\(\)"):
        engine.sync([], 1)


@pytest.mark.parametrize("urls", [[], ["node:8000"]])
def test_addresses_are_checked(model: Any, tmp_path: Path, urls: list[str]) -> None:
    with pytest.raises(ConfigurationError, match=r"vllm\.url|address of a vLLM server"):
        VLLMServerEngine(model, urls, NEEDS, folder=tmp_path)
