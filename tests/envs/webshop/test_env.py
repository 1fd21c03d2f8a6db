"""The environment: configurations, grammars, copies, caches."""

from __future__ import annotations

import copy
import gzip
import inspect
import io
import json
import pickle
import random
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import agentgym  # noqa: F401
from agentgym.actions import GRAMMARS
from agentgym.cli import main
from agentgym.core.later import read
from agentgym.core.tasks import Task, TaskList
from agentgym.envs.webshop.engine.goals import official_goals
from agentgym.envs.webshop.engine.reward import REWARDS
from agentgym.envs.webshop.engine.shop import Shop
from agentgym.envs.webshop.env import SPEAKING, WebShopEnv
from agentgym.envs.webshop.experts import EXPERTS, FALLIBLE
from agentgym.envs.webshop.experts.base import Expert
from agentgym.envs.webshop.generator import generate
from agentgym.envs.webshop.generator.writer import write
from agentgym.envs.webshop.official.files import locate
from agentgym.envs.webshop.tasks import listed_tasks
from agentgym.errors import ConfigurationError, DataError
from agentgym.rewards import parse_hooks
from tests.envs.webshop.conftest import INSTRUCTIONS, ITEMS, make_item

SMALL = {"size": 60, "difficulty": "easy"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "items_shuffle_1000.json").write_text(json.dumps(ITEMS))
    (tmp_path / "items_ins_v2_1000.json").write_text(json.dumps(INSTRUCTIONS))
    return tmp_path


VIEWS: tuple[dict[str, Any], ...] = (
    {"observation_mode": "text"},
    {"observation_mode": "text_rich"},
    {"observation_mode": "compact"},
    {"observation_mode": "compact", "results_per_page": 1},
    {"observation_mode": "compact", "results_per_page": 50, "highlights": True},
)


@pytest.mark.parametrize("difficulty", ["easy", "medium"])
@pytest.mark.parametrize(
    ("expert", "grammar"),
    # Those that speak write words before their actions, which is another text in other grammars.
    [pair for pair in product(EXPERTS, GRAMMARS) if pair[0] not in SPEAKING or pair[1] == "native"],
)
def test_plans_are_as_long_as_they_say_for_every_expert(
    expert: str, grammar: str, difficulty: str
) -> None:
    """In every mode and page size, and by every reward, one turn takes one from the length."""
    for view, reward in product(VIEWS, REWARDS):
        if expert in SPEAKING and view["observation_mode"] != "compact":
            continue
        env = gymnasium.make(
            "agentgym/WebShop-v0", size=60, difficulty=difficulty, expert=expert, reward=reward,
            grammar=grammar, horizon=200, disable_env_checker=True, **view,
        ).unwrapped  # fmt: skip
        assert isinstance(env, WebShopEnv)
        for index in range(4):
            _, info = env.reset(options={"split": "test", "index": index})
            turns_left = expected = info["oracle_turns"]
            assert turns_left is not None and turns_left >= 3
            assert turns_left == env.tasks.oracle_turns(env.task) or expert in FALLIBLE
            while not info["stop_reason"]:
                assert info["oracle_turns"] == turns_left
                _, paid, _, _, info = env.step(env.demonstrator().act("", info))
                turns_left -= 1
            assert info["turn"] == expected and info["oracle_turns"] == 0
            assert info["success"] == (paid == 1.0) == (info["details"]["reward"] == 1.0)
            assert info["success"] or expert in FALLIBLE


def test_the_careful_expert_judges_by_the_reward_that_pays() -> None:
    """The official reward reads "olive | tan" and "olive oil" as "olive", the strict does not."""
    options = {"Color": [{"value": value} for value in ("olive oil", "olive | tan")]}
    shop = Shop.build(
        [make_item(0, customization_options={"Color": [{"value": "olive oil"}]}),
         make_item(2, customization_options=options)],
        INSTRUCTIONS, lambda item: ("shoes",), goals=official_goals(INSTRUCTIONS, None),
    )  # fmt: skip
    goals = [g for g in shop.goals if g.goal_options == {"color": "olive | tan"}]
    tasks = [Task("x/0", "train", 0, goals[0].instruction_text, goals[0].to_content())]
    for reward in REWARDS:
        env = WebShopEnv(
            world=shop, tasks=TaskList("x", {"train": tasks}), expert="careful", reward=reward
        )
        _, info = env.reset()
        while not info["stop_reason"]:
            info = env.step(env.demonstrator().act("", info))[4]
        assert info["success"], reward


