"""A weak model copies what it reads: what the answer to an invalid action shows is no action."""

from __future__ import annotations

import pytest

from agentgym.actions import GRAMMARS
from agentgym.actions.blank_forms import blank_form
from tests.contract.conftest import Make

RUBBISH = (
    "I think that we need the sum.",
    "",
    "Action: hello there",
    "<action>hello there</action>",
    '<tool_call>{"name": "foo", "arguments": {}}</tool_call>',
    "<foo>bar</foo>",
)


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_no_hint_is_an_action(make: Make, grammar: str) -> None:
    env = make(grammar=grammar)
    hints: dict[str, str] = {}
    for rubbish in RUBBISH:
        env.reset(seed=0)
        observation, _, _, _, info = env.step(rubbish)
        if not info["action_valid"]:
            texts = (observation, str(info["details"].get("reason") or ""))
            hints |= {hint: rubbish for hint in texts if "invalid: " in hint or hint == texts[1]}
    forms = {blank_form(spec, grammar): spec.name for spec in env.spoken.specs if spec.params}
    native = {blank_form(spec, "native"): spec.name for spec in env.spoken.specs if spec.params}
    behind = {hint.partition("invalid: ")[2]: source for hint, source in hints.items()}
    for text, source in {**hints, **behind, **forms, **native}.items():
        if text:
            env.reset(seed=0)
            _, _, _, _, info = env.step(text)
            assert not info["action_valid"], (text, source, env.last_action)
