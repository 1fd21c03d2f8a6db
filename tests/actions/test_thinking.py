"""Nothing that a model thinks is played, and what an action holds is never taken for thinking."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.actions import (
    GRAMMARS,
    ActionCall,
    ActionSpec,
    Param,
    parse,
    render,
    strip_think,
)
from agentgym.actions.thinking_marks import FAMILIES as ROWS
from agentgym.actions.thinking_marks import TAG_NAMES
from agentgym.core.language import Language
from agentgym.envs.search.engine.commands import SearchLanguage
from agentgym.envs.swe.engine.commands import SWELanguage
from tests.actions.test_grammars import CODE, HOUSE, SHOP, calls

HARMONY = "<|start|>assistant<|channel|>final<|message|>"
FAMILIES = {
    "deepseek_r1": ("<think>\n", "\n</think>\n\n", ""),
    "qwen3": ("<think>\n", "\n</think>\n\n", "<|im_end|>"),
    "glm45": ("<think>", "</think>\n", ""),
    "granite 3.2": ("Here is my thought process:\n", "\nHere is my response:\n", ""),
    "granite 3.2 quantized": ("Here's my thought process: ", " Here's my response: ", ""),
    "granite 3.3": ("<think>", "</think><response>", "</response>"),
    "ernie45": ("<think>\n", "\n</think>\n\n<response>\n", "\n</response>\n"),
    "hunyuan_a13b": ("<think>\n", "\n</think>\n<answer>\n", "\n</answer>"),
    "hunyuan 3": ("<think:opensource>", "</think:opensource>", ""),
    "magistral": ("[THINK]", "[/THINK]", ""),
    "gpt-oss": ("<|channel|>analysis<|message|>", f"<|end|>{HARMONY}", "<|return|>"),
    "gpt-oss without an end": ("<|channel|>analysis<|message|>", HARMONY, ""),
    "gpt-oss with a preamble": (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>",
        f"<|end|>{HARMONY}", "<|end|>",
    ),
    "gpt-oss without special tokens": ("analysisWe think: ", "assistantfinal", ""),
    "kimi": ("◁think▷", "◁/think▷", ""),
    "kimi_k3": (
        "<|open|>think<|sep|>", "<|close|>think<|sep|><|open|>response<|sep|>",
        "<|close|>response<|sep|>",
    ),
    "seed_oss": ("<seed:think>\n", "\n</seed:think>\n", ""),
    "minimax_m3": ("<mm:think>", "</mm:think>", ""),
    "longcat": ("<longcat_think>\n", "\n</longcat_think>\n", ""),
    "k2_horizon": ("<ifm|think_fast>", "</ifm|think_fast>", ""),
    "cohere_command4": (
        "<|START_THINKING|>", "<|END_THINKING|><|START_TEXT|>", "<|END_TEXT|>"
    ),
    "cohere_command3": (
        "<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>", "<|END_RESPONSE|>"
    ),
    "gemma4": ("<|channel>thought\n", "<channel|>", ""),
    "apertus": ("<|inner_prefix|>", "<|inner_suffix|>", ""),
    "solar_open2": ("<|think:start|>", "<|think:end|>", ""),
    "plamo3": ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>", "<|plamo:tag|>"),
    "inkling": (
        "<|message_model|><|content_thinking|>",
        "<|end_message|><|message_model|><|content_text|>",
        "<|end_message|><|content_model_end_sampling|>",
    ),
    "muse_glimmer": (
        "to=self<|message|>", "<|eom|><|start|>assistant to=user<|message|>", "<|eot|>"
    ),
    "pangu": ("[unused16]", "[unused17]", ""),
    "hyperclovax": ("/think\n", "<|im_end|>\n<|im_start|>assistant\n", ""),
    "openthinker": (
        "<|begin_of_thought|>\n", "\n<|end_of_thought|>\n\n<|begin_of_solution|>\n",
        "\n<|end_of_solution|>",
    ),
    "exaone_deep": ("<thought>\n", "\n</thought>\n", ""),
    "prompted": ("<thinking>", "</thinking>", ""),
    "attributes": ('< think budget="low" >', "</ Think\n>", ""),
}  # fmt: skip
"""What stands before and behind thinking, and behind the answer, as models write it."""
_PAIRED = {"granite 3.2", "granite 3.2 quantized", "muse_glimmer", "inkling", "hyperclovax"}
LONE = sorted(set(FAMILIES) - _PAIRED)
"""Families whose chat template may write the opening mark."""

SEARCHES = {
    "native": "<search>red</search>", "xml": "<search>red</search>",
    "react": "Action: <search>red</search>", "action_tag": "<action><search>red</search></action>",
    "tool_call": '<tool_call>{"name": "search", "arguments": {"query": "red"}}</tool_call>',
}  # fmt: skip
DECOYS = {grammar: text.replace("red", "blue") for grammar, text in SEARCHES.items()}


def searched(text: str, grammar: str = "native") -> str:
    return SearchLanguage(grammar).read(text).native


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("family", FAMILIES)
def test_thinking_that_quotes_an_action_is_not_played(family: str, grammar: str) -> None:
    prefix, suffix, end = FAMILIES[family]
    thought = f"maybe\n{DECOYS[grammar]}\nis too early"
    text = f"{prefix}{thought}{suffix}{SEARCHES[grammar]}{end}"
    assert searched(text, grammar) == "<search>red</search>"
    assert searched(prefix + thought, grammar) == ""
    assert searched(f"{prefix}{thought}\n{SEARCHES[grammar]}", grammar) == ""


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("family", LONE)
def test_the_template_may_have_opened_the_thinking(family: str, grammar: str) -> None:
    _, suffix, end = FAMILIES[family]
    if "gpt-oss" in family:
        suffix = suffix.removeprefix("<|end|>")
    text = f"maybe\n{DECOYS[grammar]}\nis too early{suffix}{SEARCHES[grammar]}{end}"
    assert searched(text, grammar) == "<search>red</search>"


@pytest.mark.parametrize("family", FAMILIES)
def test_an_action_of_a_line_is_read_behind_thinking(family: str) -> None:
    prefix, suffix, end = FAMILIES[family]
    text = (
        Language(HOUSE, "native").read(f"{prefix}go to bed\nor so{suffix}go to desk 1{end}").native
    )
    assert parse(text, HOUSE).call == ActionCall("go", {"place": "desk 1"}) or end == "<|im_end|>"


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("family", FAMILIES)
def test_marks_inside_of_an_action_are_its_text(family: str, grammar: str) -> None:
    prefix, suffix, _ = (mark.strip() for mark in FAMILIES[family])
    for marks in (prefix, suffix, f"{prefix} x {suffix}"):
        command = f"grep -rn '{marks}' src/".replace("\n", "")
        call = ActionCall("bash", {"command": command})
        text = render(call, CODE, grammar)
        assert parse(text, CODE, grammar).call == call
        thought = f"<think>perhaps {text}</think>\n{text}"
        assert parse(thought, CODE, grammar).call == call
        if "[" in marks or "]" in marks:
            continue
        call = ActionCall("search", {"query": " ".join(f"what is {marks} for".split())})
        text = render(call, SHOP, grammar)
        assert parse(text, SHOP, grammar).call == call
        assert parse(f"I see.</think>{text}", SHOP, grammar).call == call


@pytest.mark.parametrize(
    "text",
    [
        "```bash\ngrep -rn '</think>' src/\n```",
        "```bash\ncat > a.jinja <<'E'\n<think>\n{{ thought }}\n</think>\nE\n```",
        "````bash\ncat > a.md <<'E'\n</think>\n```python\n```\nE\n````",
        "<think>grep</think>```bash\nsed -i 's/<think>//' a.py\n```",
        "I look for the mark.\n\n```bash\ngrep '[/THINK]' a.py # and [THINK]\n```",
        "The `</think>` tag is what I look for.\n```bash\ngrep '<think' a.py\n```",
    ],
)
def test_fences_hold_what_they_like(text: str) -> None:
    native, _, problem = SWELanguage("native").understand(text)
    assert native == text[text.index("```") :].strip() and not problem


def test_a_mention_of_an_action_opens_nothing() -> None:
    assert searched("I need the <search> tag</think><search>red</search>") == SEARCHES["xml"]
    assert (
        searched("<think>a</think>the <search> tag</think><search>red</search>") == SEARCHES["xml"]
    )
    fences = "I'll write\n```bash\n</think>\n```bash\nls\n```"
    assert SWELanguage("native").understand(fences)[0] == "```bash\nls\n```"
    quoted = "<think>I could run\n```bash\ngrep '</think>' a\n```\nbut</think>\n```bash\nls\n```"
    assert SWELanguage("native").understand(quoted)[0] == "```bash\nls\n```"
    assert parse("use search[ here</think>\nsearch[red]", SHOP).call == ActionCall(
        "search", {"query": "red"}
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>the `</think>` mark, <search>a</search></think><search>b</search>", "b"),
        ("<think>a [/THINK] <search>a</search> b</think><search>b</search>", "b"),
        ("<think><think>x</think> <search>a</search></think> <search>b</search>", "b"),
        ("<search>a</search> it is</think><search>b</search>", "b"),
        ("<search>a</search> <think>or <search>b</search></think>", "a"),
        ("<search>a</search> <think>or <search>b</search>", "a"),
        ("<search><think>a</think> b</search>", "<think>a</think> b"),
        ("<search>what is the <think> tag</search>", "what is the <think> tag"),
    ],
)
def test_which_reading_wins(text: str, expected: str) -> None:
    assert parse(text, SearchLanguage("native").specs).native == f"<search>{expected}</search>"


def test_an_action_may_have_the_name_of_a_mark() -> None:
    specs = (ActionSpec("thought", "Note.", (Param("text"),)), *SHOP)
    assert parse("<thought>a</thought>", specs, "xml").call == ActionCall("thought", {"text": "a"})


def test_brackets_of_other_words_are_no_marks() -> None:
    assert parse("click[THINK]", SHOP).call == ActionCall("click", {"element": "THINK"})
    text = "analysis of the shop: search[red]"
    assert strip_think(text, SHOP) is text


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_the_limit_counts_the_action_and_not_the_words_before_it(grammar: str) -> None:
    words = "so it is, " * 10_000
    call = ActionCall("search", {"query": "red"})
    assert parse(f"{words}\n{render(call, SHOP, grammar)}", SHOP, grammar).call == call
    language = Language(SHOP, grammar)
    assert language.read(f"{words}\n{render(call, SHOP, grammar)}").native.startswith("search[red]")
    assert SWELanguage("native").understand(f"{words}\n```bash\nls\n```")[0] == "```bash\nls\n```"
    assert searched(f"{words}\n{SEARCHES[grammar]}", grammar) == "<search>red</search>"
    long = parse(f"search[{'a' * 40_000}]", SHOP)
    assert long.call is None and "the action has 40,008 characters; at most" in long.error


THOUGHTS = st.lists(
    st.sampled_from(
        ["so ", "\n", "<search> ", "search[", "```bash\n", "```\n", "`", "<action>", "Action: ",
         "]", "<tool_call>", "{\"name\": ", "click[x]", "</search>", "<bash>", "'", "<|", "["]
    ), max_size=8,
).map("".join)  # fmt: skip


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_thought_never_changes_the_action_behind_it(family, grammar, data):
    prefix, suffix, end = FAMILIES[family]
    specs = data.draw(st.sampled_from([SHOP, CODE]))
    words = st.lists(st.sampled_from(["red", "bus", "7"]), min_size=1, max_size=3).map(" ".join)
    call = data.draw(calls(specs, words))
    thought = data.draw(THOUGHTS)
    text = f"{prefix}{thought} {suffix}\n{render(call, specs, grammar)}\n{end}"
    assert parse(text, specs, grammar).call == call


def test_every_row_of_the_table_is_met_by_a_family() -> None:
    texts = [prefix + suffix for prefix, suffix, _ in FAMILIES.values()]
    for marks in ROWS:
        assert marks.family and marks.source
        assert any(re.search(marks.opening, text) for text in texts), marks.family
    cut = {name: strip_think(f"{b}x{a}") for name, (b, a, _) in FAMILIES.items()}
    assert not any("x" in other_value for other_value in cut.values()), cut
    assert {"<think>", "<thought>", "<seed:think>"} <= {f"<{name}>" for name in TAG_NAMES}
    assert len(texts) >= 12