def test_the_sparse_reward_is_success() -> None:
    envs = [WebShopEnv(reward=reward, **SMALL) for reward in ("official", "sparse")]
    paid = set()
    for index in range(30):
        for env in envs:
            _, info = env.reset(options={"split": "test", "index": index})
            env.step(info["admissible_actions"][0])
            env.step(f"click[{env.session.hits()[0].lower()}]")
        (_, official, *_, full), (_, sparse, *_, info) = (e.step("click[buy now]") for e in envs)
        assert sparse == float(info["success"]) == float(official == 1.0)
        assert info["score"] == full["score"] == official
        assert info["details"] == full["details"]
        paid.add(official)
    assert len(paid) > 2
    env = envs[1]
    _, info = env.reset(seed=0)
    while not info["stop_reason"]:
        _, sparse, _, _, info = env.step(str(env.demonstrator_action()))
    assert sparse == 1.0 and info["success"]


@pytest.mark.parametrize("mode", ["text", "text_rich", "compact"])
def test_nothing_but_the_pages_shows_a_product_number(mode: str) -> None:
    env = WebShopEnv(observation_mode=mode, horizon=40, **SMALL)
    rng, asins = random.Random(0), [asin.lower() for asin in env.shop.products.asins]
    for index in range(60):
        _, info = env.reset(options={"split": "train", "index": index})
        for _ in range(12):
            on_offer = info.pop("admissible_actions")
            text = json.dumps([info, on_offer] if mode == "compact" else info).lower()
            assert not any(asin in text for asin in asins)
            _, _, _, _, info = env.step(rng.choice([a for a in on_offer if a != "click[buy now]"]))


def test_the_state_key_tells_nothing_of_the_answer(shop: Shop) -> None:
    """Two tasks with one id and one text, for different products, give the same keys."""
    keys = []
    for number in (0, 1):
        goal = replace(shop.goals[0], asin=shop.products.asins[number], attributes=(f"{number}",))
        tasks = [Task("x/0", "train", 0, goal.instruction_text, goal.to_content())]
        env = WebShopEnv(world=shop, tasks=TaskList("x", {"train": tasks}))
        state_keys = [env.reset()[1]["state_key"]]
        actions = ["search[lamps]", "click[next >]", "click[< prev]", "click[b000000003]",
                   "click[navy]", "click[small]", "click[features]", "click[< prev]"]  # fmt: skip
        state_keys += [env.step(action)[4]["state_key"] for action in actions]
        assert len(set(state_keys)) == len(state_keys) - 2, "two of the pages are seen twice"
        keys.append(state_keys)
    assert keys[0] == keys[1]


@pytest.mark.parametrize("mode", ["text", "text_rich"])
def test_the_original_grammar_is_kept(mode: str) -> None:
    env = WebShopEnv(observation_mode=mode, horizon=99, **SMALL)
    first, _ = env.reset(seed=0)
    for action in (" search[shirt]", "Search[shirt]", "search[]", "search [x]", "think[x]", "",
                   "search[a [b]]", "\nsearch[x]", "click[search]", "b\u00fcy [x]"):  # fmt: skip
        observation, _, _, _, info = env.step(action)
        assert observation == first and not info["action_valid"], action
    observation, _, _, _, info = env.step("search[shirt]] x")
    assert observation != first and info["action_valid"]


def test_admissible_actions_are_valid() -> None:
    for mode in ("text", "compact"):
        env = WebShopEnv(observation_mode=mode, horizon=200, **SMALL)
        _, info = env.reset(seed=1)
        for turn in range(60):
            if not info["admissible_actions"]:
                break
            actions = info["admissible_actions"]
            action = actions[(7 * turn + 1) % len(actions)]
            if action == "click[buy now]":
                action = actions[0]
            _, _, _, _, info = env.step(action)
            assert info["action_valid"], action


