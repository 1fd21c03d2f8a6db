"""What the domains have in common: reasons, and credits for good will."""

from __future__ import annotations

from agentgym.envs.service.engine.domain import Change, Rule

REASONS = ("delay", "mistake", "price", "illness", "doubt")
"""Reasons of customers."""
TELL_REASON = (
    "The reason is: {value}.",
    "It is because of {value}.",
    "Well, {value} is why.",
)
TELL_PAYMENT = ("Use {value}.", "By {value}, please.", "I would like to use {value} for that.")
CREDIT = Change(
    "credit", "Give the customer a credit for a record.", "amount", "number", "credit",
    (
        "I want a credit for the trouble.",
        "I was treated badly and expect some money as compensation.",
        "Your service was poor, so I think that a credit is in order.",
    ),
    ("The amount is {value}.", "I think of {value}.", "{value} would be fair."),
    ("amount", "much"),
    ("5", "10", "15", "20", "25", "30", "40", "60"),
)  # fmt: skip
CREDIT_RULES = (
    Rule(
        "credit", "Only customers of tier {limit} get a credit.",
        "customer.tier", "among", (("gold",), ("gold", "silver"), ("silver",)),
    ),
    Rule(
        "credit", "A credit of more than {limit} is for a supervisor.",
        "value", "most", (10, 20, 30), transfer=True,
    ),
)  # fmt: skip
