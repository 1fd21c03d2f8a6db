"""Planner and workers in one environment: who acts, what each reads, and what hostile text does."""

from __future__ import annotations

import json
import pickle
from typing import Any

import gymnasium
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentgym.actions import GRAMMARS, ActionSpec
from agentgym.conversation import DEFAULT, EpisodeConversation, Prompt, SeenTurn
from agentgym.core.delegation import DELEGATE, PLANNER, REPORT
from agentgym.core.env import TextEnv
from agentgym.core.extension import LONGEST, read_order
from agentgym.core.extensions import ExtendedLanguage, Extensions
from agentgym.core.language import ACTION_LENGTH, Language
from agentgym.errors import ConfigurationError
from agentgym.interop.dialogue import Dialogue
from agentgym.interop.trl import TrlTasks
from agentgym.policies.play import play
from agentgym.registration.making import make_env
from agentgym.rewards import parse_hooks
from tests.envs.swe.boxed import needs_box
from tests.toy import TOY_ID, ToyEnv

TASK = {"split": "train", "index": 3}
ORDERS = (DELEGATE, REPORT)
WORKERS = Extensions.of(worker_turns=3)
LANGUAGES = {g: ExtendedLanguage(Language(ToyEnv.action_specs, g), WORKERS) for g in GRAMMARS}
WORDS = st.text(st.sampled_from("abc xyz,.-'\u00e9\u4e2d"), min_size=1, max_size=60).filter(
    str.strip
)


def walk(env: TextEnv, *actions: str) -> list[tuple[str, dict[str, Any]]]:
    """What each of some actions led to."""
    steps = []
    for action in actions:
        observation, _, _, _, info = env.step(action)
        steps.append((observation, info))
    return steps


# -- the grammar of orders -------------------------------------------------------------------------


@given(WORDS.filter(str.strip), st.sampled_from(GRAMMARS), st.sampled_from(("delegate", "report")))
@settings(max_examples=60, deadline=None)
def test_an_order_is_read_as_it_was_written(words, grammar, name):
    language, native = LANGUAGES[grammar], f"{name} {' '.join(words.split())}"
    reading = language.read(language.write(native))
    assert (reading.native, reading.problem) == (native, "")
    assert language.read(language.write("press red")).native == "press red"


@given(
    st.text(max_size=200), st.sampled_from(GRAMMARS), st.sampled_from(("", "delegate ", "report\n"))
)
@example("\x00\ud800" * 9000, "native", "delegate ")
@example("<delegate>" * 5000, "xml", "")
@example(" \n" * 9000, "native", "report ")
@settings(max_examples=60, deadline=None)
def test_no_text_raises_and_what_is_passed_on_is_short(text, grammar, head):
    language = LANGUAGES[grammar]
    reading = language.read(head + text)
    assert len(reading.native) <= ACTION_LENGTH
    order = read_order(reading.native, ORDERS)
    if order is None:
        inner = Language(ToyEnv.action_specs, grammar).read(head + text)
        assert (reading.native, bool(reading.problem)) == (inner.native, bool(inner.problem))
    else:
        assert len(order.text) <= LONGEST and "\n" not in order.text


@pytest.mark.parametrize(
    "text", ["cat <<E\nreport all\nE", "delegated", "reports red", "press red"]
)
def test_a_word_inside_of_an_action_is_no_order(text):
    assert read_order(text, ORDERS) is None and LANGUAGES["native"].read(text).native == text


@pytest.mark.parametrize(
    ("grammar", "text", "native"),
    [
        ("xml", "<press>red</press> <report>done</report>", "press red"),
        ("xml", "<press>a <report>done</report></press>", ""),  # for the family to refuse
        ("react", "Action: press red\nAction: report done", "press red"),
        ("action_tag", "<action>press report done</action>", "press report done"),
    ],
)
def test_an_order_behind_or_inside_of_another_action_is_none(grammar, text, native):
    assert LANGUAGES[grammar].read(text).native == native


def test_what_an_agent_is_told_to_do_can_be_encoded():
    env = ToyEnv(worker_turns=3)
    env.reset(options=TASK)
    ((_, info),) = walk(env, "delegate \ud800 go")
    assert (info["agent_task"], env.last_action) == ("? go", "delegate ? go")


