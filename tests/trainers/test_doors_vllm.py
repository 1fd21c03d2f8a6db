"""What a person can ask of ``--vllm.*``, and what is refused before anything starts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.trainers import toy_runs
from trainers.cli import main
from trainers.config.resolve import resolve
from trainers.rollouts.engines.base import EngineSettings
from trainers.rollouts.engines.vllm_command import ServerNeeds
from trainers.rollouts.engines.vllm_options import VLLMOptions


def test_a_dry_run_shows_the_command_that_starts_the_server(tmp_path, capsys):
    flags = ["--engine=vllm-server", "--vllm.url=http://node:8000", "--dry-run"]
    assert main(toy_runs.arguments(tmp_path / "run", *flags, vllm__max_length=200)) == 0
    (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("server: ")]
    assert line.startswith("server: VLLM_SERVER_DEV_MODE=1 python -m vllm.entrypoints.openai")
    assert f"--model {tmp_path}/run/vllm/model " in line
    assert "--max-model-len 200 --max-num-seqs 16 " in line
    assert not (tmp_path / "run").exists()


def test_a_dry_run_shows_the_command_of_sglang(tmp_path, capsys):
    flags = ["--engine=sglang-server", "--sglang.url=http://h:1", "--sglang.no-seeded", "--dry-run"]
    assert main(toy_runs.arguments(tmp_path / "run", *flags, sglang__max_length=200)) == 0
    (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("server: ")]
    assert line.startswith("server: SGLANG_USE_CPU_ENGINE=1 python -m sglang.launch_server ")
    assert f"--model-path {tmp_path}/run/sglang/model " in line
    assert "--context-length 200 --max-running-requests 16 " in line


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--engine=vllm-server"], "expected --vllm.url, the address of a vLLM server"),
        (["--vllm.url=http://node:8000"], "expected --vllm.url only with --engine vllm-server"),
        (["--engine=sglang-server"], "expected --sglang.url, the address of an SGLang server"),
        (["--sglang.url=http://h:1"], "expected --sglang.url only with --engine sglang-server"),
        (
            ["--engine=sglang-server", "--sglang.url=http://h:1", "--top-p=.9"],
            "expected --top-p 1 with --engine sglang-server, got 0.9",
        ),
        (
            ["--engine=sglang-server", "--sglang.url=http://h:1", "--dry-run"],
            "expected --sglang.no-seeded without a GPU",
        ),
        (["--vllm.sleep"], "expected --vllm.sleep only with --engine vllm"),
        (["--vllm.memory=1.5"], "expected --vllm.memory to be less than 1, got 1.5"),
        (["--vllm.tensor-parallel=0"], "expected --vllm.tensor-parallel to be at least 1, got 0"),
    ],
)
def test_contradictions_are_one_sentence(tmp_path, capsys, flags, expected):
    assert main(toy_runs.arguments(tmp_path / "run", *flags)) == 2
    assert expected in toy_runs.last_line(capsys.readouterr().err)
    assert not (tmp_path / "run").exists()


def test_a_run_that_finds_no_server_says_how_to_start_one(tmp_path, capsys):
    flags = ["--engine=vllm-server", "--vllm.url=http://127.0.0.1:9", "--vllm.patience=0"]
    assert main(toy_runs.arguments(tmp_path / "run", *flags, sft__max_steps=5)) == 2
    sentence = toy_runs.last_line(capsys.readouterr().err)
    assert "start it (VLLM_SERVER_DEV_MODE=1" in sentence and "--resume" in sentence
    model_path = tmp_path / "run" / "vllm" / "model"
    assert f"--model {model_path} " in sentence
    assert (model_path / "config.json").exists(), "the policy from scratch is there to be served"


def test_settings_reach_the_engine_in_this_process(tmp_path):
    flags = ["--engine=vllm", "--vllm.memory=.6", "--vllm.tensor-parallel=2", "--vllm.sleep"]
    flags += ["--vllm.max-sequences=9", "--vllm.lora=merge", "--vllm.dtype=bfloat16"]
    run = resolve(toy_runs.config(tmp_path, *flags, "--vllm.eager=True"))
    settings = EngineSettings(0, 300, 20, 5, vars(run.config.vllm))
    options = VLLMOptions.of_run(None, settings)
    assert options == VLLMOptions(
        dtype="bfloat16", max_model_len=300, max_num_seqs=9, seed=5, gpu_memory_utilization=0.6,
        tensor_parallel=2, sleep=True, lora="merge", enforce_eager=True,
    )  # fmt: skip
    plain_options = VLLMOptions.of_run(None, EngineSettings(0, 300, 20, 5))
    assert plain_options == VLLMOptions(max_model_len=300, max_num_seqs=20, seed=5)
    unseeded = resolve(toy_runs.config(tmp_path, "--engine=vllm", "--vllm.no-seeded"))
    assert not VLLMOptions.of_run(
        None, EngineSettings(0, 300, 20, 5, vars(unseeded.config.vllm))
    ).seeded


def test_a_server_for_gpus_gets_nccl_and_adapters():
    options = {
        "model": "org/a model", "max_length": None, "max_sequences": None, "dtype": None,
        "folder": None, "tensor_parallel": 4, "lora": "auto",
    }  # fmt: skip
    settings = EngineSettings(0, 8192, 128, options=options)
    command = ServerNeeds.of_run(settings, dtype="bfloat16", rank=12, cuda=True).command()
    assert "--model 'org/a model' " in command
    assert """--weight-transfer-config '{"backend": "nccl"}'""" in command
    assert "--tensor-parallel-size 4" in command
    assert "--enable-lora --max-lora-rank 16" in command
    assert "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1" in command
    assert "--enforce-eager" not in command


def test_a_stale_policy_is_served_as_a_second_adapter(tmp_path):
    flags = ["--engine=vllm-server", "--vllm.url=http://h:1", "--cross-policy.share=0.5"]
    run = resolve(toy_runs.config(tmp_path, *flags, model="some/model", sft__max_steps=0))
    settings = EngineSettings(0, 300, 20, 5, vars(run.config.vllm), pool=True)
    options = {**settings.options, "model": "some/model"}
    needs = ServerNeeds.of_run(
        replace(settings, options=options), dtype="float32", rank=4, cuda=False
    )
    assert "--enable-lora --max-lora-rank 8 --max-loras 2" in needs.command()
    vllm_options = VLLMOptions.of_run(None, settings)
    assert vllm_options.lora == "adapter" and vllm_options.pool
