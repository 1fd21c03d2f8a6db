"""Seeds and numbers of what is drawn at a turn, from its place in a rollout alone."""

from __future__ import annotations

from hashlib import blake2b

__all__ = ["turn_draw", "turn_seed"]


def turn_seed(seed: int, episode: int, turn: int, purpose: str = "") -> int:
    """Derive the sampling seed of a turn from the rollout's seed and the turn's place in it."""
    text = f"{seed}/{episode}/{turn}{purpose and '/' + purpose}".encode()
    # 63 bits: the range of Request.seed, which fits a server's signed integer.
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1


def turn_draw(seed: int, episode: int, turn: int, purpose: str) -> float:
    """Draw a number in [0, 1) for a turn, independent for each ``purpose``."""
    return turn_seed(seed, episode, turn, purpose) / 2.0**63
