"""How an episode is laid out as messages: templates are filled once, whatever stands in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.conversation import (
    BARE,
    DEFAULT,
    AdmissibleStyle,
    Conversation,
    Layout,
    ObservationStyle,
    OpeningMessage,
    Prompt,
    SeenTurn,
)
from agentgym.conversation.layout import HISTORY_FIELDS, PROMPT_FIELDS, fill
from agentgym.conversation.prompt import Past
from agentgym.errors import ConfigurationError, DataError

HOSTILE = st.text() | st.lists(
    st.sampled_from(
        [*(f"{{{name}}}" for name in (*PROMPT_FIELDS, *HISTORY_FIELDS)), "{0}", "{x.__class__}",
         "{", "}", "{{", "}}", "%s", "\\1", "\\g<1>", "$task", " [SEP] ", "\n", "a"]
    ),
    max_size=8,
).map("".join)  # fmt: skip
STEP = Layout(
    kind="step",
    first="T {task}|O {observation}|A {admissible}",
    later="T {task}|{taken}/{step}/{shown}|H {history}|O {observation}|A {admissible}",
    window=2,
    history="<{number}:{observation}:{action}>",
    history_separator=";",
    admissible=AdmissibleStyle("'{action}'", ","),
)
TURNS = Layout(
    kind="turns",
    first="{observation} of {task} ({admissible})",
    later="{step}: {observation}",
    opening=(OpeningMessage("user", "Do {task}. {actions}"), OpeningMessage("assistant", "Yes.")),
)


def pairs_of(
    layout: Layout, task: str, turns: list[Past], last: SeenTurn, actions: str = ""
) -> list[Any]:
    return [(m["role"], m["content"]) for m in laid_out(Prompt(layout, actions), task, turns, last)]


def laid_out(prompt: Prompt, task: str, turns: list[Past], last: SeenTurn) -> list[dict[str, Any]]:
    conversation = Conversation(prompt, task)
    for turn in turns:
        conversation.add(*turn)
    assert len(conversation) == len(turns)
    return conversation.messages(last)


@given(st.dictionaries(st.sampled_from(PROMPT_FIELDS), HOSTILE), HOSTILE)
def test_text_of_a_value_is_never_read_as_a_field(values: dict[str, str], rest: str) -> None:
    names = list(values)
    template = "|".join(f"{{{name}}}" for name in names)
    assert fill(template, values) == "|".join(values[name] for name in names)
    assert fill("<{task}>", {"task": rest}) == f"<{rest}>"


@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
def test_what_an_environment_or_a_model_says_is_put_in_literally(
    task: str, before: str, answer: str, now: str
) -> None:
    last = SeenTurn(now, (task, answer))
    assert pairs_of(STEP, task, [], last) == [
        ("user", f"T {task}|O {now}|A '{task}'" + (f",'{answer}'" if answer != task else ""))
    ]
    (message,) = pairs_of(STEP, task, [Past(SeenTurn(before), answer)], SeenTurn(now))
    assert message == ("user", f"T {task}|1/2/1|H <1:{before}:{answer}>|O {now}|A ")
    assert pairs_of(TURNS, task, [Past(SeenTurn(before, ("a",)), answer)], SeenTurn(now), now) == [
        ("user", f"Do {task}. {now}"),
        ("assistant", "Yes."),
        ("user", f"{before} of {task} (a)"),
        ("assistant", answer),
        ("user", f"2: {now}"),
    ]


def past(number: int) -> Past:
    return Past(SeenTurn(f"o{number}"), f"a{number}")


def test_the_last_turns_are_shown_with_their_numbers() -> None:
    (message,) = pairs_of(STEP, "t", [past(n) for n in range(1, 5)], SeenTurn("o5"))
    assert message[1] == "T t|4/5/2|H <3:o3:a3>;<4:o4:a4>|O o5|A "


def test_a_prompt_that_is_too_long_does_without_the_history() -> None:
    short = Layout("step", "{observation}", "{history} {observation}", longest=12)
    turns = [Past(SeenTurn("a long observation"), "look")]
    assert pairs_of(short, "t", turns, SeenTurn("now")) == [("user", "now")]
    assert pairs_of(short, "t", [past(1)], SeenTurn("now")) == [("user", "1: o1\na1 now")]


def test_the_first_observation_is_never_left_out_of_a_conversation() -> None:
    layout = Layout("turns", "F {observation}", "L {step} {observation}", window=1)
    turns = [past(1), past(2), past(3)]
    assert pairs_of(layout, "t", turns, SeenTurn("o4")) == [
        ("user", "F o1"),
        ("assistant", "a3"),
        ("user", "L 4 o4"),
    ]
    assert not layout.grows and layout.windowed(None) is layout
    assert pairs_of(layout.windowed(2), "t", turns, SeenTurn("o4"))[1:3] == [
        ("assistant", "a2"),
        ("user", "L 3 o3"),
    ]


def test_instructions_begin_the_system_message_and_are_no_template() -> None:
    for layout, instructions in ((BARE, ""), (DEFAULT, "\n\nYou act in a text environment")):
        prompt = Prompt(layout, "act so", instructions="Say {task}.")
        messages = laid_out(prompt, "t", [], SeenTurn("o"))
        assert [message["role"] for message in messages] == ["system", "user"]
        assert messages[0]["content"].startswith(f"Say {{task}}.{instructions}")


def test_the_reason_of_an_invalid_action_is_said_where_the_layout_wants_it() -> None:
    last = SeenTurn.of(
        "Huh?", {"action_valid": False, "details": {"reason": "invalid: no such word"}}
    )
    style = Layout("turns", "{observation}", "{observation}", reasons=True)
    text = "Huh?\n[The last action was invalid: no such word]"
    assert pairs_of(style, "", [past(1)], last)[-1] == ("user", text)
    assert pairs_of(BARE, "", [past(1)], last)[-1] == ("user", "Huh?")
    repeated = SeenTurn("no word", (), "no word")
    assert pairs_of(style, "", [past(1)], repeated)[-1] == ("user", "no word")


@pytest.mark.parametrize("layout", [BARE, DEFAULT, STEP, TURNS])
def test_a_layout_is_read_back_from_json(layout: Layout) -> None:
    assert Layout.from_dict(json.loads(json.dumps(layout.to_dict()))) == layout
    with pytest.raises(DataError, match=r"layout\.first"):
        Layout.from_dict({**layout.to_dict(), "first": 3})


def test_calls_of_tools_go_with_the_default_alone() -> None:
    prompt = Prompt(DEFAULT.windowed(2), "notation", instructions="Play.").for_tools(7)
    (system,) = prompt.opening("t")
    assert system["content"].startswith("Play.\n\nYou act in a text environment by calling tools")
    assert "you have 7" in system["content"] and "notation" not in system["content"]
    assert prompt.layout.window == 2
    for layout in (STEP, TURNS):
        with pytest.raises(ConfigurationError, match="another grammar than tool_call"):
            Prompt(layout).for_tools()


def test_actions_are_shown_in_the_native_grammar() -> None:
    prompt = Prompt(STEP, read=lambda text: text.removeprefix("Action: ").strip())
    turns = [Past(SeenTurn("o"), "Action: look")]
    messages = laid_out(prompt, "t", turns, SeenTurn("p", ["Action: go"]))
    assert messages[0]["content"] == "T t|1/2/1|H <1:o:look>|O p|A 'go'"


def test_lists_leave_out_and_rename_actions() -> None:
    style = AdmissibleStyle("{action};", "", ("help",), {"search[": "search[words]"})
    assert style.write(["help", "search[a]", "click[b]", "search[c]"]) == "search[words];click[b];"


@pytest.mark.parametrize(
    ("observation", "expected"),
    [
        ("Shop [SEP] buy it [SEP] Back [SEP] Next", "'Back' [SEP] 'Next'"),
        ("Shop [SEP] buy something [SEP] Back", "Shop [SEP] buy something [SEP] Back"),
        ("buy it", ""),
    ],
)
def test_observations_are_shown_from_behind_the_task(observation: str, expected: str) -> None:
    style = ObservationStyle(" [SEP] ", "'{part}'", after_task=True)
    assert style.write(observation, "buy it") == expected


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "chat"}, "one of step, turns"),
        ({"first": "{goal}"}, r"fields of the template first among {task}.*got {goal}"),
        ({"history": "{step}"}, "template history among {number}"),
        ({"later": "x" * 40_000}, "template later to be a text of at most 32,768"),
        ({"opening": (OpeningMessage("user", "{observation}"),)}, "template opening among"),
        ({"opening": (OpeningMessage("tool", ""),)}, "role of an opening message"),
        ({"window": -1}, "window of the layout to be at least 0"),
        ({"kind": "turns", "window": 0}, "window of the layout to be at least 1"),
        ({"longest": 0}, "longest of the layout to be at least 1"),
    ],
)
def test_what_cannot_be_filled_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Layout(**{"kind": "step", "first": "", "later": "", **change})
