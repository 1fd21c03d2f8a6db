"""The compact mode: its texts to the letter, and its forgiving grammar."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.webshop.engine import commands
from agentgym.envs.webshop.engine.shop import Shop
from agentgym.envs.webshop.env import WebShopEnv
from agentgym.envs.webshop.tasks import listed_tasks


@pytest.fixture
def env(shop: Shop) -> WebShopEnv:
    tasks = listed_tasks("tiny", shop.goals)
    webshop = WebShopEnv(world=shop, tasks=tasks, observation_mode="compact", horizon=50)
    asin = "B000000002"
    split, index = next(
        (split, index)
        for split in tasks.splits
        for index in range(tasks.len(split))
        if tasks.task(split, index).content["asin"] == asin
    )
    webshop.reset(options={"split": split, "index": index})
    return webshop


def test_texts(env: WebShopEnv) -> None:
    instruction = env.session.goal.instruction_text

    def act(action: str) -> str:
        return env.step(action)[0]

    assert env.reset(options={"task_id": env.task.id})[0] == instruction
    assert act("click[1]") == "invalid: search first"
    listed = act("search[model 2 running shoes]").split("\n")
    assert listed[0] == "brand2 running shoes model 2 $12.50 #1" and listed[-1] == "next"
    assert len(listed) == 5
    assert act("click[9]") == "invalid: no 9 here"
    item = act("click[#1]").split("\n")
    assert item == [
        "feature 2: breathable, second feature", "color: navy | olive | tan",
        "size: small | large", instruction,
    ]  # fmt: skip
    assert act("click[ Navy ]") == "chosen navy"
    assert act("click[description]") == "plain running shoes. made for item 2."
    assert act("click[back]") == "item"
    assert act("click[back]") == "results"
    assert act("click[next]").split("\n")[0].endswith("#1")
    for _ in range(4):
        assert act("click[next]").split("\n")[3].endswith("#4")
    assert act("click[next]") == "invalid: no more results"
    assert (
        act("click[prev]") and act("hello") == "invalid: write search[{query}] or click[{element}]"
    )
    assert act("search[zzzz]") == "no results"
    assert act("click[back to search]") == instruction
    act("search[model 2 running shoes]")
    assert act("click[b000000002]") == "invalid: no b000000002 here"
    act("click[1]")
    assert act("click[buy]") == "bought"


def test_invalid_actions_change_nothing(env: WebShopEnv) -> None:
    env.step("search[lamps]")
    key = env.step("click[1]")[4]["state_key"]
    for action in ("click[]", "search[ ]", "click[zebra]", "buy now", "", "click"):
        info = env.step(action)[4]
        assert not info["action_valid"] and info["state_key"] == key


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("search[a  B]", ("search", "a  b")),
        ("Search [ x ]", ("search", " x ")),
        ("I think click[ buy\nnow ] now", ("click", " buy\nnow ")),
        ("search[a] click[b]", ("search", "a")),
        ("click[a [b] c]", ("click", "a [b] c")),
        ("click[a [b]", ("click", "a [b")),
        ("click[", None),
        ("research[x]", None),
        ("buy", None),
    ],
)
def test_grammar(text: str, expected: tuple[str, str] | None) -> None:
    assert commands.forgiving(text) == expected


def plain_read(text: str) -> tuple[str, str] | None:
    """The grammar as its definition says it, without regard to time."""
    for match in re.finditer(r"\b(search|click)\s*\[", text, re.IGNORECASE):
        ends = [i for i in range(match.end(), len(text)) if text[i] == "]"]
        for end in ends:
            inside = text[match.end() : end]
            if inside.count("[") == inside.count("]"):
                return match[1].lower(), inside.lower()
        if ends:
            return match[1].lower(), text[match.end() : ends[-1]].lower()
    return None


PIECES = st.sampled_from(
    ["search[", "Click [", "search", "[", "]", " ", "\n", "a", "B b", "\u0130"]
)


@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=40))
def test_grammar_is_the_plain_one(text: str) -> None:
    assert commands.forgiving(text) == plain_read(text)


class Counted(str):
    """A text that counts the characters that are taken out of it."""

    visits = 0

    def __getitem__(self, key: Any) -> Counted:
        part = Counted(super().__getitem__(key))
        Counted.visits += len(part)
        return part

    def rfind(self, *args: Any) -> int:
        Counted.visits += len(self)
        return super().rfind(*args)


@pytest.mark.parametrize(
    "piece", ["search[", "click[[", "search[]]", "[", "search[a] ", "search  "]
)
@pytest.mark.parametrize("tail", ["", "]", "]" * 99])
def test_long_texts_are_read_in_one_pass(piece: str, tail: str) -> None:
    text = Counted((piece * 4096)[: 4096 - len(tail)] + tail)
    Counted.visits = 0
    assert commands.forgiving(text) == plain_read(str(text)[:4096])
    assert Counted.visits <= 2 * len(text)
