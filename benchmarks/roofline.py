"""A roofline bound: the minimum time of a training step on one thread.

Every token is fed once in generation, and passes forward and backward (twice the products of a
forward) in training. Weights multiply it, and attention multiplies it with every token before it.
In generation, the keys and values of all earlier tokens are read again for each sampled token,
which is bound by memory and not by arithmetic.

Products are counted at the rate of a matrix product of the model's shape, bytes at this machine's
bandwidth beyond its cache; both are measured. Norms, activations, softmax and environments count as
nothing, and so does padding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch.nn.functional import linear

from trainers.models.memory import ModelShape

__all__ = ["Machine", "Work", "roofline", "work_of"]

ROWS = 2048
"""Rows of the measured matrix product: the tokens of a default micro-batch."""
READ_BYTES = 1 << 28
"""Bytes read to measure bandwidth; more than any cache holds."""
NUMBER_BYTES = 4
FORWARD, FORWARD_AND_BACKWARD = 1, 3
"""Products of a pass, relative to a forward pass."""


@dataclass(frozen=True)
class Machine:
    """What one thread can do."""

    products: float
    """Floating-point operations per second in matrix products of a model's shape."""
    bandwidth: float
    """Bytes read per second."""

    @classmethod
    def measured(cls, shape: ModelShape) -> Machine:
        """Measure this machine, in processor seconds; the best of several tries."""
        left = torch.randn(ROWS, shape.hidden)
        right = torch.randn(shape.intermediate, shape.hidden)
        data = torch.ones(READ_BYTES // NUMBER_BYTES)
        flops = 2 * ROWS * shape.hidden * shape.intermediate
        repeats = max(1, int(1e9 / flops))
        return cls(
            flops / _best(lambda: linear(left, right), repeats), READ_BYTES / _best(data.sum, 1)
        )


@dataclass(frozen=True)
class Work:
    """What the episodes of a step ask for."""

    tokens: int
    """Tokens of all episodes."""
    sampled: int
    """Sampled tokens."""
    pairs: int
    """Pairs of a token and one before it, or itself, in the same episode."""
    read: int
    """Such pairs of sampled tokens, each of which reads the keys and values before it."""


def work_of(turns: Sequence[Sequence[tuple[int, int]]]) -> Work:
    """Count the work of episodes.

    Args:
        turns: For each episode, prompt and completion tokens of its turns, in order.
    """
    lengths = [sum(episode[-1]) for episode in turns if episode]
    all_turns = [turn for episode in turns for turn in episode]
    return Work(
        tokens=sum(lengths),
        sampled=sum(completion for _, completion in all_turns),
        pairs=sum(length * (length + 1) // 2 for length in lengths),
        read=sum(n * prompt + n * (n - 1) // 2 for prompt, n in all_turns),
    )


def roofline(shape: ModelShape, work: Work, machine: Machine) -> dict[str, float]:
    """Return the least seconds of generation and of the update of a step.

    Args:
        shape: The model's.
        work: What the episodes of a step ask for.
        machine: What one thread can do.
    """
    head = 2 * shape.vocabulary * shape.hidden * work.sampled
    forward = (
        2 * shape.matrices * work.tokens + head + 4 * shape.layers * shape.queries * work.pairs
    )
    read_bytes = work.read * shape.layers * 2 * shape.keys * NUMBER_BYTES
    products = forward * FORWARD / machine.products
    reading = read_bytes / machine.bandwidth
    update = forward * FORWARD_AND_BACKWARD / machine.products
    return {
        "generation": products + reading,
        "generation_products": products,
        "generation_reading": reading,
        "update": update,
        "step": products + reading + update,
    }


def _best(body: Callable[[], object], repeats: int, tries: int = 7) -> float:
    """Return the minimum processor seconds of a call."""
    body()
    times = []
    for _ in range(tries):
        start = time.process_time()
        for _ in range(repeats):
            body()
        times.append((time.process_time() - start) / repeats)
    return min(times)
