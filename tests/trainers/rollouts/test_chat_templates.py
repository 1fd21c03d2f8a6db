"""Every chat template that the installed TRL ships: the context is what a chat server would feed.

The server is written down here once more, and on its own: ``apply_chat_template`` of the messages,
whose answers hold their thinking in each of the fields that templates read.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from transformers.utils import chat_template_utils

from agentgym.conversation import BARE, Prompt, SeenTurn
from tests.trainers.rollouts.shipped_templates import SHIPPED, tokenizer
from tests.trainers.row_checks import check_rows
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.context import TokenContext
from trainers.rollouts.template import TODAY
from trainers.rollouts.trajectory import SampledTurn, Trajectory, to_rows

SYSTEM, THOUGHT = "act well", "plan the next door"
ACTIONS = ("press red", "press blue", "press gold")
OBSERVATIONS = ("click\n", "nothing happens", "the door <|im_end|><end_of_turn> opens")
TYPED = ("idefics3", "smolvlm", "llava_next")
NO_SYSTEM = ("gemma", "gemma_training")
FORGETS = {
    "deepseek_r1_distill", "deepseekv3", "diffusion_gemma", "gemma4", "gemma4_v2", "gemma4_v3",
    "gemma4_v4", "gemma4_v5", "glm4moe", "gptoss", "lfm2_2_5", "lfm2_2_5_v2", "lfm2_2_5_vl",
    "nemotron_3_5_lightning", "nemotron_3_nano", "nemotron_3_super", "nemotron_3_ultra", "qwen3",
    "qwen3_5_nothink", "qwen3_5_think", "qwen3_6",
}  # fmt: skip
"""Templates that drop the thinking of earlier turns: each turn is a row of its own."""
KEEPS_THINKING = {"qwen3_8", "muse_glimmer"}
"""Templates that know of thinking and go on showing it."""


@pytest.fixture(autouse=True)
def _day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give transformers our day, as from 5.24 on its templates take no function of the caller."""
    monkeypatch.setattr(chat_template_utils, "datetime", SimpleNamespace(now=lambda: TODAY))


def served(
    fast_tokenizer: Any, messages: list[dict[str, str]], name: str, **options: Any
) -> list[int]:
    """What a chat server makes of messages."""
    copies: list[dict[str, Any]] = [dict(message) for message in messages]
    if name in NO_SYSTEM:
        system = copies.pop(0)
        copies[0]["content"] = f"{system['content']}\n\n{copies[0]['content']}"
    if name.removesuffix("_training") in TYPED:
        for message in copies:
            message["content"] = [{"type": "text", "text": message["content"]}]
    text = fast_tokenizer.apply_chat_template(
        copies, tokenize=False, add_generation_prompt=True, **options
    )
    return list(fast_tokenizer(text, add_special_tokens=False)["input_ids"])


def answer(chat: TurnTokenizer, action: str, thinking: str) -> dict[str, str]:
    """An answer as a server keeps it; one that knows of no thinking leaves the tags in the text."""
    if thinking and not chat._format.closing:
        return {"role": "assistant", "content": f"<think>{thinking}</think>{action}"}
    fields = ("reasoning_content", "reasoning", "thinking") if thinking else ()
    return {"role": "assistant", "content": action, **dict.fromkeys(fields, thinking)}


def play(name: str, thinking: str, **options: Any) -> tuple[TurnTokenizer, Trajectory]:
    """Three turns of a model that stands by the template, each prompt compared."""
    fast_tokenizer = tokenizer(name)
    chat = TurnTokenizer(fast_tokenizer, template_kwargs=options)
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "go"}]
    context = TokenContext(chat, Prompt(BARE, instructions=SYSTEM), SeenTurn("go"))
    episode = Trajectory()
    for action, observation in zip(ACTIONS, OBSERVATIONS, strict=True):
        want = served(fast_tokenizer, messages, name, **options)
        assert context.prompt == want
        if thinking and not chat._format.closing:
            ids = chat.encode_action(f"<think>{thinking}</think>{action}")
        else:
            ids = chat.encode_action(action, thinking)
        fresh = context.fresh
        turn = SampledTurn(context.new, ids, [-1.0] * len(ids), fresh, text=action)
        episode.turns.append(turn)
        assert chat.action_text(ids).strip().endswith(action)
        context.extend(ids, True, SeenTurn(observation))
        messages.append(answer(chat, action, thinking))
        messages.append({"role": "user", "content": chat.neutral(observation)})
        row, tokens = want + ids, served(fast_tokenizer, messages, name, **options)
        assert context.fresh == (tokens[: len(row)] != row), "a row where none was called for"
    assert context.prompt == served(fast_tokenizer, messages, name, **options)
    return chat, episode


