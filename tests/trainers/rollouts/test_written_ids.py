"""Tokenizers of every kind under templates of every kind: written actions have their place's ids.

What a chat server feeds is written down here once more, and on its own: the template's rendering of
the whole conversation, encoded at once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from agentgym.conversation import BARE, Prompt, SeenTurn
from agentgym.errors import ConfigurationError
from agentgym.support.random_stream import Stream
from trainers.methods.gateway.call_log import CallLog
from trainers.methods.gateway.chat_request import ChatMessage, ChatRequest
from trainers.methods.gateway.demonstrations import UNBOUNDED
from trainers.phases.recorded_episodes import _without_end
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.context import TokenContext
from trainers.rollouts.engines.base import Completion

WORDS = (
    "open",
    "door",
    "take",
    "lamp",
    "northwest",
    "[3]",
    "search[red shoes]",
    "caf\u00e9",
    "x=1",
)
LINES = [
    " ".join(WORDS[i % 9 : i % 9 + 4]) for i in range(40)
] + ["user", "assistant", "\n"]  # fmt: skip
SPECIALS = ["<s>", "</s>", "<unk>", "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|head|>"]
LETTERS = sorted(
    {letter for line in LINES for letter in line} | set("<|>[]/:\n\u2581INSTUERA_ua012")
)

TEMPLATES = {
    "chatml": (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    ),
    "trims": (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    ),
    "plain roles": (
        "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}</s>\n{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
    ),
    "space before": (
        "<s>{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
        "{% else %} {{ m.content }}</s>{% endif %}{% endfor %}"
    ),
    "space around": (
        "{% for m in messages %}{% if m.role == 'user' %}<s>[INST] {{ m.content | trim }} [/INST]"
        "{% else %} {{ m.content | trim }} </s>{% endif %}{% endfor %}"
    ),
    "headers": (
        "<s>{% for m in messages %}<|head|>{{ m.role }}<|head|>\n\n{{ m.content | trim }}<|eot_id|>"
        "{% endfor %}{% if add_generation_prompt %}<|head|>assistant<|head|>\n\n{% endif %}"
    ),
    "words": (
        "<s>{% for m in messages %}{{ 'USER' if m.role == 'user' else 'ASSISTANT' }}: "
        "{{ m.content }}{{ '</s>' if m.role == 'assistant' else ' ' }}{% endfor %}"
        "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
    ),
}
"""The last one opens an answer with a colon, behind which stands a space and the answer."""


def raw_tokenizer(kind: str) -> Tokenizer:
    """An untrained tokenizer of a kind."""
    if kind.startswith("bytes"):
        raw = Tokenizer(models.BPE())
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=kind.endswith("prefix"))
        raw.decoder = decoders.ByteLevel()
    elif kind == "prepend":
        raw = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
        raw.normalizer = normalizers.Sequence(
            [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
        )
        raw.decoder = decoders.Sequence(
            [decoders.Replace("\u2581", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        )
    elif kind == "wordpiece":
        raw = Tokenizer(models.WordPiece(unk_token="<unk>"))
        raw.pre_tokenizer, raw.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    else:
        model = models.Unigram() if kind == "unigram" else models.BPE(unk_token="<unk>")
        raw, scheme = Tokenizer(model), kind if kind in ("never", "always") else "first"
        raw.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
        raw.decoder = decoders.Metaspace(prepend_scheme=scheme)
    return raw


def trainer_of(kind: str) -> Any:
    """What trains a tokenizer of a kind."""
    common = {"vocab_size": 420, "special_tokens": SPECIALS, "show_progress": False}
    if kind == "unigram":
        return trainers.UnigramTrainer(unk_token="<unk>", initial_alphabet=LETTERS, **common)
    if kind == "wordpiece":
        return trainers.WordPieceTrainer(initial_alphabet=LETTERS, **common)
    letters = pre_tokenizers.ByteLevel.alphabet() if kind.startswith("bytes") else LETTERS
    return trainers.BpeTrainer(initial_alphabet=letters, **common)


@cache
def trained(kind: str) -> str:
    """A tokenizer of a kind as JSON."""
    raw = raw_tokenizer(kind)
    raw.train_from_iterator(LINES, trainer_of(kind))
    return str(raw.to_str())


def tokenizer(kind: str, template: str) -> Any:
    """A tokenizer of a kind with a template."""
    fast_tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(trained(kind)),
        bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<s>",
        additional_special_tokens=SPECIALS[3:],
    )  # fmt: skip
    fast_tokenizer.chat_template = TEMPLATES.get(template, template)
    return fast_tokenizer


KINDS = (
    "bytes", "bytes with a prefix", "first", "always", "never", "prepend", "unigram", "wordpiece",
)  # fmt: skip
GRID = pytest.mark.parametrize(
    ("kind", "template"), [(kind, template) for kind in KINDS for template in TEMPLATES]
)


def served(fast_tokenizer: Any, messages: list[dict[str, str]], prompt: bool = True) -> list[int]:
    """What a chat server makes of messages."""
    text = fast_tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=prompt
    )
    return list(fast_tokenizer(text, add_special_tokens=False)["input_ids"])


def actions(kind: str, template: str, count: int = 6) -> list[str]:
    """Actions of a few words, the same for the same pair."""
    stream = Stream("written", kind, template)
    return [
        " ".join(WORDS[stream.below(len(WORDS))] for _ in range(1 + stream.below(4)))
        for _ in range(count)
    ]


@GRID
def test_a_written_action_has_the_ids_of_its_place(kind, template):
    fast_tokenizer = tokenizer(kind, template)
    chat = TurnTokenizer(fast_tokenizer)
    user = {"role": "user", "content": "take lamp"}
    for action in [*actions(kind, template), "open", "x=1 x=1"]:
        conversation_ids = served(
            fast_tokenizer, [user, {"role": "assistant", "content": action}, user]
        )
        prompt, ids = served(fast_tokenizer, [user]), chat.encode_action(action)
        assert conversation_ids[: len(prompt) + len(ids)] == [*prompt, *ids], (
            fast_tokenizer.convert_ids_to_tokens(ids)
        )
        assert ids[-1] == chat.end_of_turn
    if chat._trims == (True, True):
        assert chat.encode_action(f"\n {action} \n") == ids


@GRID
def test_prompts_are_the_servers_and_rows_go_on(kind, template):
    """Nothing was rewritten, so that an episode is one row, and each turn adds its tokens alone."""
    fast_tokenizer = tokenizer(kind, template)
    chat = TurnTokenizer(fast_tokenizer, history="error")
    context = TokenContext(chat, Prompt(BARE), SeenTurn("take lamp"))
    messages = [{"role": "user", "content": "take lamp"}]
    for number, action in enumerate(actions(kind, template)):
        assert context.prompt == served(fast_tokenizer, messages)
        assert context.fresh == (number == 0)
        observation = f"door {number}\n"
        context.extend(chat.encode_action(action), True, SeenTurn(observation))
        messages += [
            {"role": "assistant", "content": action}, {"role": "user", "content": observation},
        ]  # fmt: skip
    assert context.prompt == served(fast_tokenizer, messages) and not context.fresh


@GRID
def test_calls_of_an_agent_have_the_servers_prompts_and_one_row(kind, template):
    fast_tokenizer = tokenizer(kind, template)
    chat = TurnTokenizer(fast_tokenizer)
    log = CallLog(chat, UNBOUNDED, 0, 0)
    messages = [ChatMessage("user", "take lamp")]
    row: list[int] = []
    for number, action in enumerate(actions(kind, template, 4)):
        call = log.ask(ChatRequest(tuple(messages)), number)
        plain_messages = [{"role": m.role, "content": m.content} for m in messages]
        assert call.prompt == served(fast_tokenizer, plain_messages)
        assert call.prompt[: len(row)] == row
        ids = chat.encode_action(action)
        answer = ChatMessage("assistant", action)
        log.answer(call, Completion(ids, [0.0] * len(ids)), 0, answer, number)
        row = [*call.prompt, *ids]
        messages += [answer, ChatMessage("user", f"door {number}")]


@pytest.mark.parametrize("kind", ["bytes", "first", "always", "never", "prepend"])
@pytest.mark.parametrize("template", ["space before", "trims"])
def test_what_was_sampled_otherwise_stays_where_its_text_stays(kind, template):
    """A policy may write a word letter by letter; the row goes on with these tokens."""
    fast_tokenizer = tokenizer(kind, template)
    chat = TurnTokenizer(fast_tokenizer)
    context = TokenContext(chat, Prompt(BARE), SeenTurn("take lamp"))
    usual = chat.encode_action("open door")
    letters = [
        fast_tokenizer.convert_tokens_to_ids(letter)
        for token in fast_tokenizer.convert_ids_to_tokens(usual[:-1])
        for letter in token
    ]
    assert letters != usual[:-1]
    row = [*context.prompt, *letters, chat.end_of_turn]
    context.extend([*letters, chat.end_of_turn], True, SeenTurn("click"))
    assert context.prompt[: len(row)] == row and not context.fresh
    text = fast_tokenizer.decode(context.prompt).replace(" ", "")
    assert "opendoor" in text


OPEN_SPACE = TEMPLATES["words"].replace(
    "%}ASSISTANT:{% endif", "%}ASSISTANT: {% endif"
)  # fmt: skip
"""A generation prompt that ends in the space that belongs to the answer's first token."""


