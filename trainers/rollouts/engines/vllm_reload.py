"""Load the policy's weights into a vLLM engine in this process, and free its memory in between.

Weights go through vLLM's layerwise ``reload_weights`` on every platform: it restores the checkpoint
layout, loads, processes again (CPU repacking, quantisation) and copies into the tensors that CUDA
graphs captured. Plain ``load_weights`` fails on CPU, where repacked weights have no loader left.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.errors import NotSupported
from trainers.rollouts.engines.policy_weights import policy_weights, with_tied_head
from trainers.rollouts.engines.vllm_adapter import AdapterFolder
from trainers.rollouts.engines.vllm_process import explained, preserved_generators
from trainers.rollouts.engines.vllm_weights import checked, write_weights

if TYPE_CHECKING:
    import torch
    from vllm import LLM
    from vllm.lora.request import LoRARequest

    from trainers.rollouts.engines.trained_weights import TrainedWeights

__all__ = ["Reload"]


class Reload:
    """Loads weights into one ``vllm.LLM``.

    Attributes:
        adapter: The adapter to generate with, as vLLM's ``LoRARequest``; None: merged weights.
        stale: The stale policy's adapter, or None.
        broken: Whether a reload failed halfway, from which vLLM cannot recover.
        resting: Whether the engine's memory is freed.
    """

    def __init__(
        self, llm: LLM, model: torch.nn.Module, folder: Path, *, tied: bool, served: bool
    ) -> None:
        """Store source and target of the weights.

        Args:
            llm: The ``vllm.LLM``.
            model: The policy, read only if its adapter is served.
            folder: Folder for files read by its workers.
            tied: Whether its embeddings are tied.
            served: Whether its adapter is served beside its base.
        """
        self.adapter: LoRARequest | None = None
        self.stale: LoRARequest | None = None
        self.broken, self.resting = False, False
        self._llm, self._model, self._folder = llm, model, folder
        self._tied, self._served, self._based = tied, served, False
        self._number = 0
        self._adapters = AdapterFolder(folder / "adapters")
        self._stale_adapters = AdapterFolder(folder / "stale-adapters")

    def sync(self, named_params: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Load weights, or only the adapter, and reset the prefix cache.

        Raises:
            NotSupported: The engine is generating.
        """
        pairs: Iterable[tuple[str, torch.Tensor]] | None = named_params
        if self._served:
            pairs = None if self._based else policy_weights(self._model, merged=False)
        if pairs is not None:
            pairs = _begun(checked(pairs))  # wrong names raise before vLLM is changed
        if self.resting:
            self._llm.wake_up(tags=["weights"])
        self.broken = True  # until the end
        with preserved_generators():
            if pairs is not None:
                self._reload(with_tied_head(pairs) if self._tied else pairs)
                self._based = True
            if self._served:
                self.adapter = self._replaced(self.adapter, self._adapters, version)
        if self.resting:
            self._llm.wake_up(tags=["kv_cache"])
            self.resting = False
        if not self._llm.reset_prefix_cache():
            raise NotSupported(
                "expected an idle engine at a weight sync, but the prefix cache is in use: call "
                "sync only when nothing is in flight."
            )
        self.broken = False

    def sync_stale(self, weights: TrainedWeights, version: int) -> None:
        """Load the adapter of the stale policy.

        Raises:
            NotSupported: No adapters are served.
        """
        if not self._served:
            raise NotSupported(
                "expected an engine that serves adapters, two of which share one base, to hold a "
                "stale policy: make it with lora='adapter' and pool=True"
            )
        with preserved_generators(), weights.in_use():
            self.stale = self._replaced(self.stale, self._stale_adapters, version)

    def rest(self) -> None:
        """Free the engine's memory; the next ``sync`` fills it again.

        Merged weights are dropped (vLLM's sleep level 2), because the next sync sends them again.
        The base of a served adapter is not sent again, so it is kept in host memory (level 1).
        """
        if not self.resting:
            self._llm.sleep(level=1 if self._served else 2)
            self.resting = True

    def _reload(self, pairs: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Load all weights: by reference, or through files if workers are separate processes.

        Errors of the stream itself are raised unchanged.
        """
        config = self._llm.llm_engine.vllm_config
        if config.parallel_config.world_size == 1 or config.load_config.load_format == "dummy":
            self._llm.collective_rpc("reload_weights", kwargs={"weights_iterator": pairs})
            return
        path = self._folder / "weights"
        path.mkdir()
        try:
            write_weights(pairs, path, config.model_config.dtype)
            with explained("take over weights"):
                self._llm.collective_rpc("reload_weights", kwargs={"weights_path": str(path)})
        finally:
            shutil.rmtree(path)

    def _replaced(
        self, old: LoRARequest | None, folder: AdapterFolder, version: int
    ) -> LoRARequest:
        """Replace the served adapter by the policy's current one."""
        from vllm.lora.request import LoRARequest

        if old is not None:
            self._llm.llm_engine.remove_lora(old.lora_int_id)
        path = folder.write(self._model, version)
        self._number += 1  # vLLM caches adapters by number
        adapter = LoRARequest(f"policy-{self._number}", self._number, str(path))
        with explained("load the adapter"):
            self._llm.llm_engine.add_lora(adapter)
        return adapter


def _begun(
    pairs: Iterable[tuple[str, torch.Tensor]],
) -> Iterable[tuple[str, torch.Tensor]]:
    """Take the first pair, which checks it, and put it back."""
    stream = iter(pairs)
    return itertools.chain([next(stream)], stream)
