"""One generation engine for policies that play in several threads.

Whoever waits for a completion drives the engine for all, one step at a time, and hands on as soon
as its own is there: requests of several threads are generated together, and no thread is needed
besides theirs. What is sampled depends on a request's own seed, not on what it shares a batch with,
up to the rounding of the logits.
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
    """Give completions to threads.

    Args:
        engine: The engine; nobody else uses it.
        sampling: How all tokens are drawn.
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
        """Let another conversation have a key."""
        with self._changed:
            self._free.append(key)

    def complete(self, key: int, prompt: Sequence[int], max_tokens: int, seed: int) -> Completion:
        """Continue a prompt, and wait for it.

        Args:
            key: The conversation's key; it has no other request in flight.
            prompt: Token ids.
            max_tokens: Maximum new tokens.
            seed: Seed of what is drawn.

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
        ended = self._ended.pop(key)
        if isinstance(ended, Completion):
            return ended
        raise PolicyFailure(
            f"expected a completion of the model, but its engine failed: "
            f"{type(ended).__name__}: {ended}"
        ) from ended

    def close(self) -> None:
        """Free what the engine holds; calling it twice is allowed."""
        with self._changed:
            while self._driven:
                self._changed.wait()
            if not self._closed:
                self._closed = True
                self._engine.close()

    def _ready(self, key: int) -> bool:
        """Wait until a completion has come, or nobody drives the engine; return which."""
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
        ended: dict[int, Completion | BaseException] = {}
        try:
            # Set in the thread that computes, where torch keeps it; who called has another number.
            with computing_threads(self._threads):
                if submitted:
                    self._engine.submit(submitted, self.sampling)
                ended.update(self._engine.advance())
        except BaseException as error:
            self._engine.abort()
            with self._changed:
                # Those that came meanwhile were not submitted: the next driver takes them.
                waiting = {request.key for request in self._submitted}
                ended = dict.fromkeys(self._in_flight - waiting, error)
            if not isinstance(error, Exception):  # Such as Ctrl-C, which is meant for this thread.
                raise
        finally:
            with self._changed:
                self._driven = False
                self._ended.update(ended)
                self._in_flight -= ended.keys()
                self._changed.notify_all()
