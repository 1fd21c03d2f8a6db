"""A web shop: orders of one product each."""

from __future__ import annotations

from agentgym.envs.service.domains.shared import (
    CREDIT,
    CREDIT_RULES,
    REASONS,
    TELL_PAYMENT,
    TELL_REASON,
)
from agentgym.envs.service.engine.domain import Amount, Change, Domain, Rule

STREETS = ("Elm Road", "Mill Lane", "Park Street", "Hill Road", "Lake View", "Station Street")
ADDRESSES = tuple(f"{number} {street}" for street in STREETS for number in range(2, 50, 3))
EARLY = (("pending",), ("pending", "packed"), ("pending", "packed", "shipped"))
"""States in which something may still be changed."""

RETAIL = Domain(
    name="retail",
    business="a web shop",
    record="order",
    item="{adjective} {kind}",
    adjectives=("red", "green", "blue", "white", "black", "yellow"),
    kinds=("lamp", "chair", "mug", "coat", "clock", "bag"),
    fields={
        "status": ("pending", "packed", "shipped", "delivered"),
        "days": range(1, 40),
        "price": range(12, 99),
        "address": ADDRESSES,
    },
    fee="A refund is the price less a fee of {fee}.",
    changes=(
        Change(
            "cancel", "Cancel a record.", "reason", "word", "reason",
            (
                "I want to cancel my order.",
                "Please stop an order of mine, I do not want it.",
                "I have changed my mind and do not want what I ordered.",
            ),
            TELL_REASON, ("reason", "why"), REASONS, (("status", "cancelled"),),
            Amount("How much do I get back?", "record.price", "fee"),
        ),
        Change(
            "address", "Change the address of an order.", "address", "text", "address",
            (
                "I want to change the address of my order.",
                "My order goes to the wrong place.",
                "I have moved, and something that I ordered should follow me.",
            ),
            (
                "The address is {value}.",
                "It should go to {value}.",
                "{value} is where I live these days.",
            ),
            ("address", "where"), ADDRESSES,
        ),
        Change(
            "return", "Take an order back and refund it to a payment.", "payment", "payment",
            "refund",
            (
                "I want to return my order.",
                "Something that I bought is not what I expected, so I would send it back.",
                "I would like my money back for something I bought.",
            ),
            TELL_PAYMENT, ("payment", "refund", "money"), (), (("status", "returned"),),
            Amount("How much do I get back?", "record.price", "fee"),
        ),
        Change(
            "payment", "Change the payment of an order.", "payment", "payment", "payment",
            (
                "I want to change the payment of my order.",
                "I would rather pay for my order in another way.",
                "An order is charged to the wrong account.",
            ),
            TELL_PAYMENT, ("payment", "pay"),
        ),
        CREDIT,
        Change(
            "exchange", "Exchange an order for another product of the catalog.", "product",
            "catalog", "item",
            (
                "I want to exchange my order.",
                "I bought the wrong thing and would like another one instead.",
                "Could I swap something that I bought?",
            ),
            (
                "I want the {value} instead.",
                "The {value} is what I should have bought.",
                "I have seen that you have a {value}.",
            ),
            ("product", "instead", "exchange"), (), (("status", "exchanged"),),
            Amount("What is the difference in price?", "wanted.price", "record.price"),
        ),
    ),
    rules=(
        Rule("cancel", "An order is cancelled only while it is {limit}.",
             "record.status", "among", EARLY),
        Rule("cancel", "Cancelling an order of more than {limit} is for a supervisor.",
             "record.price", "most", (50, 60, 70, 80), transfer=True),
        Rule("address", "The address changes only while the order is {limit}.",
             "record.status", "among", EARLY[:2]),
        Rule("return", "Only an order that is {limit} is returned.",
             "record.status", "among", (("delivered",), ("shipped", "delivered"))),
        Rule("return", "An order is returned within {limit} days.",
             "record.days", "most", (10, 14, 20, 30)),
        Rule("return", "A refund goes to the payment of the order.",
             "value", "same", other="record.payment"),
        Rule("payment", "The payment changes only while the order is {limit}.",
             "record.status", "among", EARLY[:2]),
        Rule("payment", "The payment changes only to {limit}.",
             "value", "among", (("visa", "giro"), ("visa", "paypal"), ("giro", "paypal"))),
        *CREDIT_RULES,
        Rule("exchange", "Only an order that is {limit} is exchanged.",
             "record.status", "among", (("delivered",), ("shipped", "delivered"))),
        Rule("exchange", "An order is exchanged only for a product of the same kind.",
             "wanted.kind", "same", other="item.kind"),
        Rule("exchange", "An exchange for a product of more than {limit} is for a supervisor.",
             "wanted.price", "most", (50, 60, 70, 80), transfer=True),
    ),
    questions=(
        ("What was the price?", "record.price"),
        ("How many days ago did I order it?", "record.days"),
    ),
)  # fmt: skip
"""Orders."""
