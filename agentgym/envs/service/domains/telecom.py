"""A telephone company: lines with a plan each."""

from __future__ import annotations

from agentgym.envs.service.domains.shared import (
    CREDIT,
    CREDIT_RULES,
    REASONS,
    TELL_PAYMENT,
    TELL_REASON,
)
from agentgym.envs.service.engine.domain import Amount, Change, Domain, Rule

USED = (("active",), ("active", "overdue"))

TELECOM = Domain(
    name="telecom",
    business="a telephone company",
    record="line",
    item="{adjective} {kind} plan",
    adjectives=("mini", "light", "plus", "mega"),
    kinds=("solo", "family", "student", "office", "tablet"),
    fields={
        "status": ("active", "overdue", "blocked"),
        "months": range(1, 30),
        "price": range(8, 60),
        "due": range(5, 90),
        "data": range(1, 20),
        "roaming": ("on", "off"),
    },
    fee="A change of plan costs a fee of {fee}.",
    changes=(
        Change(
            "suspend", "Suspend a line.", "reason", "word", "reason",
            (
                "I want to suspend my line.",
                "Please put my number to sleep for a while.",
                "I will not need my phone for some time.",
            ),
            TELL_REASON, ("reason", "why"), REASONS, (("status", "suspended"),),
        ),
        Change(
            "roaming", "Switch roaming of a line on or off.", "roaming", "word", "roaming",
            (
                "I want to switch the roaming of my line.",
                "It is about the use of my phone abroad.",
                "I travel soon, and my phone should be ready.",
            ),
            (
                "It should be {value}.",
                "Roaming is to be {value}.",
                "Make it {value}, please.",
            ),
            ("roaming", "on", "off"), ("on", "off"),
        ),
        Change(
            "pay", "Pay what is due for a line.", "payment", "payment", "paid",
            (
                "I want to pay the bill of my line.",
                "There is a bill of yours that I would settle.",
                "I have some debts with you.",
            ),
            TELL_PAYMENT, ("payment", "pay", "how"), (), (("due", 0), ("status", "active")),
            Amount("How much did I pay?", "record.due"),
        ),
        Change(
            "data", "Set the gigabytes of data of a line.", "data", "number", "data",
            (
                "I want to change the data of my line.",
                "My gigabytes are not right for me.",
                "The internet of my phone ends too early in the month.",
            ),
            (
                "The data is {value}.",
                "I need {value} of them.",
                "{value} would do.",
            ),
            ("data", "gigabytes", "much"), ("2", "4", "8", "15", "25", "30", "50"),
        ),
        CREDIT,
        Change(
            "plan", "Move a line to another plan of the catalog.", "plan", "catalog", "item",
            (
                "I want to change the plan of my line.",
                "I would like other terms for my phone.",
                "What I pay for every month does not suit me.",
            ),
            (
                "I want the {value} instead.",
                "The {value} sounds better.",
                "Your {value} is what I need.",
            ),
            ("plan", "instead"), (), (("months", 0),),
            Amount("What does the change cost me?", "fee"),
        ),
    ),
    rules=(
        Rule("suspend", "A line is suspended only while it is {limit}.",
             "record.status", "among", USED),
        Rule("suspend", "A line is suspended after at least {limit} months.",
             "record.months", "least", (3, 6, 12)),
        Rule("roaming", "Roaming changes only while the line is {limit}.",
             "record.status", "among", USED),
        Rule("pay", "Bills are paid only by {limit}.",
             "value", "among", (("visa", "giro"), ("visa", "paypal"), ("giro", "paypal"))),
        Rule("pay", "A bill of more than {limit} is for a supervisor.",
             "record.due", "most", (30, 50, 70), transfer=True),
        Rule("data", "Data changes only while the line is {limit}.",
             "record.status", "among", USED),
        Rule("data", "More than {limit} gigabytes are for a supervisor.",
             "value", "most", (4, 8, 15, 25), transfer=True),
        *CREDIT_RULES,
        Rule("plan", "The plan changes after at least {limit} months.",
             "record.months", "least", (3, 6, 12)),
        Rule("plan", "The plan changes only to one of the same kind.",
             "wanted.kind", "same", other="item.kind"),
        Rule("plan", "A plan of more than {limit} is for a supervisor.",
             "wanted.price", "most", (30, 40, 50), transfer=True),
    ),
    questions=(
        ("What is the price?", "record.price"),
        ("How much is due?", "record.due"),
        ("How many gigabytes do I have?", "record.data"),
    ),
)  # fmt: skip
"""Lines."""