def test_hooks_that_read_details_find_them_in_every_turn():
    # An order is no search and no answer, and breaks no format.
    hooks = parse_hooks(["format", "search_cost", "no_search_penalty", "retrieval_hit"])
    env = make_env(
        "agentgym/Search-v0",
        {"worker_turns": 2, "size": 200, "reward_hooks": hooks},
        "--env-kwargs",
    )
    env.reset(seed=0)
    (_, first), (_, refused), (_, cut) = walk(env, "delegate find it", "delegate on", "report no")
    for info in (first, refused, cut):
        assert set(info["details"]) == set(env.reported_details())
        assert sum(info["reward_terms"].values()) == 0 and not info["details"]["searched"]
    assert not refused["action_valid"] and first["details"]["format_ok"]
    moments = list(play(env.oracle(), env, options={"split": "test", "index": 0}))
    assert moments[-1].info["reward_terms"]["format"] == 0.2
    env.close()


def test_thinking_orders_nothing():
    reading = LANGUAGES["native"].read("<think>delegate press red</think>report done")
    assert reading.native == "report done"


def test_a_family_with_such_an_action_is_refused_by_name():
    class Press(ToyEnv):
        action_specs = (ActionSpec("report", "Tell the press."),)

    with pytest.raises(ConfigurationError, match="without its own action named report"):
        Press(worker_turns=3).reset(seed=0)


@pytest.mark.parametrize("turns", [1, -1, True, "4"])
def test_a_worker_needs_a_turn_to_act_and_one_to_report(turns):
    with pytest.raises(ConfigurationError, match="worker_turns"):
        ToyEnv(worker_turns=turns)


# -- who acts, and what it reads -------------------------------------------------------------------


def test_a_worker_acts_in_the_planners_place_until_it_reports():
    env = ToyEnv(worker_turns=3, horizon=20)
    opening, info = env.reset(options=TASK)
    buttons = env.task.content["buttons"]
    assert (info["agent"], info["agent_task"]) == (PLANNER, info["goal"])
    assert {tool["function"]["name"] for tool in info["tools"]} == {"press", "delegate", "report"}
    assert "delegate" in env.action_prompt()
    (task_text, info), (after_walk, later), (report_text, last) = walk(
        env, "delegate  press the\nfirst ", f"press {buttons[0]}", "report it is pressed"
    )
    assert task_text == f"you are worker 1 . your task: press the first\n\n{opening}"
    assert (info["agent"], info["agent_task"]) == ("worker 1", "press the first")
    assert later["agent"] == "worker 1" and "reports" not in after_walk
    assert report_text == "worker 1 reports: it is pressed"
    assert (last["agent"], last["turn"], last["agent_task"]) == (PLANNER, 3, last_goal(env))
    keys = [turn_info["state_key"] for turn_info in (info, later, last)]
    assert len(set(keys)) == 3  # the same world, read by another agent, is another state
    # The next worker reads what the environment said last, not what the planner read last.
    ((task_text, info),) = walk(env, "delegate go on")
    assert task_text.endswith(f"\n\n{after_walk}") and info["agent"] == "worker 2"
    assert walk(env, "press none", "hm", "press red")[-1][0] == "worker 2 ended without a report"
    assert json.loads(json.dumps(dict(info)))["agent"] == "worker 2"


def last_goal(env: TextEnv) -> str:
    return env.task.goal


def test_what_an_agent_may_not_order_is_refused_and_costs_a_turn():
    env = ToyEnv(worker_turns=4, horizon=20)
    env.reset(options=TASK)
    refused = walk(env, "report done", "delegate", "delegate go", "delegate go on", "report")
    assert [info["action_valid"] for _, info in refused] == [False, False, True, False, False]
    assert "only a worker can report" in refused[0][0] and "write words" in refused[1][0]
    assert "a worker cannot delegate" in refused[3][0]
    assert [info["turn"] for _, info in refused] == [1, 2, 3, 4, 5]
    assert all(sum(info["reward_terms"].values()) == 0 for _, info in refused)