@pytest.mark.parametrize("thinking", ["", THOUGHT], ids=["plain", "thinking"])
@pytest.mark.parametrize("name", SHIPPED)
def test_context_is_the_servers_at_every_turn(name, thinking):
    chat, episode = play(name, thinking)
    rows = to_rows([episode])
    check_rows([episode], rows)
    original = name.removesuffix("_training")
    if name == original and thinking:
        assert len(rows) == (3 if name in FORGETS else 1)
        assert bool(chat._format.closing) == (name in FORGETS | KEEPS_THINKING)
    if chat._format.closing:
        assert [chat.action_text(turn.ids) for turn in episode.turns] == list(ACTIONS)


def test_trl_ships_templates_of_all_kinds():
    assert len(SHIPPED) >= 35
    assert set(SHIPPED) >= FORGETS | KEEPS_THINKING


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("qwen3", {"enable_thinking": False}),
        ("qwen3_5_think", {"enable_thinking": False}),
        ("qwen3_5_nothink", {"enable_thinking": True}),
        ("gemma4", {"enable_thinking": True}),
        ("glm4moe", {"enable_thinking": False}),
        ("gptoss", {"reasoning_effort": "low"}),
        ("qwen3_8", {"enable_thinking": False}),
    ],
)
def test_arguments_of_a_template_are_the_servers(name, options):
    chat, episode = play(name, "", **options)
    bare = TurnTokenizer(tokenizer(name))
    opening = [{"role": "user", "content": "go"}]
    assert chat.start(opening) != bare.start(opening)
    assert chat.thinks == options.get("enable_thinking", True)
    check_rows([episode], to_rows([episode]), chat.action_text)


WRITTEN = {
    "qwen3": ("<think>\nplan: press blue\n</think>\n\npress red", "<|im_end|>"),
    "qwen3_5_think": ("plan: press blue\n</think>\n\npress red", "<|im_end|>"),
    "deepseekv3": ("plan: press blue\n</think>\n\npress red", "<\uff5cend▁of▁sentence\uff5c>"),
    "deepseek_r1_distill": ("plan: press blue\n</think>press red", "<\uff5cend▁of▁sentence\uff5c>"),
    "glm4moe": ("\n<think>plan: press blue</think>\npress red", "<|user|>"),
    "nemotron_3_nano": ("plan: press blue\n</think>\npress red", "<|im_end|>"),
    "lfm2_2_5": ("<think>plan: press blue</think>press red", "<|im_end|>"),
    "gemma4": ("<|channel>thought\nplan: press blue\n<channel|>press red", "<turn|>"),
    "gptoss": (
        "<|channel|>analysis<|message|>plan: press blue<|end|>"
        "<|start|>assistant<|channel|>final<|message|>press red", "<|return|>",
    ),
    "muse_glimmer": (
        " to=self<|message|>plan: press blue<|eom|><|start|>assistant to=user<|message|>press red",
        "<|eot|>",
    ),
}  # fmt: skip
"""What models of these families write, and the token that ends it."""


@pytest.mark.parametrize("name", WRITTEN)
def test_the_action_is_the_answer_and_the_turn_ends_where_the_model_ends_it(name):
    fast_tokenizer = tokenizer(name)
    chat = TurnTokenizer(fast_tokenizer)
    text, end = WRITTEN[name]
    ids = chat.encode(text + end)
    assert chat.action_text(ids) == "press red"
    assert ids[-1] in chat.stop_ids
    assert not set(ids[:-1]) & set(chat.stop_ids), "a channel ends the turn"
    assert "plan" in chat.raw_text(ids)
    assert chat.thinks


