"""Summaries in any environment: when they are demanded, what they replace, and what they cost."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import pytest

from agentgym.actions import GRAMMARS
from agentgym.conversation import BARE, Conversation, Prompt, SeenTurn
from agentgym.core.summaries import DEMAND, DONE
from agentgym.episodes import Recorder, read_episodes, replay
from agentgym.episodes.chats import ChatOptions, ChatWriter
from agentgym.errors import ConfigurationError
from agentgym.policies.basic import CallablePolicy
from agentgym.policies.play import play
from tests.core.test_delegation import walk
from tests.core.test_notes_and_tries import Safe
from tests.toy import TOY_ID, ToyEnv

TASK = {"split": "train", "index": 3}
PRESSES = ("press red", "press blue", "press gold", "press green")


def test_after_so_many_turns_nothing_but_a_summary_is_carried_out() -> None:
    env = ToyEnv(summary_every=2, horizon=20)
    env.reset(options=TASK)
    turns = walk(env, "press red", "press blue", "press gold", "summarise", "summarise two done")
    texts, infos = zip(*turns, strict=True)
    assert DEMAND not in texts[0] and texts[1].endswith(f"\n\n{DEMAND}")
    assert texts[2] == f"invalid: {DEMAND}" and texts[3] == "invalid: write words behind summarise"
    # What the environment said last stands once more below the summary.
    assert texts[4] == texts[1].replace(DEMAND, DONE)
    assert [info["forgets"] for info in infos] == [False] * 4 + [True]
    assert [info["action_valid"] for info in infos] == [True, True, False, False, True]
    assert not walk(env, "press red")[0][1]["forgets"]


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_a_summary_can_be_written_at_any_time_in_every_grammar(grammar: str) -> None:
    env = ToyEnv(summary_every=5, grammar=grammar)
    opening, info = env.reset(options=TASK)
    assert {tool["function"]["name"] for tool in info["tools"]} == {"press", "summarise"}
    text, info = walk(env, env.spoken.write("summarise nothing yet"))[0]
    assert info["forgets"] and info["action_valid"] and text == f"{opening}\n\n{DONE}"


@pytest.mark.parametrize(("every", "notes"), [(1, 0), (2, 0), (3, 2), (7, 0)])
def test_the_expert_summarises_and_foresees_its_turns(every: int, notes: int) -> None:
    env = ToyEnv(summary_every=every, notes=notes, horizon=40)
    for index in range(6):
        _, info = env.reset(options={"split": "train", "index": index})
        left, count = info["oracle_turns"], 0
        while not info["stop_reason"]:
            assert info["oracle_turns"] == left - count
            info = env.step(env.oracle_action())[4]
            count += 1
        assert info["success"] and count == left


def test_later_prompts_hold_the_first_observation_the_summary_and_what_follows() -> None:
    conversation = Conversation(Prompt(BARE), "a goal")
    turn = SeenTurn("start")
    for number, action in enumerate(("a", "b", "summarise a and b", "c", "d"), 1):
        conversation.add(turn, action)
        turn = SeenTurn(f"result {number}", forgets=action.startswith("summarise"))
        contents = [message["content"] for message in conversation.messages(turn)]
        if number < 3:
            assert contents[:3] == ["start", "a", "result 1"]
        else:
            assert contents[:3] == ["start", "summarise a and b", "result 3"]
            assert len(contents) == 1 + 2 * (number - 2)
    assert len(conversation) == 5


def test_a_policy_that_knows_its_summary_alone_opens_a_safe() -> None:
    def act(messages: list[dict[str, str]]) -> str:
        """Read the code in the summary, as the middle of the conversation is gone."""
        newest = messages[-1]["content"]
        if DEMAND in newest:
            return "summarise the code was " + messages[0]["content"].split()[-1]
        is_there = newest.startswith("a safe")
        return f"dial {messages[1]['content'].split()[-1]}" if is_there else "walk"

    env = Safe(summary_every=3, horizon=8)
    for index in range(8):
        observation, info = env.reset(seed=index, options={"split": "train", "index": index})
        conversation = Conversation(Prompt(BARE), info["goal"])
        turn = SeenTurn.of(observation, info)
        while not info["stop_reason"]:
            action = act(conversation.messages(turn))
            conversation.add(turn, action)
            observation, _, _, _, info = env.step(action)
            turn = SeenTurn.of(observation, info)
        assert info["success"]


def test_an_episode_forks_and_its_state_counts_the_turns() -> None:
    env, twin = ToyEnv(summary_every=2, horizon=20), ToyEnv(summary_every=2, horizon=20)
    _, info = env.reset(options=TASK)
    pressed = walk(env, "press white")[0][1]
    assert pressed["state_key"] != info["state_key"]
    twin.restore(env.snapshot())
    actions = ("press red", "summarise x", "press blue")
    assert walk(twin, *actions) == walk(env, *actions)


def test_records_say_where_a_summary_was_and_exports_show_what_was_seen(tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    env = Recorder(gymnasium.make(TOY_ID, summary_every=2, horizon=20), file)
    expert = CallablePolicy(lambda observation, info: env.unwrapped.oracle_action())
    list(play(expert, env, seed=0, options=TASK))
    env.close()
    (episode,) = read_episodes(file)
    assert replay(episode).equal
    summaries = [turn for turn in episode.turns if turn.after.forgets]
    assert summaries and all(turn.executed.startswith("summarise done:") for turn in summaries)
    with pytest.raises(ConfigurationError, match="--rows turn"):
        ChatWriter(ChatOptions(shape="episode")).rows(episode)
    rows = ChatWriter(ChatOptions(shape="turn")).rows(episode)
    for row, before in zip(rows[1:], episode.turns, strict=False):
        if before.after.forgets:
            assert len([m for m in row["prompt"] if m["role"] == "assistant"]) == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"summary_every": -1}, "summary_every"), ({"summary_every": 1001}, "summary_every"),
        ({"summary_every": 3, "worker_turns": 3}, "summary_every or worker_turns"),
    ],
)  # fmt: skip
def test_other_values_are_one_sentence(arguments: dict[str, int], expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        ToyEnv(**arguments)


def test_with_further_tries_the_demand_stays() -> None:
    env = Safe(summary_every=2, tries=2)
    env.reset(seed=1)
    observed = [env.step(text)[0] for text in ("dial 1", "walk", "walk")]
    assert "try 1 of 2 ended" in observed[0] and observed[1].endswith(DEMAND)
    assert observed[2] == f"invalid: {DEMAND}"
