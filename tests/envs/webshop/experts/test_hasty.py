"""The expert that buys too soon: it makes mistakes, from every state it finishes all the same."""

from __future__ import annotations

import random
from itertools import islice
from typing import Any

import pytest

from agentgym.core.tasks import Task, TaskList
from agentgym.envs.webshop.env import WebShopEnv
from agentgym.envs.webshop.experts import EXPERTS, FALLIBLE

HORIZON = 9
TASKS = 150


def make(expert: str = "hasty", **kwargs: Any) -> WebShopEnv:
    kwargs = {"difficulty": "easy", "observation_mode": "compact", "horizon": HORIZON, **kwargs}
    return WebShopEnv(expert=expert, **kwargs)


def finish(env: WebShopEnv, info: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Let the expert play on; its announced turns shrink by one a turn, and all are valid."""
    turns_left, actions = info["oracle_turns"], []
    while not info["stop_reason"]:
        actions.append(str(env.demonstrator_action()))
        info = env.step(actions[-1])[-1]
        turns_left -= 1
        assert info["oracle_turns"] == turns_left and info["action_valid"]
    assert turns_left == 0 and info["stop_reason"] in ("success", "failure")
    return actions, info


def start(env: WebShopEnv, index: int) -> dict[str, Any]:
    return env.reset(options={"split": "test", "index": index})[1]


def test_it_is_declared_as_fallible() -> None:
    assert EXPERTS.keys() > FALLIBLE.keys() and {"hasty", "hurried"} <= FALLIBLE.keys()


def test_it_buys_in_time_and_often_the_wrong_product() -> None:
    env = make()
    games = [finish(env, start(env, index)) for index in range(TASKS)]
    success = sum(info["success"] for _, info in games) / TASKS
    score = sum(info["score"] for _, info in games) / TASKS
    assert 0.3 < success < 0.5 and 0.8 < score < 0.95
    for actions, info in games:
        assert actions[-1] == "click[buy now]" and not {"click[back]", "click[prev]"} & {*actions}
        missed = info["details"]
        assert missed["r_type"] == missed["r_price"] == 1.0, "its line showed type and price"


def test_it_searches_as_the_careful_expert_does_and_opens_the_same_product_first() -> None:
    hasty, careful = make(), make("careful")
    shorter = 0
    for index in range(60):
        hasty_actions, careful_actions = (
            finish(env, start(env, index))[0] for env in (hasty, careful)
        )
        opened = 1 + hasty_actions[1:].count("click[next]")
        assert hasty_actions[: opened + 1] == careful_actions[: opened + 1]
        assert hasty_actions == careful_actions or len(hasty_actions) < len(careful_actions)
        shorter += len(hasty_actions) < len(careful_actions)
    assert shorter > 20


def test_it_has_a_plan_from_every_state() -> None:
    env, rng = make(horizon=60), random.Random(0)
    for index in range(60):
        info = start(env, index)
        for _ in range(rng.randint(1, 8)):
            away = [a for a in info["admissible_actions"] if a != "click[buy now]"]
            action = rng.choice([*away, "search[red]", "search[zzz]"])
            info = env.step(action)[-1]
            assert info["oracle_turns"] >= 0 and env.demonstrator_action() is not None
        finish(env, info)


def test_of_its_own_query_it_takes_the_first_hit_where_no_line_will_do() -> None:
    env = make()
    start(env, 0)
    content = {**env.task.content, "price_upper": 1.0}
    world = {
        "world": env.shop,
        "tasks": TaskList("x", {"train": [Task("x/0", "train", 0, "", content)]}),
    }
    env = make(**world)
    actions, info = finish(env, env.reset()[1])
    query = actions[0].removeprefix("search[").removesuffix("]")
    assert env.session.product.asin == env.shop.search(query)[0] and not info["success"]


def test_the_hurried_expert_checks_four_tasks_in_ten_and_is_hasty_in_the_others() -> None:
    hurried, thinking, hasty = make("hurried"), make("thinking"), make()
    checked = differ = 0
    for index in range(TASKS):
        ending, careful, quick = (finish(e, start(e, index)) for e in (hurried, thinking, hasty))
        assert ending[0] in (careful[0], quick[0])
        if careful[0] != quick[0]:
            differ += 1
            checked += ending[0] == careful[0]
            assert (
                ending[1]["success"]
                == (careful if ending[0] == careful[0] else quick)[1]["success"]
            )
    assert differ > TASKS / 2 and 0.3 < checked / differ < 0.5


@pytest.mark.parametrize(("expert", "solver"), [*FALLIBLE.items()])
def test_a_task_is_as_long_as_a_plan_that_solves_it(expert: str, solver: str) -> None:
    lengths = [
        [env.tasks.oracle_turns(task) for task in islice(env.tasks.iterate("test"), 60)]
        for env in (make(expert), make(solver))
    ]
    assert lengths[0] == lengths[1]