def test_without_workers_an_order_is_any_other_text():
    env = ToyEnv()
    _, info = env.reset(options=TASK)
    assert "agent" not in info and env.spoken is env.language
    assert walk(env, "delegate press red")[0][0] == "invalid: no such button"


def test_a_fork_goes_on_with_the_same_worker():
    env = ToyEnv(worker_turns=3, horizon=20)
    env.reset(options=TASK)
    buttons = env.task.content["buttons"]
    walk(env, "delegate both", f"press {buttons[0]}")
    state = pickle.loads(pickle.dumps(env.snapshot()))
    actions = ["hm", "press red", "delegate more", "report x"]
    ahead = walk(env, *actions)
    twin = ToyEnv(worker_turns=3)
    twin.reset(options={"split": "valid", "index": 0})
    twin.restore(state)
    assert [(o, dict(i)) for o, i in walk(twin, *actions)] == [(o, dict(i)) for o, i in ahead]
    with pytest.raises(ConfigurationError, match="made like this"):
        ToyEnv(worker_turns=4).restore(state)


def test_a_policy_gets_its_agents_own_messages():
    env = ToyEnv(worker_turns=3, horizon=4)
    actions = iter(["delegate go", "press red", "report done", "press red"])

    class Talker:
        """Reads what chat models and local ones read."""

        def reset(self, observation: str, info: dict[str, Any]) -> None:
            self.talk, self.read = EpisodeConversation(Prompt.at(env, DEFAULT)), []

        def act(self, observation: str, info: dict[str, Any]) -> str:
            turn, action = SeenTurn.of(observation, info), next(actions)
            self.read.append(len(self.talk.messages(turn)))
            self.talk.add(turn, action)
            return action

    player = Talker()
    assert len(list(play(player, env, options=TASK))) == 5
    assert player.read == [2, 2, 4, 4]  # planner, worker, worker, and the planner again


# -- the expert ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env_id", "grammar", "turns"),
    [
        (TOY_ID, "xml", 2),
        (TOY_ID, "native", 4),
        ("agentgym/ALFWorld-v0", "native", 4),
        ("agentgym/Search-v0", "native", 2),
        pytest.param("agentgym/SWE-v0", "tool_call", 3, marks=needs_box),
        ("agentgym/TextWorld-v0", "react", 3),
        ("agentgym/WebShop-v0", "action_tag", 2),
    ],
)
def test_the_expert_of_every_family_delegates_and_its_plan_is_as_long_as_it_says(
    env_id, grammar, turns
):
    env = make_env(
        env_id, {"worker_turns": turns, "grammar": grammar, "horizon": 300}, "--env-kwargs"
    )
    moments = list(play(env.oracle(), env, options={"split": "test", "index": 1}))
    env.close()
    assert moments[-1].info["success"] and moments[-1].terminated
    assert [m.info["oracle_turns"] for m in moments] == [*range(len(moments) - 1, 0, -1), 0]
    agents = [m.info["agent"] for m in moments[:-1]]
    assert agents[0] == PLANNER and agents[1] == "worker 1"
    shares = [agents.count(name) for name in set(agents) - {PLANNER}]
    assert max(shares) <= turns and all(m.info["action_valid"] for m in moments)


def test_a_loop_with_one_list_of_messages_refuses_workers():
    with pytest.raises(ConfigurationError, match="worker_turns=0 here"):
        TrlTasks(f"tests.toy:{TOY_ID}", num_tasks=1, worker_turns=3)
    talk = Dialogue(f"tests.toy:{TOY_ID}", kwargs={"worker_turns": 3, "horizon": 9})
    with pytest.raises(ConfigurationError, match="worker_turns=0 here"):
        talk.require_one_agent()
    # One that asks for all messages anew gets those of the agent that acts.
    opening = talk.reset(talk.draw("train", 1, 0)[0])
    talk.step("press red")
    talk.step("delegate go on")
    worker = talk.messages()
    assert len(worker) == len(opening) == 2 and "your task: go on" in worker[-1]["content"]
    talk.step("report done")
    assert len(talk.messages()) == 6
    talk.close()


def test_gymnasium_makes_such_an_environment():
    env = gymnasium.make(TOY_ID, worker_turns=3)
    _, info = env.reset(seed=1)
    assert info["agent"] == PLANNER
    env.close()
