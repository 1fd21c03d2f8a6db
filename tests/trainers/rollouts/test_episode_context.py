"""Several agents in one episode: each reads its own conversation, and begins rows of its own."""

from __future__ import annotations

import numpy as np

from agentgym.conversation import DEFAULT, Conversation, Prompt, SeenTurn
from agentgym.episodes import Episode, RecordedState, Turn
from agentgym.episodes.chats import ChatOptions, ChatWriter
from agentgym.policies.basic import CallablePolicy
from tests.toy import TOY_ID, ToyEnv
from tests.trainers import tiny_policy
from trainers.algorithms.presets import get_preset
from trainers.grpo.advantages import assign_credit, loss_columns
from trainers.rollouts.expert_demonstrations import encode, play
from trainers.rollouts.trajectory import to_rows

PLAN = (
    "press red", "delegate press two", "press blue", "report done", "press gold", "delegate rest",
    "press red", "report x",
)  # fmt: skip
OWNERS = (
    "planner",
    "planner",
    "worker 1",
    "worker 1",
    "planner",
    "planner",
    "worker 2",
    "worker 2",
)


def play_scripted(actions=PLAN, turns=3):
    """A scripted episode, as text."""
    env, script = ToyEnv(worker_turns=turns, horizon=len(actions)), iter(actions)
    player = CallablePolicy(lambda observation, info: next(script))
    return play(env, {"split": "train", "index": 3}, player)


def test_each_change_of_the_agent_begins_a_row_with_its_own_conversation():
    chat = tiny_policy.chat()
    episode = play_scripted()
    prompt = Prompt.at(ToyEnv(worker_turns=3), DEFAULT)
    (trajectory,) = encode([episode], chat, prompt)
    rows = to_rows([trajectory])
    assert [turn.fresh for turn in trajectory.turns] == [
        index == 0 or OWNERS[index] != OWNERS[index - 1] for index in range(len(PLAN))
    ]
    assert len(rows) == 4  # planner, worker 1, planner, worker 2
    worker = Conversation(prompt, "press two").messages(episode.turns[1].seen_turn)
    assert rows[1].ids[: rows[1].prompt_length] == chat.start(worker)
    # The planner goes on where it was: its tokens stay as they were sampled, the report follows.
    assert rows[2].ids[: len(rows[0].ids)] == rows[0].ids
    report = chat.observe("worker 1 reports: done")
    assert trajectory.turns[4].context == [*rows[0].ids, *report]
    sampled = [i for row in rows for i, m in zip(row.ids, row.mask, strict=True) if m]
    assert sampled == [token for turn in trajectory.turns for token in turn.ids]


def scored(actions, solved, number):
    (trajectory,) = encode(
        [play_scripted(actions)], tiny_policy.chat(), Prompt.at(ToyEnv(worker_turns=3))
    )
    trajectory.number = number
    trajectory.turns[-1].reward = float(solved)
    trajectory.stop_reason = "success" if solved else "horizon"
    return trajectory


def test_all_rows_of_an_episode_have_its_advantage_and_episodes_weigh_alike():
    delegating = scored((*PLAN, "delegate last", "press red", "report y"), True, 0)
    siblings = [scored(PLAN[:2], False, 1), scored(PLAN[:4], False, 2), scored(PLAN[:1], True, 3)]
    group = [delegating, *siblings]
    assert [len(to_rows([trajectory])) for trajectory in group] == [6, 1, 2, 1]
    preset = get_preset("matpo")
    credit = assign_credit(group, preset)
    columns = loss_columns(credit, preset.loss, several_updates=False)
    ends = np.cumsum([trajectory.action_tokens for trajectory in group])[:-1]
    returns = np.array([1.0, 0.0, 0.0, 1.0])
    expected = (returns - returns.mean()) / (returns.std(ddof=1) + 1e-6)
    for advantages, number in zip(np.split(columns["advantages"], ends), expected, strict=True):
        np.testing.assert_allclose(advantages, number, rtol=1e-9)
    weights = [part.sum() for part in np.split(columns["token_weights"], ends)]
    np.testing.assert_allclose(weights, weights[0])


def recorded(actions=PLAN) -> Episode:
    """The same episode as a record."""
    episode = play_scripted(actions)

    def state(turn) -> RecordedState:
        observation = turn.observation
        return RecordedState(observation, 0, 0, observation, None, turn.agent, turn.agent_task)

    first = SeenTurn.of(episode.observation, episode.info)
    turns = tuple(
        Turn(
            turn.action,
            turn.action,
            state(turn.seen_turn),
            0.0,
            {},
            turn.valid,
            False,
            False,
            False,
        )
        for turn in episode.turns
    )
    return Episode(
        TOY_ID, {"worker_turns": 3}, episode.info["task_id"], "train", episode.info["goal"], 0,
        None, {"horizon": len(actions)}, state(first), turns, "horizon",
    )  # fmt: skip


def test_an_export_has_a_conversation_for_each_agent():
    episode = Episode.from_line(recorded().to_line())
    planner, *workers = ChatWriter(ChatOptions()).rows(episode)
    actions = [
        [m["content"] for m in row["messages"] if m["role"] == "assistant"]
        for row in (planner, *workers)
    ]
    assert actions == [
        ["press red", "delegate press two", "press gold", "delegate rest"],
        ["press blue", "report done"],
        ["press red", "report x"],
    ]
    users = [m["content"] for m in planner["messages"] if m["role"] == "user"]
    assert users[2] == "worker 1 reports: done"
    by_turn = ChatWriter(ChatOptions(shape="turn")).rows(episode)
    assert [row["completion"][0]["content"] for row in by_turn] == list(PLAN)
    assert [len(row["prompt"]) for row in by_turn] == [2, 4, 2, 4, 6, 8, 2, 4]
