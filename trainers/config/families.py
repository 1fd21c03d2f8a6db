"""What a run uses where its command line is silent: one entry per environment family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class FamilyDefaults:
    """Settings that make a family's default tasks learnable by the tiny policy on a CPU."""

    env: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the environment."""
    horizon: tuple[int, ...] = (5, 8, 10)
    """ScalingInter rounds; the last one is the full horizon."""
    every: int = 40
    """Steps per stage."""
    steps: int = 150
    """Reinforcement learning steps."""
    gate: float = 0.45
    """Validation success at which the warm start ends. It lies above what a policy that acts
    unchecked reaches, since reinforcement learning does not leave that plateau."""
    episode_tokens: int = 512
    """Most tokens of an episode after its opening, for the tiny policy."""
    decisive: tuple[str, ...] = ()
    """Arguments that change the tasks: with another value of one, ``otherwise`` holds instead."""
    otherwise: FamilyDefaults | None = None
    """Settings for tasks other than the family's default ones."""

    def suited(self, asked: Mapping[str, Any]) -> FamilyDefaults:
        """Return the settings that suit the environment arguments a user asked for."""
        other = [key for key in self.decisive if key in asked and asked[key] != self.env.get(key)]
        return self.otherwise if other and self.otherwise else self


FAMILY_DEFAULTS: Mapping[str, FamilyDefaults] = {
    "alfworld": FamilyDefaults(
        # The expert that has to search: what the other one knows cannot be learned from what is
        # shown. It takes 9 turns on average, so shorter stages would teach to give up.
        env={"difficulty": "easy", "expert": "searching"},
        horizon=(10, 13, 16),
        every=10,
        steps=100,
        episode_tokens=800,
        decisive=(
            "difficulty",
            "task_types",
            "receptacles",
            "distractors",
            "hidden",
            "data_dir",
            "expert",
            "show_admissible",
        ),
        otherwise=FamilyDefaults(
            env={"expert": "searching"}, horizon=(10, 20, 30), every=40, steps=150
        ),
    ),
    "textworld": FamilyDefaults(
        # The bundled games: three or four commands, which the objective tells in other words.
        horizon=(5, 7, 9),
        every=10,
        steps=100,
        episode_tokens=800,
        decisive=("setting", "challenge", "game_files", "description", "inventory"),
        otherwise=FamilyDefaults(horizon=(8, 16, 24), every=40, steps=150, episode_tokens=1600),
    ),
    "webshop": FamilyDefaults(
        env={
            "difficulty": "easy",
            "size": 4000,
            "observation_mode": "compact",
            "expert": "thinking",
        },
        horizon=(5, 7, 9),
        every=6,
        steps=100,
        decisive=(
            "difficulty",
            "data_dir",
            "observation_mode",
            "grammar",
            "expert",
            "results_per_page",
        ),
        # Longer requests, longer pages, and the expert that knows the product.
        otherwise=FamilyDefaults(
            env={"observation_mode": "compact"}, horizon=(5, 10, 15), every=40, steps=150
        ),
    ),
}


def defaults_for(family: str) -> FamilyDefaults:
    """Return the defaults of a family, or general ones for a family without an entry."""
    return FAMILY_DEFAULTS.get(family, FamilyDefaults())
