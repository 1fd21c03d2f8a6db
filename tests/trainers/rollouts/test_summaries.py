"""Summaries in training: every row holds what the model read and wrote, and no turn is lost."""

from __future__ import annotations

import pytest

from agentgym.conversation import BARE, DEFAULT, Conversation, Prompt, SeenTurn
from agentgym.policies.basic import CallablePolicy
from tests.toy import ToyEnv
from tests.trainers import tiny_policy
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.expert_demonstrations import encode, play
from trainers.rollouts.trajectory import to_rows

EVERY = 2
WORDS = ("summarise", "done", ";")
"""Words of a summary; an unknown one would be left out of the message that the template reads."""


def play_expert():
    """An episode of the solver, which summarises after every second turn."""
    env = ToyEnv(summary_every=EVERY, horizon=30)
    solver = CallablePolicy(lambda observation, info: env.oracle_action())
    return play(env, {"split": "train", "index": 3}, solver)


@pytest.mark.parametrize("window", [None, 1, 5])
@pytest.mark.parametrize("template", [None, tiny_policy.QWEN_LIKE], ids=["append-only", "rewrites"])
def test_every_prompt_is_the_one_that_a_chat_server_would_give(template, window):
    chat = TurnTokenizer(tiny_policy.tokenizer(template, WORDS))
    prompt = Prompt.at(ToyEnv(summary_every=EVERY), DEFAULT).windowed(window)
    episode = play_expert()
    (trajectory,) = encode([episode], chat, prompt)
    conversation = Conversation(prompt, episode.info["goal"])
    seen = SeenTurn.of(episode.observation, episode.info)
    row: list[int] = []
    for turn, shown in zip(trajectory.turns, episode.turns, strict=True):
        row = [*([] if turn.fresh else row), *turn.context]
        assert row == chat.rerender(conversation.messages(seen))
        row += turn.ids
        conversation.add(seen, shown.action)
        seen = shown.seen_turn


def test_a_summary_begins_a_row_and_all_sampled_tokens_are_trained_once():
    chat, episode = tiny_policy.chat(), play_expert()
    (trajectory,) = encode([episode], chat, Prompt(BARE))
    rows = to_rows([trajectory])
    summaries = [shown.seen_turn.forgets for shown in episode.turns]
    assert [turn.fresh for turn in trajectory.turns] == [True, *summaries[:-1]]
    assert len(rows) == 1 + sum(summaries) > 2
    trained = [i for row in rows for i, m in zip(row.ids, row.mask, strict=True) if m]
    assert trained == [token for turn in trajectory.turns for token in turn.ids]
    # However long the episode, a row holds the opening, a summary and two turns.
    assert max(len(row.ids) for row in rows[1:]) < len(rows[0].ids) * 3
