"""The smallest real policy: a tokenizer and a model of 8,000 weights for the toy environment."""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from functools import cache
from typing import Any

import torch

from agentgym.conversation import BARE, Prompt
from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from trainers.config.sections import TinyConfig
from trainers.models.tiny import build_model, build_tokenizer
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.expert_demonstrations import encode, play

torch.set_num_threads(1)

TEXTS = (
    "press red then blue then green then gold . next is red",
    "click . next is nothing happens . next is invalid: no such button the door opens",
)
SIZE = TinyConfig(hidden=16, layers=2, heads=2, intermediate=32, context=256)

QWEN_LIKE = (
    "{%- set ns = namespace(last=0) -%}"
    "{%- for m in messages -%}{%- if m['role'] == 'user' -%}{%- set ns.last = loop.index0 -%}"
    "{%- endif -%}{%- endfor -%}"
    "{%- for m in messages -%}<|{{ m['role'] }}|>"
    "{%- if m['role'] == 'assistant' and loop.index0 < ns.last and '</think>' in m['content'] -%}"
    "{{ m['content'].split('</think>')[-1].lstrip() }}"
    "{%- else -%}{{ m['content'] }}{%- endif -%}<|end|>{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)
"""Strips the thinking of every assistant message before the last user message, as Qwen3 does."""


def tokenizer(template: str | None = None, words: tuple[str, ...] = ()) -> Any:
    """A fresh word-level tokenizer; ``template`` replaces the append-only one."""
    fast_tokenizer = build_tokenizer(TEXTS, words=words)
    if template is not None:
        fast_tokenizer.chat_template = template
    return fast_tokenizer


@cache
def chat() -> TurnTokenizer:
    """The turn tokenizer of the toy policy."""
    return TurnTokenizer(tokenizer())


def model(seed: int = 0, size: TinyConfig = SIZE) -> Any:
    """A fresh model."""
    return build_model(chat().tokenizer, size, seed)


def envs(count: int = 8) -> TextVectorEnv:
    """Toy environments."""
    return TextVectorEnv([ToyEnv] * count)


def tasks(count: int, split: str = "train") -> list[dict[str, Any]]:
    """Reset options of the first tasks of a split."""
    return [{"split": split, "index": i} for i in range(count)]


@cache
def demonstrations(count: int = 64) -> tuple[Any, ...]:
    """Expert episodes."""
    return tuple(demonstrate(count, chat()))


def demonstrate(count: int, chat: TurnTokenizer) -> list[Any]:
    """Expert episodes of the first training tasks, in the tokens of a policy."""
    env = ToyEnv()
    episodes = (play(env, options, env.oracle()) for options in tasks(count))
    return list(encode(episodes, chat, Prompt(BARE)))