@pytest.mark.parametrize("kind", ["bytes", "first", "prepend"])
def test_a_prompt_that_a_tokenizer_joins_with_the_answer_is_told_at_the_start(kind):
    fast_tokenizer = tokenizer(kind, OPEN_SPACE)
    with pytest.raises(ConfigurationError, match="joins the generation prompt ' ASSISTANT: '"):
        TurnTokenizer(fast_tokenizer, history="error")
    chat = TurnTokenizer(fast_tokenizer)
    assert chat.joined is not None and chat.follows and not chat.append_only
    # What is sampled is played nevertheless, and each prompt is the server's.
    context = TokenContext(chat, Prompt(BARE), SeenTurn("take lamp"))
    ids = chat.encode_action("open door")
    assert fast_tokenizer.decode([*context.prompt, *ids[:-1]]).endswith("ASSISTANT: open door") or (
        kind == "prepend"  # which writes a space whatever stands before
    )
    context.extend(ids, True, SeenTurn("click"))
    messages = [
        {"role": "user", "content": "take lamp"},
        {"role": "assistant", "content": chat.action_text(ids)},
        {"role": "user", "content": "click"},
    ]
    text = fast_tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert fast_tokenizer.decode(context.prompt).replace(" ", "") == text.replace(" ", "")


