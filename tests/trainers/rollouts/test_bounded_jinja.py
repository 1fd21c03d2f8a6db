"""Chat templates that came with a model are rendered within bounds, and otherwise as they are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from jinja2 import UndefinedError
from transformers.utils import chat_template_utils

from agentgym.errors import ConfigurationError
from tests.trainers import tiny_policy
from tests.trainers.rollouts.shipped_templates import SHIPPED, tokenizer
from trainers.models.tiny import CHAT_TEMPLATE
from trainers.rollouts import bounded_jinja
from trainers.rollouts.bounded_jinja import TemplateBoundError, is_plain, render
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.template import TODAY

TOOL = {
    "type": "function",
    "function": {
        "name": "press",
        "description": "press a button",
        "parameters": {"type": "object", "properties": {"colour": {"type": "string"}}},
    },
}
TALK = [
    {"role": "user", "content": "go {{ 7 * 7 }} <|x|>"},
    {"role": "assistant", "content": "<think>hm</think>press red"},
    {"role": "user", "content": "click \u00e9\n"},
]


def outcome(write: Any) -> str:
    """What is written, or what is raised."""
    try:
        return str(write())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("tools", [None, [TOOL]], ids=["plain", "tools"])
@pytest.mark.parametrize("name", SHIPPED)
def test_a_template_writes_what_transformers_makes_of_it(name, tools, monkeypatch):
    monkeypatch.setattr(chat_template_utils, "datetime", SimpleNamespace(now=lambda: TODAY))
    fast_tokenizer = tokenizer(name)
    assert is_plain(fast_tokenizer)
    variables = {**fast_tokenizer.special_tokens_map, "messages": TALK, "tools": tools}
    for prompt in (True, False):
        expected = outcome(
            lambda prompt=prompt: fast_tokenizer.apply_chat_template(
                TALK, tools=tools, tokenize=False, add_generation_prompt=prompt
            )
        )
        rendered = outcome(
            lambda prompt=prompt: render(
                fast_tokenizer.chat_template,
                {**variables, "documents": None, "add_generation_prompt": prompt},
            )
        )
        assert rendered == expected


def nested(depth: int, body: str = "") -> str:
    """Loops within loops."""
    return "{% for i in range(9999) %}" * depth + body + "{% endfor %}" * depth


HOSTILE = {
    "loops": nested(3),
    "loops that set": nested(2, "{% set x = i %}"),
    "loops over letters": "{% for a in messages[0].content * 90 %}" * 3 + "{% endfor %}" * 3,
    "a loop that calls itself": (
        "{% for m in [[1, 1], [1, 1]] recursive %}{{ loop([m, m]) }}{% endfor %}"
    ),
    "a macro that calls itself": (
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}"
    ),
    "repetition": "{{ 'x' * 999999999999 }}",
    "repetition from the left": "{{ 999999999999 * 'x' }}",
    "a list repeated": "{{ ([0] * 999999999999) | length }}",
    "doubling by plus": (
        "{% set n = namespace(t='ab') %}"
        "{% for i in range(99) %}{% set n.t = n.t + n.t %}{% endfor %}"
    ),
    "doubling by tilde": (
        "{% set n = namespace(t='ab') %}"
        "{% for i in range(99) %}{% set n.t = n.t ~ n.t %}{% endfor %}"
    ),
    "doubling by join": (
        "{% set n = namespace(t='ab') %}{% for i in range(99) %}"
        "{% set n.t = [n.t, n.t] | join %}{% endfor %}"
    ),
    "doubling by replace": (
        "{% set n = namespace(t='ab') %}{% for i in range(99) %}"
        "{% set n.t = n.t.replace('a', 'aa') %}{% set n.t = n.t.replace('a', 'aa') %}{% endfor %}"
    ),
    "doubling by a block": (
        "{% set t = 'ab' %}"
        + "{% set t %}{{ t }}{{ t }}{{ t }}{{ t }}{% endset %}" * 30
        + "{{ t }}"
    ),
    "much output": "{% for i in range(9999) %}{{ messages[0].content * 900 }}{% endfor %}",
    "output that a macro keeps": (
        "{% macro f() %}{% for i in range(9999) %}{{ messages[0].content * 90000 }}{% endfor %}"
        "{% endmacro %}{{ f() | length }}"
    ),
    "a list of itself": (
        "{% set n = namespace(t=[1]) %}{% for i in range(99) %}{% set n.t = [n.t, n.t] %}"
        "{% endfor %}{{ n.t }}"
    ),
    "a list of itself as JSON": (
        "{% set n = namespace(t=[1]) %}{% for i in range(99) %}{% set n.t = [n.t, n.t] %}"
        "{% endfor %}{{ n.t | tojson }}"
    ),
    "text that a block keeps": (
        "{% set t %}{% for i in range(9999) %}{% for j in range(9) %}"
        + "long text " * 5000
        + "{% endfor %}{% endfor %}{% endset %}"
    ),
    "a width": "{{ 'x' | center(999999999999) }}",
    "a method's width": "{{ 'x'.ljust(999999999999) }}",
    "zeros": "{{ 'x'.zfill(width=999999999999) }}",
    "a format": "{{ '{:>9999999999}'.format('x') }}",
    "a percent format": "{{ '%9999999999d' % 1 }}",
    "a format filter": "{{ '%9999999999d' | format(1) }}",
    "an indentation": "{{ 'x\ny' | indent(999999999999) }}",
    "a power": "{{ 9 ** 9 ** 9 }}",
    "a power of constants": "{{ 9 ** 999999999 }}",
    "numbers that grow": (
        "{% set n = namespace(t=9) %}{% for i in range(99) %}{% set n.t = n.t * n.t %}{% endfor %}"
    ),
    "a replacement filter": "{{ ('x' * 9999) | replace('x', 'y' * 99999) }}",
    "a join of many": "{{ ('x' * 9999).join('y' * 99999) }}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_template_that_loops_or_multiplies_is_stopped(name):
    with pytest.raises(TemplateBoundError):
        render(HOSTILE[name], {"messages": TALK, "add_generation_prompt": True})


@pytest.mark.parametrize("name", HOSTILE)
def test_such_a_model_is_refused_in_a_sentence(name):
    fast_tokenizer = tiny_policy.tokenizer(HOSTILE[name] + CHAT_TEMPLATE)
    with pytest.raises(ConfigurationError, match="expected a chat template that renders"):
        TurnTokenizer(fast_tokenizer)


def test_one_that_waits_for_a_long_conversation_is_stopped_then():
    bomb = "{% if messages | length > 9 %}" + nested(3) + "{% endif %}"
    chat = TurnTokenizer(tiny_policy.tokenizer(bomb + CHAT_TEMPLATE))
    assert chat.text(TALK)
    with pytest.raises(ConfigurationError, match="takes more than"):
        chat.text(TALK * 4)


def test_a_long_episode_stays_far_from_the_bounds():
    talk = TALK * 200
    for name in ("qwen3", "llama3_1", "gptoss", "gemma3", "deepseekv3", "glm4moe"):
        fast_tokenizer = tokenizer(name)
        messages = talk if name != "gemma3" else [*TALK[:2] * 300, TALK[0]]
        variables = {**fast_tokenizer.special_tokens_map, "strftime_now": lambda _: "today"}
        variables |= {"messages": messages, "tools": None, "add_generation_prompt": True}
        assert "click" in render(fast_tokenizer.chat_template, variables) or name == "gemma3"
        assert bounded_jinja._rendering.left[0] > bounded_jinja.MOST_STEPS * 0.8, name


def test_no_template_writes_by_chance():
    """Jinja's own filler text draws from the global generator, as much as it is told to."""
    with pytest.raises(UndefinedError, match="lipsum"):
        render("{{ lipsum(9999999) }}", {})


def test_a_rendering_leaves_the_next_one_all_its_steps():
    for _ in range(3):
        with pytest.raises(TemplateBoundError):
            render(nested(3), {})
    assert render("{% for i in range(3) %}{{ i }}{% endfor %}", {}) == "012"
