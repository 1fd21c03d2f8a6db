"""Send the policy's weights to an engine in other processes.

Either through a folder that both sides can read, as a checkpoint; or from GPU to GPU with NCCL, by
vLLM's weight-transfer API.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError, require
from trainers.rollouts.engines.failure import EngineFailure, Unreachable
from trainers.rollouts.engines.server_client import EngineServer, ask_all

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel
    from trl.generation.vllm_client import VLLMClient

__all__ = [
    "FolderTransfer",
    "NcclTransfer",
    "checked",
    "parts_of",
    "reload_from",
    "write_config",
    "write_weights",
]

PART_BYTES = 1 << 30
"""Maximum bytes of weights that are held at a time on their way."""
NCCL_PORT = 51216
"""Port on which the trainer waits for the first server; further servers use the next ports."""

Pairs = Iterable[tuple[str, "torch.Tensor"]]


def checked(named_params: Pairs) -> Iterator[tuple[str, torch.Tensor]]:
    """Pass weights on, checking that an engine can load them.

    Raises:
        ConfigurationError: There are none, or one belongs to an adapter or is quantised.
    """
    has_weights = False
    for name, tensor in named_params:
        has_weights = True
        if name.startswith("base_model.") or ".base_layer." in name or ".lora_" in name:
            raise ConfigurationError(
                f"expected merged weights named like the base checkpoint, got {name!r}: pass those "
                "of trainers.rollouts.engines.policy_weights, which merges adapters."
            )
        if not tensor.is_floating_point():
            raise ConfigurationError(
                f"expected weights in floating point for vLLM and SGLang, got {name!r} in "
                f"{tensor.dtype}: quantised weights cannot be sent; use --engine hf."
            )
        yield name, tensor.detach()
    if not has_weights:
        raise ConfigurationError("expected the policy's weights, got no (name, tensor) pair.")


def write_config(model: PreTrainedModel, folder: Path) -> bool:
    """Write the ``config.json`` of a checkpoint folder; True when the embeddings are tied."""
    config = model.config.to_dict()
    config["architectures"] = [type(model).__name__]  # vLLM chooses its model class by it
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return bool(config.get("tie_word_embeddings", False))


def write_weights(pairs: Pairs, folder: Path, dtype: torch.dtype) -> None:
    """Write weights in files of bounded size, so that at most one file's weights are in memory."""
    from safetensors.torch import save_file

    for number, part in enumerate(parts_of(pairs)):
        tensors = {name: tensor.to("cpu", dtype).contiguous() for name, tensor in part}
        save_file(_unshared(tensors), folder / f"model-{number:05d}.safetensors")


class FolderTransfer:
    """Weights go through a folder that the trainer and all servers can read."""

    def __init__(
        self, folder: Path, dtype: torch.dtype, reload: Callable[[EngineServer, Path], None]
    ) -> None:
        """Choose the folder, which is created and emptied when weights are sent.

        Args:
            folder: The folder.
            dtype: Precision of the files.
            reload: Lets a server read weights from a folder.
        """
        self._folder, self._dtype, self._reload = folder.resolve(), dtype, reload

    def send(self, pairs: Pairs, version: int, servers: Sequence[EngineServer]) -> None:
        """Write the weights, let all servers read them at once, and delete them.

        Raises:
            EngineFailure: A server cannot read them, or they belong to another model.
        """
        folder = self._folder / f"weights-{version}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            write_weights(pairs, folder, self._dtype)
            ask_all(servers, lambda server: self._reload(server, folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Do nothing: no files are left."""


def reload_from(
    server: EngineServer, folder: Path, path: str, payload: Mapping[str, object]
) -> None:
    """Let a server read weights from a folder, by a request.

    Raises:
        EngineFailure: It cannot read them, or they belong to another model.
    """
    try:
        server.post(path, payload, patient=False)
    except Unreachable:
        raise
    except EngineFailure as error:
        raise EngineFailure(
            f"expected the {server.kind.name} server at {server.url} to take over the policy's "
            f"weights from {folder}: it must serve a model of the policy's architecture and see "
            f"the same folder (--{server.kind.name.lower()}.folder). {error}"
        ) from error


class NcclTransfer:
    """Weights go from GPU to GPU; TRL's client speaks vLLM's weight-transfer API.

    The trainer's main process is rank 0 of one NCCL group per server. Written after TRL 1.16 and
    vLLM 0.31; no test runs it on GPUs.
    """

    def __init__(
        self, servers: Sequence[EngineServer], dtype: torch.dtype, device: torch.device
    ) -> None:
        """Form a process group with the workers of each server.

        Raises:
            DependencyNotInstalled: vLLM, which holds the NCCL bindings, is absent here.
        """
        require("vllm", "vllm")
        require("requests", "vllm")
        from trl.generation.vllm_client import VLLMClient

        self._dtype, self._device = dtype, device
        self._clients = [
            VLLMClient(base_url=server.url, group_port=NCCL_PORT + number)
            for number, server in enumerate(servers)
        ]
        for client in self._clients:
            client.init_communicator(device=device)

    def send(self, pairs: Pairs, version: int, servers: Sequence[EngineServer]) -> None:
        """Stream the weights part by part, each to all servers at once."""
        with contextlib.ExitStack() as updates:
            pool = updates.enter_context(ThreadPoolExecutor(len(self._clients)))
            for client in self._clients:
                updates.enter_context(client.weight_update())
            for part in parts_of(pairs):
                ready = [(name, tensor.to(self._device, self._dtype)) for name, tensor in part]
                # A call returns when its server has received the part.
                list(pool.map(lambda client, part=ready: self._give(client, part), self._clients))

    def _give(self, client: VLLMClient, part: Sequence[tuple[str, torch.Tensor]]) -> None:
        """Send a part to a server, in a thread, which starts on the first GPU."""
        import torch

        if torch.device(self._device).type == "cuda":
            torch.cuda.set_device(self._device)
        dtype = str(self._dtype).removeprefix("torch.")
        described = [(name, dtype, list(tensor.shape)) for name, tensor in part]
        client.update_named_params(described, iter(part))

    def close(self) -> None:
        """Leave the groups."""
        for client in self._clients:
            client.close_communicator()


def parts_of(pairs: Pairs, largest: int | None = None) -> Iterator[list[tuple[str, torch.Tensor]]]:
    """Split a stream of weights into lists of at most ``largest`` bytes, or one weight each."""
    largest = largest or PART_BYTES
    part: list[tuple[str, torch.Tensor]] = []
    size = 0
    for name, tensor in pairs:
        if part and size + tensor.nbytes > largest:
            yield part
            part, size = [], 0
        part.append((name, tensor))
        size += tensor.nbytes
    if part:
        yield part


def _unshared(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Copy tensors that share memory, such as a tied head, which files cannot express."""
    pointers: set[int] = set()
    out = {}
    for name, tensor in tensors.items():
        out[name] = tensor.clone() if tensor.data_ptr() in pointers else tensor
        pointers.add(tensor.data_ptr())
    return out
