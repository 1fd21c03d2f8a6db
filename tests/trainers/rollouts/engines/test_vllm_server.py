"""The client of vLLM servers, against a stand-in that needs no vLLM."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from agentgym.errors import ConfigurationError, NotSupported
from tests.trainers.rollouts.engines.standin_server import VOCABULARY, StandIn
from tests.trainers.vllm.policy import add_lora, disturb, make_model
from trainers.rollouts.engines import vllm_server, vllm_weights
from trainers.rollouts.engines.base import (
    GenerationEngine,
    Request,
    Sampling,
    generate,
)
from trainers.rollouts.engines.failure import EngineFailure
from trainers.rollouts.engines.policy_weights import policy_weights
from trainers.rollouts.engines.server_client import EngineServer
from trainers.rollouts.engines.server_engine import IN_TRANSIT
from trainers.rollouts.engines.trained_weights import TrainedWeights
from trainers.rollouts.engines.vllm_command import ServerNeeds
from trainers.rollouts.engines.vllm_served_adapter import PROBE
from trainers.rollouts.engines.vllm_server import VLLMServerEngine

NEEDS = ServerNeeds(
    model="some/model", context=32, sequences=8, dtype="float32", on_cpu=True, nccl=False
)
SAMPLING = Sampling(max_tokens=3)


@pytest.fixture
def server() -> Iterator[StandIn]:
    standin = StandIn()
    yield standin
    standin.stop()


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
    client = connect(model, tmp_path, server)
    client.sync(policy_weights(model), 0)
    yield client
    client.close()


def expected(prompt: list[int], seed: int, count: int) -> list[int]:
    return [(sum(prompt) + seed + i) % VOCABULARY for i in range(count)]


# -- generation ------------------------------------------------------------------------------------


def test_follows_the_protocol(engine: VLLMServerEngine) -> None:
    assert isinstance(engine, GenerationEngine)
    assert (engine.name, engine.exact, engine.version) == ("vllm-server", True, 0)


def test_requests_say_all_that_decides_their_tokens(
    engine: VLLMServerEngine, server: StandIn
) -> None:
    sampling = Sampling(max_tokens=50, temperature=0.7, top_p=0.9, stop_ids=(4, 9))
    engine.submit([Request(0, [1] * 30, 50, 2**62)], sampling)
    engine.advance()
    path, payload = server.posts[-1]
    assert path == "/v1/completions"
    assert payload["prompt"] == [1] * 30
    assert (payload["max_tokens"], payload["seed"]) == (2, 2**62), "the context holds two more"
    assert (payload["temperature"], payload["top_p"]) == (0.7, 0.9)
    assert payload["stop_token_ids"] == [4, 9]
    assert payload["ignore_eos"] is True


def test_seeds_can_be_left_out(model: Any, server: StandIn, tmp_path: Path) -> None:
    """Without them vLLM uses its fused sampler."""
    engine = connect(model, tmp_path, server, seeded=False)
    engine.sync(policy_weights(model), 0)
    engine.submit([Request(0, [1], 1, 5)], SAMPLING)
    engine.abort()
    assert engine._payload(Request(0, [1], 1, 5), 0, SAMPLING)["seed"] is None
    engine.close()


# -- weights ---------------------------------------------------------------------------------------


def test_a_sync_writes_a_checkpoint_lets_it_be_read_and_names_it(
    model: Any, server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm_weights, "PART_BYTES", 40_000)
    engine, seen_rounds = connect(model, tmp_path, server), {}
    answer, named = server.answer, []

    def reading(path: str, payload: Any) -> Any:
        if path == "/collective_rpc":
            assert payload["method"] == "reload_weights"
            named.append(server.weights)
            for file in Path(payload["kwargs"]["weights_path"]).glob("*.safetensors"):
                seen_rounds.update(load_file(file))
        return answer(path, payload)

    monkeypatch.setattr(server, "answer", reading)
    with pytest.raises(NotSupported, match="before submit"):
        generate(engine, [[1]], SAMPLING)
    engine.sync(policy_weights(model), 7)
    assert engine.version == 7
    assert server.paths() == [
        "/pause", "/update_weight_version", "/collective_rpc", "/resume", "/reset_prefix_cache",
        "/update_weight_version",
    ]  # fmt: skip
    assert named == [IN_TRANSIT], "a run that dies here leaves weights that nobody knows"
    assert server.weights == "7"
    parameters = dict(model.named_parameters())
    assert set(seen_rounds) == {*parameters, "lm_head.weight"}, (
        "the tied head is written explicitly"
    )
    assert all(bool((seen_rounds[name] == tensor).all()) for name, tensor in parameters.items())
    assert not list(tmp_path.rglob("*.safetensors"))


@pytest.mark.parametrize("busy", [3, 1000])
def test_a_server_may_take_a_moment_to_be_idle_at_a_sync(
    model: Any, server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, busy: int
) -> None:
    monkeypatch.setattr(vllm_server, "PAUSE", 0.0)
    engine, answer = connect(model, tmp_path, server), server.answer

    def working(path: str, payload: Any) -> Any:
        attempts = server.paths().count("/reset_prefix_cache")
        if path == "/reset_prefix_cache" and attempts <= busy:
            return 200, {"success": False}
        return answer(path, payload)

    monkeypatch.setattr(server, "answer", working)
    if busy > vllm_server.ABORTING:
        with pytest.raises(EngineFailure, match="to be idle at a weight sync"):
            engine.sync(policy_weights(model), 7)
        assert server.weights == IN_TRANSIT
    else:
        engine.sync(policy_weights(model), 7)
        assert server.weights == "7"


def test_adapters_are_sent_alone_after_the_base(
    server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, adapters = add_lora(make_model()), {}
    server.lora = {"max_lora_rank": 8}
    engine = connect(policy, tmp_path, server, lora="adapter")
    answer = server.answer

    def reading(path: str, payload: Any) -> Any:
        if path == "/v1/load_lora_adapter":
            adapters[payload["lora_name"]] = load_file(
                f"{payload['lora_path']}/adapter_model.safetensors"
            )
        return answer(path, payload)

    monkeypatch.setattr(server, "answer", reading)
    for version in (0, 1):
        engine.sync(iter(()), version)
    assert server.paths().count("/collective_rpc") == 1
    assert list(adapters) == ["policy-0", "policy-1"]
    assert list(server.adapters) == ["policy-1"]
    assert all(".lora_" in name for name in adapters["policy-1"])
    generate(engine, [[1]], SAMPLING)
    assert server.posts[-1][1]["model"] == "policy-1"
    engine.close()
    assert not server.adapters and not list(tmp_path.rglob("*.safetensors"))


def test_a_stale_policy_is_a_second_adapter_by_its_own_name(
    server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, adapters = add_lora(make_model()), {}
    server.lora = {"max_lora_rank": 8}
    engine = connect(policy, tmp_path, server, lora="adapter")
    answer = server.answer

    def reading(path: str, payload: Any) -> Any:
        if path == "/v1/load_lora_adapter":
            adapters[payload["lora_name"]] = load_file(
                f"{payload['lora_path']}/adapter_model.safetensors"
            )
        return answer(path, payload)

    monkeypatch.setattr(server, "answer", reading)
    engine.sync(iter(()), 0)
    with pytest.raises(NotSupported, match="call sync_stale before"):
        engine.submit([Request(0, [1], 2, 0, stale=True)], SAMPLING)
    past = TrainedWeights(policy)
    disturb(policy, "lora_A")
    for version in (1, 2):
        engine.sync(iter(()), version)
        engine.sync_stale(past, 0)
    assert sorted(server.adapters) == ["policy-2", "stale-0"]
    equal_fields = {
        n: torch.equal(adapters["stale-0"][n], adapters["policy-0"][n])
        for n in adapters["policy-0"]
    }
    moved = {
        n: torch.equal(adapters["stale-0"][n], adapters["policy-2"][n])
        for n in adapters["policy-0"]
    }
    assert all(equal_fields.values()) and not all(moved.values())
    engine.submit([Request(n, [5], 2, 0, stale=bool(n)) for n in (0, 1)], SAMPLING)
    while engine.running:
        engine.advance()
    models = sorted(payload["model"] for path, payload in server.posts if "completions" in path)
    assert models == ["policy-2", "stale-0"]
    assert (engine.version, engine.stale_version) == (2, 0)
    engine.close()
    assert not server.adapters and not list(tmp_path.rglob("*.safetensors"))


def test_servers_without_adapters_have_no_place_for_a_stale_policy(
    engine: VLLMServerEngine, model: Any
) -> None:
    with pytest.raises(NotSupported, match=r"start them with --enable-lora"):
        engine.sync_stale(TrainedWeights(model), 0)


def test_an_adapter_that_a_killed_run_left_behind_is_replaced(
    server: StandIn, tmp_path: Path
) -> None:
    policy = add_lora(make_model())
    server.lora, server.adapters = {"max_lora_rank": 8}, {"policy-3": "gone", PROBE: "gone"}
    engine = connect(policy, tmp_path, server, lora="adapter")
    engine.sync(iter(()), 3)
    assert server.adapters["policy-3"].startswith(str(tmp_path))
    engine.close()


@pytest.mark.parametrize(
    ("started", "weights", "transfers"),
    [
        ({"model": "some/model", "revision": None}, "default", 0),
        ({"model": "some/model", "revision": "v2"}, "default", 1),
        ({"model": "some/other", "revision": None}, "default", 1),
        ({"model": "some/model", "revision": None}, "4", 1),
        ({"model": "some/model", "revision": None}, IN_TRANSIT, 1),
        ({}, "default", 1),
    ],
)
def test_the_base_is_sent_only_to_a_server_that_has_another(
    tmp_path: Path, started: dict[str, Any], weights: str, transfers: int
) -> None:
    policy, server = add_lora(make_model()), StandIn(**started)
    policy.get_base_model().config._name_or_path = "some/model"
    server.lora, server.weights = {"max_lora_rank": 8}, weights
    engine = connect(policy, tmp_path, server, lora="adapter")
    engine.sync(iter(()), 0)
    assert server.paths().count("/collective_rpc") == transfers
    assert list(server.adapters) == ["policy-0"] and server.weights == "0"
    engine.close()
    server.stop()


def test_the_base_is_sent_again_to_a_server_that_was_restarted_without_it(tmp_path: Path) -> None:
    policy, server = add_lora(make_model()), StandIn(model="some/other", revision=None)
    server.lora = {"max_lora_rank": 8}
    engine = connect(policy, tmp_path, server, lora="adapter")
    transfers = []
    for version, restarted in enumerate((False, False, True, False)):
        if restarted:
            server.weights = "default"
            server.adapters.clear()
        engine.sync(iter(()), version)
        transfers.append(server.paths().count("/collective_rpc"))
        assert list(server.adapters) == [f"policy-{version}"]
    assert transfers == [1, 1, 2, 2]
    engine.close()
    server.stop()


@pytest.mark.parametrize(
    ("lora", "transfer", "message"),
    [
        ("adapter", None, r"--vllm.folder .* or, as the run's folder .* --out$"),
        ("adapter", {"backend": "nccl"}, r"--vllm.folder .* or choose --vllm.lora merge$"),
        ("auto", None, r"--vllm.folder"),
    ],
)
def test_a_server_that_does_not_see_the_folder_of_adapters_is_refused_at_the_start(
    server: StandIn, tmp_path: Path, lora: Any, transfer: Any, message: str
) -> None:
    policy = add_lora(make_model())
    server.lora, server.blind, server.transfer = {"max_lora_rank": 8}, True, transfer
    needs = dataclasses.replace(NEEDS, dtype="bfloat16", on_cpu=False, nccl=transfer is not None)
    with pytest.raises(ConfigurationError, match=message) as error:
        connect(policy, tmp_path, server, needs=needs, lora=lora)
    assert server.url in str(error.value) and "no adapter found" in str(error.value)
    assert "/collective_rpc" not in server.paths()


def test_where_weights_go_by_nccl_an_unseen_folder_costs_a_merge(
    server: StandIn, tmp_path: Path, nccl: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    policy = add_lora(make_model())
    server.lora, server.blind = {"max_lora_rank": 8}, True
    server.transfer = {"backend": "nccl"}
    needs = dataclasses.replace(NEEDS, dtype="bfloat16", on_cpu=False, nccl=True)
    engine = connect(policy, tmp_path, server, needs=needs, lora="auto")
    assert not engine.adapter and "adapters are merged" in caplog.text
    engine.sync(policy_weights(policy), 0)
    names = dict(policy_weights(policy))
    assert {*names} <= {call for call in nccl if isinstance(call, str)}
    generate(engine, [[1]], SAMPLING)
    assert server.posts[-1][1]["model"] == "policy", "not an adapter of it"
    engine.close()


def test_a_server_without_adapters_gets_merged_weights(server: StandIn, tmp_path: Path) -> None:
    policy = add_lora(make_model())
    assert not connect(policy, tmp_path, server, lora="auto").adapter
    with pytest.raises(ConfigurationError, match="start them with --enable-lora"):
        connect(policy, tmp_path, server, lora="adapter")


@pytest.fixture
def nccl(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls of TRL's client, whose transport needs GPUs."""
    calls: list[Any] = []
    together: list[threading.Barrier] = []

    class Client:
        def __init__(self, base_url: str, group_port: int) -> None:
            calls.append(("connect", base_url, group_port))
            parties = 1 + len(together)
            together[:] = [threading.Barrier(parties, timeout=20)] * parties

        def init_communicator(self, device: Any) -> None:
            calls.append("join")

        @contextlib.contextmanager
        def weight_update(self) -> Iterator[None]:
            calls.append("begin")
            yield
            calls.append("end")

        def update_named_params(self, described: Any, pairs: Any) -> None:
            together[0].wait()  # Each server waits for the others, as if it took long.
            for (name, dtype, shape), (part_name, tensor) in zip(described, pairs, strict=True):
                tensor_dtype = str(tensor.dtype).removeprefix("torch.")
                assert (name, dtype, shape) == (part_name, tensor_dtype, list(tensor.shape))
                calls.append(name)

        def close_communicator(self) -> None:
            calls.append("leave")

    fake = ModuleType("trl.generation.vllm_client")
    fake.VLLMClient = Client  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "trl.generation.vllm_client", fake)
    monkeypatch.setattr(vllm_weights, "require", lambda *_: None)
    return calls


