"""When the weights of the policy are sent to the engine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from torch import nn

from trainers.grpo.producer import RolloutProducer, Weights
from trainers.grpo.step_part import StepPart
from trainers.rollouts.engines.base import GenerationEngine
from trainers.rollouts.engines.policy_weights import policy_weights

__all__ = ["EngineWeights"]


class EngineWeights:
    """Keep an engine at the policy's weights: send them before it acts with older ones.

    - Before a batch is played, by :meth:`send`: once per step, not once per update.
    - With a batch that is played ahead while the engine is busy, by :meth:`hand_over`: as copies,
      which the engine loads when it starts that batch.
    - Again after the engine released them to make room for training (:meth:`rest`), or when its
      weights are unknown (:meth:`forget`).

    All processes must send sharded weights at the same time.
    """

    def __init__(
        self,
        engine: GenerationEngine,
        policy: Callable[[], nn.Module],
        version: Callable[[], int],
        producer: RolloutProducer | None = None,
        parts: Sequence[StepPart] = (),
    ) -> None:
        """Start with an engine that has no known weights.

        Args:
            engine: The engine of the behaviour policy.
            policy: Returns the trained model without its wrappers.
            version: Returns the number of updates of its weights.
            producer: Plays ahead with the engine; None: nothing does.
            parts: Parts of the step, which may have weights of their own to send.
        """
        self._engine, self._policy, self._version = engine, policy, version
        self._producer, self._parts = producer, parts
        self._sent_version: int | None = None

    def send(self) -> None:
        """Send the current weights to the engine, unless it has them; nothing may be playing."""
        if self._producer is not None:
            self._producer.wait()
        version = self._version()
        if self._sent_version != version:
            # An engine that shares the model leaves the generator unused; nothing was merged then.
            with contextlib.closing(policy_weights(self._policy())) as weights:
                self._engine.sync(weights, version)
            self._sent_version = version
        for part in self._parts:
            part.send_weights()

    def hand_over(self) -> tuple[int, Weights | None]:
        """Send the current weights to an idle engine, or copy them for a busy one.

        Returns:
            Their version, and the copies unless the engine has or will receive the weights.
        """
        assert self._producer is not None
        version = self._version()
        # An engine that reads the policy itself has to read it before it is trained on.
        reads = getattr(self._engine, "reads_policy", False)
        due = any(part.weights_due for part in self._parts)
        if self._producer.idle or reads or due:
            self.send()
        if self._sent_version == version:
            return version, None
        with contextlib.closing(policy_weights(self._policy())) as weights:
            copied = [(name, tensor.clone()) for name, tensor in weights]
        self._sent_version = version
        return version, copied

    def rest(self) -> None:
        """Let the engine free memory for training, unless it continues to play."""
        if self._producer is not None:
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
