"""Templates that begin with a fence hold every text: their markers grow."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.actions import GRAMMARS, ActionCall, ActionSpec, Param, parse, render

SPECS = (
    ActionSpec(
        "sh",
        "Run a command.",
        (Param("command", verbatim=True),),
        native=("sh[{command}]", "```sh\n{command}\n```"),
    ),
    ActionSpec(
        "patch",
        "Replace text.",
        (Param("old", verbatim=True), Param("new", verbatim=True)),
        native="```patch\n<<<<< OLD\n{old}\n=====\n{new}\n>>>>> NEW\n```",
    ),
)
LINES = st.lists(
    st.sampled_from(
        ["", "a[", "b]", "```", "````", "``````sh", "=====", "========", "<<<<< OLD", ">>>>> NEW"]
    ),
    max_size=6,
)
TEXTS = st.builds("\n".join, LINES)


@given(TEXTS, TEXTS, st.sampled_from(GRAMMARS))
def test_any_text_is_written_and_read(first: str, second: str, grammar: str) -> None:
    for call in (
        ActionCall("sh", {"command": f"x {first}"}),
        ActionCall("patch", {"old": first, "new": second}),
    ):
        assert parse(render(call, SPECS, grammar), SPECS, grammar).call == call


def test_a_call_of_its_own_is_never_refused_for_its_text() -> None:
    text = "cat > a.md <<E\n````\n[x\n```\nE"
    call = json.dumps({"name": "sh", "arguments": {"command": text}})
    parsed = parse(f"<tool_call>{call}</tool_call>", SPECS, "tool_call")
    assert not parsed.error and parsed.native.startswith("`````sh\n")
    assert parse(parsed.native, SPECS).call == parsed.call == ActionCall("sh", {"command": text})


@pytest.mark.parametrize("grammar", ["native", "react", "action_tag"])
def test_a_text_with_the_line_ends_of_another_system(grammar: str) -> None:
    text = render(ActionCall("sh", {"command": "ls [\ncd"}), SPECS, grammar)
    assert "\n" in text
    assert (
        parse(text.replace("\n", "\r\n"), SPECS, grammar).call == parse(text, SPECS, grammar).call
    )


@pytest.mark.parametrize("text", ["`" * 30_000, "`````sh" * 4_000, "````sh x\n" * 3_000])
def test_rows_of_signs_are_read_once(text: str) -> None:
    assert parse(text, SPECS).call is None
