"""Async policies offer as ordinary ones whatever they offer themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import gymnasium
import pytest

from agentgym.evaluation import evaluate
from agentgym.evaluation.policy_names import load_policy
from agentgym.evaluation.policy_sources import GuardedPolicy
from agentgym.policies import PolicyWithCopies, PolicyWithPrompt, PolicyWithSeed
from agentgym.policies.asynchronous import AsyncPlayer
from agentgym.support.event_loop import EventLoop
from tests.toy import TOY_ID

MODULE = """
SEEDS = []

class Drawing:
    async def reset(self, observation, info):
        self.begun = True

    def seed(self, seed):
        SEEDS.append(seed)
        self.seeded = seed

    async def act(self, observation, info):
        assert self.begun and self.seeded is not None
        return f"press {observation.split()[-1]}"
"""


class Plain:
    async def act(self, observation: str, info: Mapping[str, Any]) -> str:
        return "press red"


class Whole(Plain):
    seeds: list[int]

    def __init__(self) -> None:
        self.seeds = []

    def seed(self, seed: int) -> None:
        self.seeds.append(seed)

    def facts(self) -> dict[str, Any]:
        return {"model": "whole"}

    def copy(self) -> Whole:
        return Whole()

    def with_prompt(self, prompt: Any, sampling: Mapping[str, Any]) -> Whole:
        return Whole()


@pytest.fixture
def loop() -> Iterator[EventLoop]:
    with closing(EventLoop()) as event_loop:
        yield event_loop


def test_what_the_policy_offers_is_offered(loop: EventLoop) -> None:
    policy = Whole()
    player: Any = AsyncPlayer(policy, loop)
    for name in ("seed", "facts", "copy", "with_prompt"):
        inspect.getattr_static(player, name)  # so protocols look from Python 3.12 on
    GuardedPolicy(player, loop).seed(4)
    assert policy.seeds == [4] and player.facts() == {"model": "whole"}
    for copied in (player.copy(), player.with_prompt(None, {})):
        assert isinstance(copied, AsyncPlayer) and copied.act("", {}) == "press red"


def test_what_the_policy_does_not_offer_is_not(loop: EventLoop) -> None:
    player: Any = AsyncPlayer(Plain(), loop)
    player.seed(4)
    assert player.facts() == {}
    assert not isinstance(player, PolicyWithCopies | PolicyWithPrompt)
    assert isinstance(player, PolicyWithSeed)


def test_async_policies_by_name_get_the_seeds_of_their_episodes(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_drawing.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    module = __import__("own_drawing")
    seed_lists = []
    for policy in (module.Drawing, "own_drawing:Drawing"):
        module.SEEDS.clear()
        assert evaluate(policy, TOY_ID, num_tasks=4, concurrency=1).success == 1.0
        seed_lists.append([*module.SEEDS])
    assert seed_lists[0] == seed_lists[1] and len(set(seed_lists[0])) == 4
    with load_policy("own_drawing:Drawing", gymnasium.make(TOY_ID)) as maker:
        player: Any = maker()
        player.seed(0)
        player.reset("red", {})  # a coroutine, which is waited for
        assert player.act("red", {}) == "press red"