def test_copies_go_on_where_the_original_stands() -> None:
    env = WebShopEnv(observation_mode="compact", **SMALL)
    _, info = env.reset(seed=2)
    info = env.step(env.demonstrator().act("", info))[4]
    for clone in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert clone.shop is env.shop and clone.session is not env.session
        assert clone.session.state == env.session.state
        assert clone.step("click[1]")[0] == copy.deepcopy(env).step("click[1]")[0]
    assert len(pickle.dumps(env)) < 8000


def test_snapshots_restore_options_and_rewards() -> None:
    env = WebShopEnv(**SMALL)
    env.reset(seed=3)
    while read(env._oracle_turns()) != 1:
        action = env.demonstrator_action()
        assert action is not None
        env.step(action)
    saved = pickle.loads(pickle.dumps(env.snapshot()))
    first = env.step("click[buy now]")
    env.restore(saved)
    second = env.step("click[buy now]")
    assert first[:4] == second[:4] and first[4]["state_key"] == second[4]["state_key"]


def test_the_potential_is_the_reward_if_bought_now() -> None:
    env = WebShopEnv(**SMALL)
    env.reset(seed=4)
    assert env._potential() == 0.0
    while read(env._oracle_turns()) != 1:
        action = env.demonstrator_action()
        assert action is not None
        env.step(action)
    assert env._potential() == env.step("click[buy now]")[1] == 1.0


WRONG: tuple[Any, ...] = ("abc", 1.5, [1], {"a": 1}, {1}, b"x", object(), float("nan"))
NO_NUMBER = (*WRONG, True, -1)
NO_FLAG = (*WRONG, 0, 1, "true", None)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "size": (*NO_NUMBER, None, 19, 100_001), "generator_seed": (*NO_NUMBER, None),
    "difficulty": (*WRONG, None, 3, "Easy"), "num_products": (*NO_NUMBER, 0),
    "goals_per_product": (*NO_NUMBER, None, 0), "human_goals": NO_FLAG, "highlights": NO_FLAG,
    "show_score": NO_FLAG, "results_per_page": (*NO_NUMBER, 0, 51), "goal_mode": (*WRONG, None),
    "split_mode": (*WRONG, None), "observation_mode": (*WRONG, None), "reward": (*WRONG, None),
    "expert": (*WRONG, None), "data": (*WRONG[1:], "", 3), "nouns": (*WRONG, "", 3),
    "horizon": (*NO_NUMBER, None, 0), "world": (*WRONG,), "tasks": (*WRONG,),
}  # fmt: skip


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_of_the_wrong_kind_is_named(name: str, shop: Shop) -> None:
    arguments: dict[str, Any] = {}
    if name in ("world", "tasks"):
        arguments = {"world": shop, "tasks": listed_tasks("tiny", shop.goals)}
    if name == "results_per_page":
        arguments = {"observation_mode": "compact"}
    for value in ARGUMENTS[name]:
        with pytest.raises(ConfigurationError) as caught:
            WebShopEnv(**{**arguments, name: value})
        message = str(caught.value)
        assert name in message and "expected" in message and "got" in message, value
        assert name == "nouns" or repr(value)[:20] in message, value


def test_every_argument_is_in_the_table() -> None:
    parameters = {name for name in inspect.signature(WebShopEnv).parameters if name != "kwargs"}
    assert parameters == set(ARGUMENTS)


