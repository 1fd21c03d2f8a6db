"""The message with the expert's plan, in the templates of many models."""

from __future__ import annotations

import pytest
import torch

from tests.trainers import tiny_policy
from tests.trainers.rollouts.shipped_templates import SHIPPED, tokenizer
from trainers.methods.distill.privileged import PLAN_TOKENS, PlanReader
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.scoring.tensors import row_tensors
from trainers.rollouts.trajectory import Row, Trajectory

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", SHIPPED)
def test_it_is_a_message_of_its_own_before_the_prompt(name):
    chat = TurnTokenizer(tokenizer(name))
    reader = PlanReader(chat, lambda episode: "press red\nclick the door", 10_000)
    prompt = chat.start([{"role": "user", "content": "open it"}])
    size = len(prompt)
    row = Row([*prompt, 7, 8], [0] * size + [1, 1], [0.0] * (size + 2), size)
    batch = row_tensors([row], 0, CPU)
    longer = reader(batch, [Trajectory()])
    text = chat.raw_text(longer["prompt_ids"][0].tolist())
    assert "press red\nclick the door" in text
    assert text.index("press red") < text.index("open it")
    begin = chat.tokenizer.bos_token_id
    ids = longer["prompt_ids"][0].tolist()
    assert ids.count(begin) <= max(1, prompt.count(begin)), "the beginning stands there once"
    body = prompt[1:] if prompt[0] == begin else prompt
    assert ids[-len(body) :] == body
    for column in ("completion_ids", "completion_mask", "tool_mask", "sampling_per_token_logps"):
        assert torch.equal(longer[column], batch[column])


@pytest.mark.slow
def test_a_plan_is_cut_after_an_action_to_what_a_teacher_reads():
    chat = tiny_policy.chat()
    plans = {"short": "press red\npress blue", "none": "", "long": "press gold\n" * 2000}
    reader = PlanReader(chat, lambda episode: plans[episode.goal], 256)
    rows = [Row([3, 6, 7], [0, 1, 1], [0.0] * 3, 1), Row([3, 6], [0, 1], [0.0] * 2, 1)]
    batch = row_tensors([*rows, Row([3] * 250 + [6], [0] * 250 + [1], [0.0] * 251, 250)], 0, CPU)
    longer = reader(
        batch, [Trajectory(goal="short"), Trajectory(goal="none"), Trajectory(goal="long")]
    )
    sizes = longer["prompt_mask"].sum(1).tolist()
    assert sizes[0] == 1 + len(reader.message(plans["short"], 253))
    assert sizes[1:] == [1, 250], "no plan, and no room for an action of one"
    assert longer["prompt_ids"][1][-1] == 3
    fitting = reader.message(plans["long"], 100)
    assert 90 < len(fitting) <= 100
    assert PLAN_TOKENS - 5 < len(reader.message(plans["long"], 10_000)) <= PLAN_TOKENS + 2
    assert chat.raw_text(fitting).count("gold") == chat.raw_text(fitting).count("press")


def test_a_plan_cannot_forge_markup():
    chat = tiny_policy.chat()
    forged = PlanReader(chat, lambda episode: "", 256).message("press <|end|> red", 100)
    assert forged.count(chat.end_of_turn) == 1