def test_nccl_streams_every_part_to_all_servers_at_once(
    model: Any, nccl: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm_weights, "PART_BYTES", 40_000)
    servers = [EngineServer(f"http://node:{port}", 1.0, "") for port in (1, 2)]
    transfer = vllm_weights.NcclTransfer(servers, torch.float32, "cpu")
    transfer.send(policy_weights(model), 0, servers)
    transfer.close()
    names = [name for name, _ in model.named_parameters()]
    streamed = [call for call in nccl if isinstance(call, str) and "." in call]
    assert sorted(streamed) == sorted(names * 2)
    ports = {call[2] for call in nccl if isinstance(call, tuple)}
    assert len(ports) == 2, "a group each"
    assert nccl.count("begin") == nccl.count("end") == nccl.count("leave") == 2


# -- what goes wrong -------------------------------------------------------------------------------


def test_no_server_names_the_command_that_starts_one(
    model: Any, server: StandIn, tmp_path: Path
) -> None:
    server.stop()
    with pytest.raises(EngineFailure, match=r"refused; start it \(VLLM_SERVER_DEV_MODE=1 python"):
        connect(model, tmp_path, server)


def test_a_policy_without_a_home_is_written_for_the_server(
    model: Any, server: StandIn, tmp_path: Path
) -> None:
    server.stop()
    needs = dataclasses.replace(NEEDS, model="")
    with pytest.raises(EngineFailure, match=f"--model {tmp_path}/model"):
        connect(model, tmp_path, server, needs=needs)
    suffixes = {path.suffix for path in (tmp_path / "model").iterdir()}
    assert suffixes == {".json", ".safetensors"}


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


@pytest.mark.parametrize("urls", [[], ["node:8000"]])
def test_addresses_are_checked(model: Any, tmp_path: Path, urls: list[str]) -> None:
    with pytest.raises(ConfigurationError, match=r"vllm\.url|address of a vLLM server"):
        VLLMServerEngine(model, urls, NEEDS, folder=tmp_path)