def test_numbers_of_numpy_are_numbers() -> None:
    env = WebShopEnv(size=np.int64(60), difficulty="easy", horizon=np.int32(9))
    assert env.shop is WebShopEnv(**SMALL).shop


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"observation_mode": "html"}, "text, text_rich, compact"),
        ({"results_per_page": 5}, "results_per_page"),
        ({"observation_mode": "compact", "results_per_page": 0}, "from 1 to 50"),
        ({"reward": "dense"}, "official, strict, sparse"),
        ({"goal_mode": "x"}, "goal_mode"),
        ({"split_mode": "official-index"}, "goal_mode='official'"),
        ({"human_goals": True}, "data"),
        ({"num_products": 0}, "num_products"),
        ({"num_products": 30}, "data"),
        ({"world": object()}, "world and tasks together"),
        ({"size": 1}, "size"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        WebShopEnv(**arguments)


def test_official_files(data: Path) -> None:
    env = WebShopEnv(data=str(data), observation_mode="compact")
    assert len(env.shop.products) == 24
    _, info = env.reset(seed=0)
    is_done = False
    while not is_done:
        _, reward, is_done, _, info = env.step(env.demonstrator().act("", info))
    assert reward == 1.0
    full = WebShopEnv(data=str(data), goal_mode="official", num_products=20)
    assert len(full.shop.products) == 20 and len(full.shop.goals) == 77
    with pytest.raises(DataError, match="items_human_ins"):
        WebShopEnv(data=str(data), goal_mode="official", human_goals=True)
    with pytest.raises(DataError, match="items_shuffle"):
        locate(data / "nowhere")


def test_given_worlds_travel_whole(shop: Shop) -> None:
    env = WebShopEnv(world=shop, tasks=listed_tasks("tiny", shop.goals))
    env.reset(seed=0)
    env.step("search[lamps]")
    clone = pickle.loads(pickle.dumps(env))
    assert clone.step("click[next >]")[:4] == env.step("click[next >]")[:4]


def test_nouns_can_be_injected(tmp_path: Path) -> None:
    shop = generate(40, "easy", 5)
    write(shop, tmp_path)
    asin, other_asin = shop.asin(0), shop.asin(1)
    table = {asin: ["zebra", "stripes"]}
    plain_path, packed = tmp_path / "nouns.json", tmp_path / "nouns_by_asin.json.gz"
    plain_path.write_text(json.dumps(table))
    packed.write_bytes(gzip.compress(json.dumps({"note": "x", "nouns": table}).encode()))

    def make(nouns: Any) -> WebShopEnv:
        env = gymnasium.make("agentgym/WebShop-v0", data=str(tmp_path), nouns=nouns).unwrapped
        assert isinstance(env, WebShopEnv)
        return env

    envs = [make(nouns) for nouns in (table, str(plain_path), packed)]
    assert len({id(env.shop) for env in envs}) == 1
    builtin = make(None).shop
    assert envs[0].shop.products[asin].nouns == ("zebra", "stripes") != builtin.products[asin].nouns
    assert envs[0].shop.products[other_asin].nouns == builtin.products[other_asin].nouns
    envs[0].reset(seed=0)
    assert pickle.loads(pickle.dumps(envs[0])).shop is envs[0].shop
    assert make({asin: ["lion"]}).shop.products[asin].nouns == ("lion",)
    generated = WebShopEnv(nouns={"unknown": ["x"]}, **SMALL)  # type: ignore[arg-type]
    assert generated.shop is not WebShopEnv(**SMALL).shop
    with pytest.raises(DataError, match="JSON file"):
        make("missing.json")


def test_a_person_plays_with_pages_of_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for settings, expected in (
        ((), "[button]"),
        (("--env-kwargs", "observation_mode=text"), "[SEP]"),
    ):
        monkeypatch.setattr(sys, "stdin", io.StringIO("1\n"))
        assert main(["play", "webshop", "--env-kwargs", "size=60", *settings]) == 0
        assert expected in capsys.readouterr().out


def test_the_expert_is_asked_once_a_state_and_only_if_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    questions: list[str] = []
    expert_next = Expert._next

    def count(self: Expert, goal: Any, state: Any, size: int) -> Any:
        questions.append(state.page)
        return expert_next(self, goal, state, size)

    monkeypatch.setattr(Expert, "_next", count)
    hooks = parse_hooks(["success_bonus", "invalid_action"])
    # Gymnasium's checker reads the first three infos.
    env = gymnasium.make("agentgym/WebShop-v0", reward_hooks=hooks, disable_env_checker=True)
    infos = [env.reset(seed=0)[1]]
    infos += [env.step(action)[4] for action in ("search[red shoes]", "click[back to search]", "x")]
    assert questions == []
    turns = [info["oracle_turns"] for info in infos + infos]
    assert len(questions) == len(infos) and turns == [info["oracle_turns"] for info in infos] * 2
