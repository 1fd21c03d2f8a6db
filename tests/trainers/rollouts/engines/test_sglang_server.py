"""What is special about SGLang servers, against a stand-in that needs no SGLang."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from agentgym.errors import ConfigurationError, NotSupported
from tests.trainers.rollouts.engines.standin_server import SGLangStandIn
from tests.trainers.vllm.policy import make_model
from trainers.rollouts.engines import sglang_server
from trainers.rollouts.engines.base import EngineSettings, Request, Sampling, generate
from trainers.rollouts.engines.failure import EngineFailure
from trainers.rollouts.engines.policy_weights import policy_weights
from trainers.rollouts.engines.sglang_command import SGLangNeeds
from trainers.rollouts.engines.sglang_server import SGLangServerEngine
from trainers.rollouts.engines.trained_weights import TrainedWeights

NEEDS = SGLangNeeds("some/model", 32, 8, "float32", on_cpu=True, nccl=False)


@pytest.fixture(scope="module")
def model() -> Any:
    return make_model()


@pytest.fixture
def server() -> Iterator[SGLangStandIn]:
    standin = SGLangStandIn()
    yield standin
    standin.stop()


def connect(
    model: Any, server: SGLangStandIn, folder: Path, needs: SGLangNeeds = NEEDS, **options: Any
) -> SGLangServerEngine:
    return SGLangServerEngine(model, [server.url], needs, folder=folder, patience=0.3, **options)


@pytest.fixture
def engine(model: Any, server: SGLangStandIn, tmp_path: Path) -> Iterator[SGLangServerEngine]:
    client = connect(model, server, tmp_path)
    client.sync(policy_weights(model), 0)
    yield client
    client.close()


def test_requests_say_all_that_decides_their_tokens(
    engine: SGLangServerEngine, server: SGLangStandIn
) -> None:
    sampling = Sampling(max_tokens=50, temperature=0.7, stop_ids=(4, 9))
    engine.submit([Request(0, [1] * 30, 50, 2**62)], sampling)
    engine.advance()
    path, payload = server.posts[-1]
    assert path == "/generate" and payload["return_logprob"] is True
    assert payload["input_ids"] == [1] * 30
    settings = payload["sampling_params"]
    assert (settings["max_new_tokens"], settings["sampling_seed"]) == (2, 2**62)
    assert (settings["temperature"], settings["top_p"], settings["top_k"]) == (0.7, 1.0, -1)
    assert settings["stop_token_ids"] == [4, 9] and not settings["ignore_eos"]


def test_only_the_callers_stop_ids_stop(engine: SGLangServerEngine, server: SGLangStandIn) -> None:
    """The model's end-of-text token ends an answer of the server, not the completion."""
    server.eos = 12
    sampling = Sampling(max_tokens=6, stop_ids=(46,))
    (completion,) = generate(engine, [[10]], sampling, seeds=[0])
    settings = [body for path, body in server.posts if path == "/generate"]
    assert settings[1]["input_ids"] == [10, 10, 11, 12]
    assert settings[1]["sampling_params"]["max_new_tokens"] == 3
    assert completion.ids == [10, 11, 12, 43, 44, 45] and not completion.stopped
    assert len(completion.logprobs) == 6
    (completion,) = generate(engine, [[44]], sampling, seeds=[0])
    assert completion.ids == [44, 45, 46] and completion.stopped
    (completion,) = generate(engine, [[10]], Sampling(max_tokens=4), seeds=[0])
    assert completion.ids == [10, 11, 12, 13]


def test_weights_travel_in_requests_where_no_folder_is_shared(
    model: Any, server: SGLangStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sglang_server, "PART_BYTES", 40_000)
    engine = connect(model, server, tmp_path)
    engine.sync(policy_weights(model), 5)
    paths = server.paths()
    assert paths[:4] == [
        "/pause_generation", "/update_weight_version", "/end_weight_update",
        "/begin_weight_update",
    ]  # fmt: skip
    assert paths.count("/update_weights_from_tensor") > 2
    assert paths[-4:] == [
        "/end_weight_update", "/continue_generation", "/flush_cache?timeout=20",
        "/update_weight_version",
    ]  # fmt: skip
    assert server.weights == "5" and not list(tmp_path.rglob("*.safetensors"))
    parameters = dict(model.named_parameters())
    assert set(server.received) == {*parameters, "lm_head.weight"}
    assert all(torch.equal(server.received[name], tensor) for name, tensor in parameters.items())
    server.refusal["/update_weights_from_tensor"] = "shape mismatch"
    with pytest.raises(EngineFailure, match=r"SGLang server .* shape mismatch"):
        engine.sync(policy_weights(model), 6)
    assert server.updating
    server.refusal.clear()
    engine.sync(policy_weights(model), 7)  # After a transfer that broke off.
    assert server.weights == "7" and not server.updating


@pytest.mark.parametrize(
    ("length", "message"),
    [
        (16, r"SGLang server .* --context-length of at least 32, .* got 16"),
        (32, r"--enable-deterministic-inference, .* or the run with --sglang.no-seeded"),
    ],
)
def test_a_server_that_does_not_fit_is_refused(
    model: Any, tmp_path: Path, length: int, message: str
) -> None:
    server = SGLangStandIn(max_model_len=length)
    server.deterministic = False
    with pytest.raises(ConfigurationError, match=message):
        connect(model, server, tmp_path)
    server.stop()


def test_what_sglang_cannot_do_is_refused(engine: SGLangServerEngine, model: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"expected --top-p 1 .* got 0.9"):
        engine.submit([Request(0, [1], 2, 0)], Sampling(top_p=0.9))
    assert engine.running == 0
    with pytest.raises(NotSupported, match="stale"):
        engine.sync_stale(TrainedWeights(model), 0)


def test_an_old_server_is_named(model: Any, server: SGLangStandIn, tmp_path: Path) -> None:
    server.missing = {"/begin_weight_update"}
    engine = connect(model, server, tmp_path)
    with pytest.raises(EngineFailure, match=r"to offer /begin_weight_update.* SGLang 0.5.23"):
        engine.sync(policy_weights(model), 0)


def test_the_command_is_that_of_the_run() -> None:
    options = {
        "model": "org/a model", "max_length": None, "max_sequences": 7, "dtype": None,
        "folder": "/shared", "tensor_parallel": 2, "seeded": True,
    }  # fmt: skip
    settings = EngineSettings(0, 8192, 128, options=options)
    needs = SGLangNeeds.of_run(settings, dtype="bfloat16", rank=8, cuda=True)
    assert needs.command() == (
        "python -m sglang.launch_server --model-path 'org/a model' --skip-tokenizer-init "
        "--dtype bfloat16 --context-length 8192 --max-running-requests 7 --tp-size 2 "
        "--enable-deterministic-inference"
    )
    assert needs.shared and not needs.lora_rank
    with pytest.raises(ConfigurationError, match=r"expected --sglang.no-seeded without a GPU"):
        SGLangNeeds.of_run(settings, dtype="float32", rank=0, cuda=False)
    settings = dataclasses.replace(settings, options={**options, "seeded": False, "folder": None})
    needs = SGLangNeeds.of_run(settings, dtype="float32", rank=0, cuda=False)
    assert needs.command().startswith("SGLANG_USE_CPU_ENGINE=1 python -m sglang.launch_server ")
    assert "--enable-deterministic-inference" not in needs.command() and not needs.shared
