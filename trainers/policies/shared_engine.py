"""One generation engine for policies that play in several threads.

A thread that waits for a completion drives the engine for all threads, one step at a time, and
hands over as soon as its own completion is there. So requests of several threads are batched
without a further thread. Samples depend on a request's seed, not on its batch, up to the rounding
of logits.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence

from agentgym.errors import ConfigurationError, PolicyFailure
from trainers.models.threads import computing_threads
from trainers.rollouts.engines.base import Completion, GenerationEngine, Request, Sampling

__all__ = ["SharedEngine"]


class SharedEngine:
    """Completions for several threads.

    Args:
        engine: The engine, for exclusive use.
        sampling: Sampling settings of all requests.
        threads: Number of torch's threads while the engine computes; None leaves it alone.
    """

    def __init__(
        self, engine: GenerationEngine, sampling: Sampling, threads: int | None = None
    ) -> None:
        self.sampling, self._threads = sampling, threads
        self._engine = engine
        self._changed = threading.Condition()
        self._submitted: list[Request] = []
        self._in_flight: set[int] = set()
        self._ended: dict[int, Completion | BaseException] = {}
        self._driven = self._closed = False
        self._keys = itertools.count()
        self._free: list[int] = []

    def take_key(self) -> int:
        """Return a key for the turns of one conversation at a time, by which turns are cached."""
        with self._changed:
            return self._free.pop() if self._free else next(self._keys)

    def return_key(self, key: int) -> None:
        """Release a key for another conversation."""
        with self._changed:
            self._free.append(key)

    def complete(self, key: int, prompt: Sequence[int], max_tokens: int, seed: int) -> Completion:
        """Complete a prompt, and wait for the completion.

        Args:
            key: The conversation's key; it has no other request in flight.
            prompt: Token ids.
            max_tokens: Maximum new tokens.
            seed: Seed of sampling.

        Raises:
            PolicyFailure: The engine failed.
            ConfigurationError: It was closed.
        """
        with self._changed:
            if self._closed:
                raise ConfigurationError(
                    "expected a policy whose model is loaded, but it was closed: load it again"
                )
            self._submitted.append(Request(key, tuple(prompt), max_tokens, seed))
            self._in_flight.add(key)
        while not self._ready(key):
            self._drive()
        outcome = self._ended.pop(key)
        if isinstance(outcome, Completion):
            return outcome
        raise PolicyFailure(
            f"expected a completion of the model, but its engine failed: "
            f"{type(outcome).__name__}: {outcome}"
        ) from outcome

    def close(self) -> None:
        """Free the engine; calling it twice is allowed."""
        with self._changed:
            while self._driven:
                self._changed.wait()
            if not self._closed:
                self._closed = True
                self._engine.close()

    def _ready(self, key: int) -> bool:
        """Wait until the completion is there or no thread drives the engine; return which."""
        with self._changed:
            while key not in self._ended and self._driven:
                self._changed.wait()
            if key in self._ended:
                return True
            self._driven = True
            return False

    def _drive(self) -> None:
        """Let the engine take a step."""
        with self._changed:
            submitted, self._submitted = self._submitted, []
        outcomes: dict[int, Completion | BaseException] = {}
        try:
            # torch keeps the number per thread, so it is set in the thread that computes.
            with computing_threads(self._threads):
                if submitted:
                    self._engine.submit(submitted, self.sampling)
                outcomes.update(self._engine.advance())
        except BaseException as error:
            self._engine.abort()
            with self._changed:
                # Requests that arrived meanwhile were not submitted; the next driver submits them.
                waiting = {request.key for request in self._submitted}
                outcomes = dict.fromkeys(self._in_flight - waiting, error)
            if not isinstance(error, Exception):  # For example Ctrl-C, for this thread alone.
                raise
        finally:
            with self._changed:
                self._driven = False
                self._ended.update(outcomes)
                self._in_flight -= outcomes.keys()
                self._changed.notify_all()
