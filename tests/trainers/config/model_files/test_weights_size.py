"""A model that is too large is refused by the heads of its files."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import save_file

from agentgym.errors import ConfigurationError
from tests.trainers.config.model_files.tiny_gguf import write_gguf
from trainers.config.model_files import gguf as gguf_files
from trainers.config.model_files import weights_size
from trainers.config.model_files.weights_size import check_room, stored_bytes
from trainers.models.saved_weights import load_weights


@pytest.fixture
def folder(tmp_path):
    """A hundred weights in two files."""
    path = tmp_path / "model"
    path.mkdir()
    save_file({"a": torch.zeros(6, 10, dtype=torch.bfloat16)}, path / "model-1.safetensors")
    save_file({"b": torch.zeros(40)}, path / "model-2.safetensors", {"format": "pt"})
    return path


def free(monkeypatch, size: int | None) -> None:
    monkeypatch.setattr(weights_size, "available_bytes", lambda: size)


def test_the_weights_are_counted_without_being_read(folder):
    assert stored_bytes(folder) == 60 * 2 + 40 * 4
    assert stored_bytes(folder, 2) == 200
    (folder / "model-3.safetensors").write_bytes(b"\xff" * 20)
    assert stored_bytes(folder, 2) == 200, "who loads a damaged file says so"


def test_what_does_not_fit_is_refused_with_a_remedy(monkeypatch):
    free(monkeypatch, 2**30)
    check_room("model", 2**30)
    with pytest.raises(ConfigurationError, match=r"the 1\.0 GiB .* got model: .* 2\.0 GiB; choose"):
        check_room("model", 2**31)
    free(monkeypatch, None)
    check_room("model", 2**40)


def test_a_policy_is_refused_before_its_weights_are_loaded(folder, monkeypatch):
    free(monkeypatch, 250)
    with pytest.raises(ConfigurationError, match="expected a model that fits"):
        load_weights(folder)
    with pytest.raises(ConfigurationError, match="expected a model that fits"):
        load_weights(folder, dtype=torch.float32)


def test_a_gguf_file_is_refused_before_it_is_converted(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(gguf_files, "_convert", lambda *arguments: pytest.fail("was converted"))
    file = write_gguf(tmp_path / "large.gguf")
    assert gguf_files.count_weights(file) > 1000
    free(monkeypatch, 5 * gguf_files.count_weights(file))
    with pytest.raises(ConfigurationError, match=r"got .*large\.gguf: its conversion takes"):
        gguf_files.convert_gguf(file)