def test_an_action_that_begins_with_a_line_end_is_no_reason_to_refuse_a_template():
    """It alone would be joined, with the line end of the prompt."""
    raw = Tokenizer(models.BPE(unk_token="<unk>"))
    raw.decoder = decoders.Fuse()
    letters = [*LETTERS, " "]
    raw.train_from_iterator(
        ["\n\n\n\n open"],
        trainers.BpeTrainer(special_tokens=SPECIALS, initial_alphabet=letters, show_progress=False),
    )
    fast_tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, bos_token="<s>", eos_token="</s>"
    )
    fast_tokenizer.chat_template = TEMPLATES["chatml"]
    chat = TurnTokenizer(fast_tokenizer, history="error")
    assert chat.joined is None
    ids = chat.encode_action("\n\nopen")
    assert fast_tokenizer.decode(ids[:-1]) == "\n\nopen"


@pytest.mark.parametrize(
    ("raw", "action", "learnt"),
    [
        ("<think>red</think>press blue<|im_end|>", "press blue", "<think>red</think>press blue"),
        ("press blue <end_of_turn>\n", "press blue", "press blue"),
        ("press blue</s>", "press blue", "press blue"),
        ("press blue</search>", "press blue", "press blue</search>"),
        ("I press blue now", "press blue", "I press blue now"),
    ],
)
def test_the_end_of_another_models_turn_is_not_learnt(raw, action, learnt):
    assert _without_end(raw, action) == learnt
