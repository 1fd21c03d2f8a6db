"""When the weights of the policy are sent to the engine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from torch import Tensor, nn

from trainers.rollouts.engines.base import GenerationEngine
from trainers.rollouts.engines.policy_weights import policy_weights

__all__ = ["EnginePart", "EngineWeights", "Weights"]

Weights = list[tuple[str, Tensor]]
"""Names and copies of weights."""


class EnginePart:
    """Leave the engine to the policy: what a part of the step does with it, as a base class."""

    lag: int = 0
    """Steps that generation runs ahead of training, so that as many are planned already."""

    def wait_for_engine(self) -> None:
        """Wait until this part generates nothing, which lasts until :meth:`go_on`."""

    def wait_for_envs(self) -> None:
        """Wait until this part plays no episode, which lasts until :meth:`go_on`."""

    def go_on(self) -> None:
        """Play on: engine and environments are free again."""

    @property
    def weights_due(self) -> bool:
        """Whether the engine needs weights of this part before it goes on."""
        return False

    def send_weights(self) -> None:
        """Give the engine this part's weights unless it has them; nothing is played meanwhile."""

    def forget_weights(self) -> None:
        """Send the weights next time in any case."""


class EngineWeights:
    """Keep an engine at the policy's weights: send them before it acts with older ones.

    - Before a batch is played, by :meth:`send`: once per step, not once per update.
    - For an engine that is busy, by :meth:`copy`: as copies, which it loads later.
    - Again after the engine released them to make room for training (:meth:`rest`), or when its
      weights are unknown (:meth:`forget`).

    All processes must send sharded weights at the same time.

    Attributes:
        version: Returns the number of updates of the policy's weights.
    """

    def __init__(
        self,
        engine: GenerationEngine,
        policy: Callable[[], nn.Module],
        version: Callable[[], int],
        parts: Sequence[EnginePart] = (),
    ) -> None:
        """Start with an engine that has no known weights.

        Args:
            engine: The engine of the behaviour policy.
            policy: Returns the trained model without its wrappers.
            version: Returns the number of updates of its weights.
            parts: Parts of the step, which may use the engine meanwhile, or have further weights.
        """
        self.version = version
        self._engine, self._policy, self._parts = engine, policy, parts
        self._sent_version: int | None = None

    def send(self) -> None:
        """Send the current weights to the engine, unless it has them; nothing may be playing."""
        for part in self._parts:
            part.wait_for_engine()
        version = self.version()
        if self._sent_version != version:
            # An engine that shares the model leaves the generator unused; nothing was merged then.
            with contextlib.closing(policy_weights(self._policy())) as weights:
                self._engine.sync(weights, version)
            self._sent_version = version
        for part in self._parts:
            part.send_weights()

    @property
    def due(self) -> bool:
        """Whether the engine needs weights of a part before it goes on."""
        return any(part.weights_due for part in self._parts)

    def copy(self) -> Weights | None:
        """Return copies of the current weights; None if the engine has or will receive them."""
        version = self.version()
        if self._sent_version == version:
            return None
        with contextlib.closing(policy_weights(self._policy())) as weights:
            copied = [(name, tensor.clone()) for name, tensor in weights]
        self._sent_version = version
        return copied

    def rest(self) -> None:
        """Let the engine free memory for training, unless it continues to play."""
        for part in self._parts:
            part.go_on()
        if any(part.lag for part in self._parts):
            return
        self._engine.rest()
        # An engine that gave its weights up says so by another version.
        if self._engine.version != self._sent_version:
            self.forget()

    def forget(self) -> None:
        """Send again next time: a policy was loaded, or a transfer was dropped."""
        self._sent_version = None
        for part in self._parts:
            part.forget_weights()