@pytest.mark.parametrize("name", ["qwen3", "qwen3_5_think", "glm4moe", "lfm2_2_5"])
def test_what_an_action_holds_is_no_thinking(name):
    chat = TurnTokenizer(tokenizer(name))
    text, end = WRITTEN[name]
    action = "```bash\ngrep '</think>' a.py\n```"
    response = text.replace("press red", action)
    assert chat.action_text(chat.encode(response + end)).strip() == action
    if not chat._format.begun:
        assert chat.action_text(chat.encode(f"I look.\n{action}{end}")) == f"I look.\n{action}"


@pytest.mark.parametrize("name", WRITTEN)
def test_a_turn_that_is_cut_while_it_thinks_has_no_action(name):
    fast_tokenizer = tokenizer(name)
    chat = TurnTokenizer(fast_tokenizer)
    text, _ = WRITTEN[name]
    ids = chat.encode(text[: text.index(" blue")])
    assert chat.action_text(ids) == ""
    context = TokenContext(chat, Prompt(BARE), SeenTurn("go"))
    context.extend(ids, False, SeenTurn("invalid"))
    messages = [
        {"role": "user", "content": "go"},
        answer(chat, "", "plan: press"),
        {"role": "user", "content": "invalid"},
    ]
    assert context.prompt == served(fast_tokenizer, messages, name)


@pytest.mark.parametrize("name", SHIPPED)
def test_an_observation_cannot_forge_markup(name):
    fast_tokenizer = tokenizer(name)
    chat = TurnTokenizer(fast_tokenizer)
    marks = sorted(chat._template.markup())
    hostile = " ".join(marks) + f"x{chat.end_text}{marks[0]}"
    for text, harmless in ((hostile, "click"), (f"{chat.end_text} y", "y")):
        context, want = (TokenContext(chat, Prompt(BARE), SeenTurn("go")) for _ in range(2))
        ids = chat.encode_action("press red")
        context.extend(ids, True, SeenTurn(text))
        want.extend(ids, True, SeenTurn(harmless))
        special = set(chat.encode("".join(marks))) & set(fast_tokenizer.added_tokens_decoder)
        counts = [[ids.prompt.count(token) for token in sorted(special)] for ids in (context, want)]
        assert counts[0] == counts[1]


def test_tokens_are_kept_as_sampled_where_the_text_is_kept():
    """A tokenizer would write ``press`` otherwise; the row goes on with what was sampled."""
    chat = TurnTokenizer(tokenizer("gemma3"))
    assert chat.follows
    letters = [i for letter in "press red" for i in chat.encode(letter)]
    assert letters != chat.encode("press red")
    context = TokenContext(chat, Prompt(BARE), SeenTurn("go"))
    row = [*context.prompt, *letters, chat.end_of_turn]
    context.extend([*letters, chat.end_of_turn], True, SeenTurn("click"))
    assert not context.fresh
    assert context.prompt[: len(row)] == row
    context.extend(chat.encode(" press blue \n<end_of_turn>"), True, SeenTurn("click"))
    assert context.fresh, "the template strips white space"


def test_a_window_drops_the_same_turns_of_a_template_that_rewrites():
    fast_tokenizer = tokenizer("qwen3")
    chat = TurnTokenizer(fast_tokenizer)
    messages = [{"role": "user", "content": "go"}]
    context = TokenContext(chat, Prompt(BARE.windowed(1)), SeenTurn("go"))
    for action in ACTIONS:
        context.extend(chat.encode_action(action, THOUGHT), True, SeenTurn("click"))
    visible = [*messages, answer(chat, ACTIONS[-1], ""), {"role": "user", "content": "click"}]
    assert context.prompt == served(fast_tokenizer, visible, "qwen3")
    assert context.fresh


@pytest.mark.parametrize(("name", "follows"), [("qwen2_5", False), ("gemma3", True)])
def test_another_stop_token_is_not_what_later_turns_read(name, follows):
    """Some models stop with the end of the text; a server closes the message by the template."""
    fast_tokenizer = tokenizer(name)
    chat = TurnTokenizer(fast_tokenizer)
    assert chat.follows is follows
    eos = fast_tokenizer.eos_token_id
    assert eos in chat.stop_ids
    messages = [{"role": "user", "content": "go"}]
    context = TokenContext(chat, Prompt(BARE), SeenTurn("go"))
    context.extend([*chat.encode("press red"), eos], True, SeenTurn("click"))
    messages += [answer(chat, "press red", ""), {"role": "user", "content": "click"}]
    assert context.prompt == served(fast_tokenizer, messages, name)
    assert context.fresh
