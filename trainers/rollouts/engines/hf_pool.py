"""Generation by transformers with two policies: the current one and a stale copy.

Each has its own key-value cache, which is useless to the other. If the engine shares the trained
model, both policies are that model, and the stale weights are swapped in while the stale policy
computes; two adapters then share one base.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from trainers.rollouts.engines.base import Completion, EngineSettings, Request, Sampling
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.engines.hf_copy import HFCopyEngine
from trainers.rollouts.engines.policy_weights import check_whole, policy_weights
from trainers.rollouts.engines.trained_weights import TrainedWeights

if TYPE_CHECKING:
    from peft import PeftModel
    from torch import Tensor
    from transformers import PreTrainedModel

__all__ = ["HFCopyPoolEngine", "HFPoolEngine"]


class _PastSelf(HFEngine):
    """The trained model, with stale weights swapped in while it computes."""

    weights: TrainedWeights

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        """Advance as :class:`HFEngine` does, with the stale weights."""
        if not self.running:
            return []
        with self.weights.in_use():
            return super().advance(timeout)

    def take(self, weights: TrainedWeights, version: int) -> None:
        """Compute with other weights from now on."""
        self.weights = weights
        self.sync((), version)


class _PastCopy(HFCopyEngine):
    """A second copy of the model."""

    def take(self, weights: TrainedWeights, version: int) -> None:
        """Compute with other weights from now on."""
        with weights.in_use():
            self.sync(policy_weights(weights.model), version)


class HFPoolEngine:
    """A ``PoolEngine`` that shares the trained model; see :class:`HFEngine`.

    Attributes:
        model: The model of the current policy.
        version: Version of the current weights.
    """

    name = HFEngine.name
    _present_kind: type[HFEngine] = HFEngine
    _stale_kind: type[_PastSelf] | type[_PastCopy] = _PastSelf

    def __init__(self, model: PreTrainedModel | PeftModel, *args: Any, **kwargs: Any) -> None:
        """Wrap a model; see :class:`HFEngine` for the other arguments."""
        self._present = self._present_kind(model, *args, **kwargs)
        self._stale = self._stale_kind(model, *args, **kwargs)
        self.model = self._present.model
        self.version, self._training = 0, False

    @classmethod
    def for_run(cls, model: PreTrainedModel | PeftModel, settings: EngineSettings) -> HFPoolEngine:
        """Make the engine of a run."""
        return cls(model, **HFEngine.run_options(settings))

    @property
    def stale_version(self) -> int:
        """Version of the stale weights."""
        return self._stale.version

    @property
    def exact(self) -> bool:
        """Whether the current policy's log-probabilities equal the training forward's."""
        return self._present.exact

    @property
    def running(self) -> int:
        """Number of requests in flight."""
        return self._present.running + self._stale.running

    def submit(self, requests: Sequence[Request], sampling: Sampling) -> None:
        """Submit each request to its policy; see ``GenerationEngine.submit``.

        Raises:
            NotSupported: The model's weights are sharded over processes.
        """
        if not self.running:
            check_whole(self.model)
            # Restored only when both are idle: the first to finish would re-enable dropout for the
            # other.
            self._training = self.model.training
            self.model.eval()
        for engine, stale in ((self._present, False), (self._stale, True)):
            if batch := [request for request in requests if request.stale is stale]:
                engine.submit(batch, sampling)

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        """Sample a token for every row of both policies."""
        try:
            completions = [*self._present.advance(timeout), *self._stale.advance(timeout)]
        except BaseException:
            self.abort()
            raise
        self._give_model_back()
        return completions

    def abort(self) -> None:
        """Drop all requests in flight, and the caches."""
        busy = self.running
        self._present.abort()
        self._stale.abort()
        if busy:
            self._give_model_back()

    def sync(self, named_params: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Load new weights into the current policy; the stale one keeps its own."""
        self._present.sync(named_params, version)
        self.version = version

    def sync_stale(self, weights: TrainedWeights, version: int) -> None:
        """Load weights into the stale policy; see ``PoolEngine.sync_stale``."""
        self._stale.take(weights, version)

    def rest(self) -> None:
        """Free merged adapters; other weights are being trained or are permanent copies."""
        self._present.rest()
        self._stale.rest()

    def close(self) -> None:
        """Free the caches."""
        self._present.close()
        self._stale.close()

    def _give_model_back(self) -> None:
        """Restore the model's mode, once nothing is in flight."""
        if not self.running:
            self.model.train(self._training)


class HFCopyPoolEngine(HFPoolEngine):
    """A ``PoolEngine`` with two copies of the model; see :class:`HFCopyEngine`."""

    name = HFCopyEngine.name
    _present_kind = HFCopyEngine
    _stale_kind = _PastCopy
