"""A game so small that the real engine starts it in a tenth of a second, and where to skip."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import pytest

from agentgym.envs.alfworld.engine.household import Game

PROBLEM = """(define (problem tiny) (:domain alfred)
(:objects agent1 - agent
  MugType - otype DeskType DrawerType - rtype
  Mug_bar_1 - object Desk_bar_1 Drawer_bar_1 - receptacle
  loc_bar_0 loc_bar_1 loc_bar_2 - location)
(:init
  (receptacleType Desk_bar_1 DeskType) (receptacleAtLocation Desk_bar_1 loc_bar_1)
  (receptacleType Drawer_bar_1 DrawerType) (receptacleAtLocation Drawer_bar_1 loc_bar_2)
  (openable Drawer_bar_1)
  (objectType Mug_bar_1 MugType) (pickupable Mug_bar_1)
  (inReceptacle Mug_bar_1 Desk_bar_1) (objectAtLocation Mug_bar_1 loc_bar_1)
  (canContain DeskType MugType) (canContain DrawerType MugType)
  (atLocation agent1 loc_bar_0) (= (total-cost) 0))
(:goal (exists (?r - receptacle ?o - object) (and
  (inReceptacle ?o ?r) (objectType ?o MugType) (receptacleType ?r DrawerType)))))"""
TINY = Game("tiny", "pick_and_place_simple", "FloorPlan0", "put a mug in drawer.", PROBLEM)
IMPOSSIBLE = replace(
    TINY, id="impossible", problem=PROBLEM.replace("(canContain DrawerType MugType)", "")
)
INTRO = (
    "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly "
    "around you, you see a desk 1, and a drawer 1.\n\nYour task is to: "
)
PLAN = ("go to desk 1", "take mug 1 from desk 1", "go to drawer 1", "open drawer 1",
        "move mug 1 to drawer 1")  # fmt: skip

needs_alfworld = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("alfworld", "fast_downward")),
    reason='the real engine is absent: pip install -e ".[alfworld]"',
)
