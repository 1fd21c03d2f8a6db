"""What a customer takes a message for."""

from __future__ import annotations

import pytest

from agentgym.envs.service.engine.message import MOST_CHARS, Message


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Your order has been cancelled.", "claims"),
        ("All done!", "claims"),
        ("Is it done?", "asks"),
        ("I cannot do that, because rule 3 forbids it.", "refuses"),
        ("I\u2019m sorry, but I can\u2019t: rule 2.", "refuses"),
        ("It is not possible; nothing was changed.", "refuses"),
        ("Can you not tell me your number?", "asks"),
        ("One moment, please.", ""),
        ("It is cancelled. Anything else?", "claims"),
        ("Done. Is there anything else I can help you with?", "claims"),
        ("Order #172 cancelled successfully.", "claims"),
        ("I've gone ahead and changed it, anything else?", "claims"),
        ("I have applied a credit of 10.", "claims"),
        ("It is cancelled, which cannot be undone.", "claims"),
        ("You're all set!", "claims"),
        ("Tell me which order you want cancelled.", ""),
        ("I see booking #172, paid by giro.", ""),
        ("It has not been changed yet.", ""),
        ("It will be changed to Premium. Reply yes to proceed.", ""),
        ("Once it is cancelled, you get 43 back.", ""),
        ("An order is cancelled only while it is pending.", ""),
        ("You have paid already.", ""),
        ("Rule 3 does not let orders be cancelled.", "refuses"),
        ("Rule 3 does not allow it to be changed.", "refuses"),
        ("I am not able to do that; it is prohibited.", "refuses"),
        ("I cannot do that because of rule 3. Is there anything else?", "refuses"),
        ("I cannot do that because of rule 3. Is that clear?", "refuses"),
        ("I cannot find that order. What is its number?", "asks"),
        ("I will change #172 to Premium, is that ok?", "asks"),
    ],
)
def test_a_message_is_a_question_a_refusal_a_claim_or_nothing(text: str, kind: str) -> None:
    message = Message(text)
    assert [name for name in ("asks", "refuses", "claims") if getattr(message, name)] == (
        [kind] if kind else []
    )


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("because of rule 12.", 12),
        ("Rule no. 4 forbids it, yes, rule 4", 4),
        ("Rule #7", 7),
        ("rules 1, 2", 1),
        ("rule 1 or rule 2", 0),
        ("because of 3", 0),
        ("the rulebook 5", 0),
    ],
)
def test_the_cited_rule_is_the_only_one(text: str, rule: int) -> None:
    assert Message(text).rule == rule


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("You get 43 back for #482.", (43,)),
        ("It is 43, by rule 2.", (43,)),
        ("It costs 43.", (43,)),
        ("W43 v1.43 43b", ()),
        ("1, 2 or 3", (1, 2, 3)),
        ("1 2 3 4", ()),
        ("43?", ()),
        ("9" * 5000, ()),
    ],
)
def test_an_answer_is_one_of_few_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert Message(text).numbers == numbers


def test_words_are_found_in_a_row() -> None:
    message = Message("Shall I send order #482 to 12 Elm-Road?")
    assert message.mentions("12 elm road") and message.mentions("#482")
    assert not message.mentions("482") and not message.mentions("elm order")
    assert not message.mentions("") and not message.mentions("?")
    assert not Message(f"{'x ' * MOST_CHARS} done").claims
