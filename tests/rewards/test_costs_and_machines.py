"""Costs with limits and prices, and reward machines: through environments, reports and training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.cli import main
from agentgym.core.hooks import Cost
from agentgym.episodes import read_episodes, replay
from agentgym.episodes.replay import rescored
from agentgym.episodes.table_rows import from_row, to_row
from agentgym.errors import ConfigurationError
from agentgym.rewards import Calls, Needless, RewardMachine, ShapedReward, parse_hooks
from tests.toy import TOY_ID, ToyEnv

TASK = {"split": "train", "index": 3}
TOY = f"tests.toy:{TOY_ID}"
RULES = """
start = "outside"
[facts]
first = {observation = "click*"}
pressed = {action = "press *", valid = true}
solved = {success = true, score = 1.0, details = {}}
[[transitions]]
from = "outside"
to = "inside"
when = ["first"]
reward = 0.25
[[transitions]]
from = "inside"
to = "end"
when = ["pressed", "not first"]
reward = -0.5
[[transitions]]
from = "inside"
to = "end"
when = ["solved"]
"""


def episode(env: Any, *actions: str, **options: Any) -> list[dict[str, Any]]:
    env.reset(options={**TASK, **options})
    return [env.step(action)[4] for action in actions]


# -- costs -----------------------------------------------------------------------------------------


def test_each_cost_counts_what_it_says_and_takes_its_price():
    hooks = parse_hooks(
        ["calls=3:action=press*d", "needless:price=0.5", "forbidden:action=*rm*,price=2",
         "characters"]
    )  # fmt: skip
    env = ToyEnv(reward_hooks=hooks, horizon=9)
    buttons = episode(env) or env.task.content["buttons"]
    wrong_colour = next(c for c in ("red", "blue", "green", "gold") if c != buttons[0])
    infos = episode(env, "press red", f"press {buttons[0]}", f"press {wrong_colour}x", "rm -rf /")
    amounts = [{name: cost["amount"] for name, cost in info["costs"].items()} for info in infos]
    assert buttons[:2] == ["red", "green"]
    assert [turn["calls"] for turn in amounts] == [1.0, 1.0, 0.0, 0.0]
    assert [turn["forbidden"] for turn in amounts] == [0.0, 0.0, 0.0, 1.0]
    assert [turn["needless"] for turn in amounts] == [0.0, 1.0, 1.0, 1.0]
    assert [turn["characters"] for turn in amounts][3] == 8.0
    assert infos[0]["costs"]["calls"]["limit"] == 3.0
    assert infos[0]["costs"]["needless"]["limit"] is None
    terms = infos[3]["reward_terms"]
    assert (terms["needless"], terms["forbidden"], terms["calls"]) == (-0.5, -2.0, 0.0)


def test_prices_of_an_episode_go_before_those_of_hooks_also_after_a_fork():
    env = ToyEnv(reward_hooks=[Calls(limit=1, price=0.1)])
    (info,) = episode(env, "press red", prices={"calls": 0.75})
    assert info["reward_terms"]["calls"] == -0.75
    state = env.snapshot()
    assert episode(env, "press red")[0]["reward_terms"]["calls"] == -0.1
    env.restore(state)
    assert env.step("press blue")[4]["reward_terms"]["calls"] == -0.75
    shaped = ShapedReward(ToyEnv(reward_hooks=[Calls()]), [Needless()])
    (info,) = episode(shaped, "hm", prices={"needless": 2.0, "calls": 1.0})
    assert info["reward_terms"]["needless"] == -2.0 and set(info["costs"]) == {"calls", "needless"}


@pytest.mark.parametrize(
    "prices", [{"calls": -1.0}, {"calls": float("inf")}, {3: 1.0}, "calls", {"calls": 10**400}]
)
def test_unfit_prices_are_refused(prices):
    with pytest.raises(ConfigurationError, match="prices"):
        episode(ToyEnv(reward_hooks=[Calls()]), "press red", prices=prices)


def test_reports_and_records_tell_what_was_used_and_who_was_above_the_limit(tmp_path, capsys):
    flags = [
        "eval",
        TOY,
        "--policy",
        "random",
        "--num-tasks",
        "12",
        "--no-scale",
        "--out",
        str(tmp_path),
    ]
    assert main([*flags, "--reward-hooks", "needless=2", "calls"]) == 0
    printed = capsys.readouterr().out
    (report,) = (json.loads(f.read_text()) for f in tmp_path.rglob("report.json"))
    costs = report["costs"]
    amounts = [row["costs"]["needless"]["amount"] for row in report["rows"]]
    assert costs["needless"]["mean"] == pytest.approx(sum(amounts) / 12)
    assert costs["needless"]["above"] == sum(amount > 2 for amount in amounts) / 12 > 0
    assert costs["needless"]["most"] == max(amounts) and costs["calls"]["above"] is None
    assert f"{costs['needless']['above']:.1%} above 2" in printed
    episodes = list(read_episodes(next(tmp_path.rglob("episodes.jsonl"))))
    assert episodes[0].turns[0].costs["needless"].limit == 2.0
    assert all(replay(record).equal for record in episodes[:3])
    assert from_row(to_row(episodes[0])) == episodes[0]
    # The same command again reads the same off the records.
    assert main([*flags, "--reward-hooks", "needless=2", "calls"]) == 0
    assert json.loads(next(tmp_path.rglob("report.json")).read_text())["costs"] == costs


def test_a_record_is_rescored_under_a_cost(tmp_path):
    agentgym.evaluate("random", TOY, num_tasks=1, out=tmp_path)
    (record,) = read_episodes(tmp_path / "episodes.jsonl")
    paid = rescored(record, [Calls(limit=1, price=0.5)])
    assert [turn.costs["calls"] for turn in paid] == [
        Cost(float(turn.action_valid), 1.0) for turn in record.turns
    ]


# -- reward machines -------------------------------------------------------------------------------


def test_a_reward_machine_pays_for_what_is_done_in_order(tmp_path: Path):
    file = tmp_path / "rules.toml"
    file.write_text(RULES)
    (hook,) = parse_hooks([f"machine:rules={file}"])
    env = ToyEnv(reward_hooks=[hook], horizon=20)
    episode(env)
    first, *_ = env.task.content["buttons"]
    wrong_colour = next(c for c in ("red", "blue", "green", "gold") if c != first)
    infos = episode(env, f"press {wrong_colour}", f"press {first}", "hm")
    assert [info["reward_terms"]["machine"] for info in infos] == [0.0, 0.25, 0.0]
    state = env.snapshot()
    answer, *_, info = env.step(f"press {env.task.content['buttons'][1]}")
    assert info["reward_terms"]["machine"] == (0.0 if answer.startswith("click") else -0.5)
    env.restore(state)
    env.reset(options=TASK)
    assert env.step(f"press {first}")[4]["reward_terms"]["machine"] == 0.25
    # A record holds the rules, and needs no file.
    file.unlink()
    agentgym.evaluate(
        "random", TOY, num_tasks=2, out=tmp_path / "e", env_kwargs={"reward_hooks": [hook]}
    )
    assert all(replay(record).equal for record in read_episodes(tmp_path / "e" / "episodes.jsonl"))


def test_hooks_that_remember_a_try_begin_anew_with_the_next():
    hooks = [RewardMachine(RULES), *parse_hooks(["tool_bonus=0.1", "calls=2:price=0.5"])]
    env = ToyEnv(reward_hooks=hooks, horizon=5, tries=2)
    episode(env)
    buttons = env.task.content["buttons"]
    assert len(buttons) == 5
    first = episode(env, *(f"press {button}" for button in [*buttons[:4], "nothing"]))
    machine = [info["reward_terms"]["machine"] for info in first]
    assert machine == [0.25, 0.0, 0.0, 0.0, -0.25] and first[-1]["try"] == 2
    retry = [env.step(f"press {button}")[4] for button in buttons]
    assert retry[0]["reward_terms"]["machine"] == 0.25 and retry[-1]["success"]
    assert retry[-1]["reward_terms"]["tool_bonus"] == pytest.approx(0.4)
    # What is spent stays spent.
    assert sum(info["reward_terms"]["calls"] for info in [*first, *retry]) == -0.5 * 9


def test_a_machine_that_asks_for_details_needs_an_environment_that_reports_them(tmp_path: Path):
    hook = RewardMachine(RULES.replace("details = {}", "details = {smell = 1}"))
    assert hook.needs == ("smell",)
    with pytest.raises(ConfigurationError, match=r"needs info.*smell"):
        ToyEnv(reward_hooks=[hook])
    # A record holds the details of the last turn alone.
    agentgym.evaluate("random", TOY, num_tasks=1, out=tmp_path)
    (record,) = read_episodes(tmp_path / "episodes.jsonl")
    with pytest.raises(ConfigurationError, match="expected env= for machine"):
        rescored(record, [hook])


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("", "start"),
        ("start = 3", "start"),
        ("[[[", "TOML"),
        (RULES.replace("observation", "smell"), "facts that say"),
        (RULES.replace('"click*"', "3"), "facts that say"),
        (RULES.replace('["first"]', '["second"]'), "transitions with"),
        (RULES.replace("0.25", "nan"), "transitions with"),
        (RULES.replace('to = "inside"', "to = 1"), "transitions with"),
        (RULES.replace('to = "inside"', 'to = "insides"'), "some from inside"),
    ],
)
def test_rules_that_are_none_are_refused(rules, message):
    with pytest.raises(ConfigurationError, match=message):
        RewardMachine(rules)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        parse_hooks(["machine:rules=/nowhere.toml"])
