"""When the weights of the policy are sent to the engine."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence

from torch import Tensor, nn

from trainers import processes
from trainers.rollouts.engines.base import GenerationEngine
from trainers.rollouts.engines.failure import GO_ON, EngineFailure, EngineLost
from trainers.rollouts.engines.policy_weights import policy_weights

__all__ = ["MOST_FAILURES", "EnginePart", "EngineWeights", "Weights"]

logger = logging.getLogger(__name__)

MOST_FAILURES = 5
"""Failures of an engine without a single turn in between after which a run ends."""

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
    - Again after the engine failed (:meth:`recover`), as long as it generates in between.

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
        self._failures: list[EngineFailure] = []  # Those since the last turn.

    def send(self) -> None:
        """Send the current weights to the engine, unless it has them; nothing may be playing.

        Raises:
            EngineFailure: The engine failed too often, see :meth:`count_failure`.
        """
        for part in self._parts:
            part.wait_for_engine()
        try:
            self._send()
        except EngineFailure as error:
            self.recover(error)

    def recover(self, error: EngineFailure) -> None:
        """Send all weights again to an engine that failed.

        Raises:
            EngineFailure: It failed too often.
        """
        while True:
            self.count_failure(error)
            try:
                return self._send()
            except EngineFailure as next_error:
                error = next_error

    def count_failure(self, error: EngineFailure) -> None:
        """Note that the engine failed, so that its weights are unknown.

        Raises:
            EngineFailure: It failed ``MOST_FAILURES`` times without a turn in between, cannot come
                back, or several processes would have to send weights together.
        """
        if processes.world() > 1 or isinstance(error, EngineLost):
            raise error
        failures = self._failures
        failures.append(error)
        if len(failures) >= MOST_FAILURES:
            first = failures[0]  # It explains the others.
            raise EngineFailure(
                "expected an engine that generates once its weights were sent again, but it failed "
                f"{len(failures)} times without a turn in between, at first so: {first}"
                + ("" if GO_ON in str(first) else f"; {GO_ON}")
            ) from first
        logger.warning("the engine failed, and its weights are sent again: %s", error)
        self.forget()

    def note_turn(self) -> None:
        """Note that the engine has generated a turn."""
        self._failures = []

    def _send(self) -> None:
        """Send the current weights to the engine, unless it has them."""
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
