"""The game that every stack plays: guess a number. It uses no framework."""

from __future__ import annotations

import random
import re

HIGH = 60
TURNS = 10
PROMPT = f"Guess a number from 1 to {HIGH}. Write guess[number]."
GUESSES = tuple(f"guess[{number}]" for number in (30, 15, 45, 8, 22, 38, 52, 4, 11, 19))
"""One action for each turn. Over all numbers an episode has 9 turns on average."""

_GUESS = re.compile(r"guess\[(\d{1,3})\]")


class Game:
    """The rules: a guess is answered with ``higher``, ``lower`` or ``correct``.

    Args:
        seed: Seed of the numbers of all following episodes.
    """

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self.number = self.turn = 0

    def reset(self, seed: int | None = None) -> str:
        """Draw a number, after seeding anew if a seed is given; return the prompt."""
        if seed is not None:
            self._random = random.Random(seed)
        return self.start(self._random.randint(1, HIGH))

    def start(self, number: int) -> str:
        """Begin with a given number; return the prompt."""
        self.number, self.turn = number, 0
        return PROMPT

    def step(self, action: str) -> tuple[str, float, bool, bool]:
        """Answer a guess: text, reward, whether it ended, whether the turns ran out."""
        self.turn += 1
        match = _GUESS.search(action)
        if match is None:
            return "invalid: expected guess[number]", 0.0, False, self.turn >= TURNS
        guess = int(match[1])
        if guess == self.number:
            return "correct", 1.0, True, False
        return ("higher" if guess < self.number else "lower"), 0.0, False, self.turn >= TURNS
