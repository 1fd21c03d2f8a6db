"""An airline: bookings of one flight each."""

from __future__ import annotations

from agentgym.envs.service.domains.shared import (
    CREDIT,
    CREDIT_RULES,
    REASONS,
    TELL_REASON,
)
from agentgym.envs.service.engine.domain import Amount, Change, Domain, Rule

BOOKED = (("booked",), ("booked", "checked"))
FARES = (("flex",), ("flex", "basic"), ("flex", "saver"))

AIRLINE = Domain(
    name="airline",
    business="an airline",
    record="booking",
    item="{adjective} flight to {kind}",
    adjectives=("morning", "noon", "evening", "night"),
    kinds=("Oslo", "Lima", "Cairo", "Delhi", "Quebec", "Porto"),
    fields={
        "status": ("booked", "checked", "flown"),
        "days": range(1, 30),
        "price": range(60, 400),
        "fare": ("flex", "basic", "saver"),
        "cabin": ("economy", "comfort", "business"),
        "seat": ("window", "aisle", "middle"),
        "bags": range(3),
    },
    fee="A refund is the price less a fee of {fee}.",
    changes=(
        Change(
            "cancel", "Cancel a record.", "reason", "word", "reason",
            (
                "I want to cancel my booking.",
                "I am not going to fly after all.",
                "My trip is off, so I do not need the flight.",
            ),
            TELL_REASON, ("reason", "why"), REASONS, (("status", "cancelled"),),
            Amount("How much do I get back?", "record.price", "fee"),
        ),
        Change(
            "seat", "Change the seat of a booking.", "seat", "word", "seat",
            (
                "I want to change the seat of my booking.",
                "I do not like where I sit.",
                "Could I sit somewhere else on the plane?",
            ),
            (
                "The seat is {value}.",
                "Put me at the {value}.",
                "I feel best at the {value}.",
            ),
            ("seat", "sit", "where"), ("window", "aisle", "middle"),
        ),
        Change(
            "cabin", "Change the cabin of a booking.", "cabin", "word", "cabin",
            (
                "I want to change the cabin of my booking.",
                "I would like to fly in another class.",
                "Is there another class for me on the flight?",
            ),
            (
                "The cabin is {value}.",
                "I would fly in {value}.",
                "{value} is what I have in mind.",
            ),
            ("cabin", "class"), ("economy", "comfort", "business"),
        ),
        Change(
            "bags", "Set the number of bags of a booking.", "bags", "number", "bags",
            (
                "I want to change the bags of my booking.",
                "My luggage is not what I booked.",
                "I have packed for my flight, and it is not as planned.",
            ),
            (
                "The number of bags is {value}.",
                "It is {value} in all.",
                "I come with {value}.",
            ),
            ("bags", "luggage", "many"), ("0", "1", "2", "3", "4", "5"),
        ),
        CREDIT,
        Change(
            "rebook", "Move a booking to another flight of the catalog.", "flight", "catalog",
            "item",
            (
                "I want to change the flight of my booking.",
                "I have to fly at another time.",
                "My plans have changed, and I need to take another flight.",
            ),
            (
                "I want the {value} instead.",
                "Put me on the {value}.",
                "The {value} would suit me.",
            ),
            ("flight", "instead"), (), (("status", "rebooked"),),
            Amount("What is the difference in price?", "wanted.price", "record.price"),
        ),
    ),
    rules=(
        Rule("cancel", "A booking is cancelled only while it is {limit}.",
             "record.status", "among", BOOKED),
        Rule("cancel", "A booking is cancelled at least {limit} days before the flight.",
             "record.days", "least", (2, 4, 7, 10)),
        Rule("cancel", "Cancelling a booking of more than {limit} is for a supervisor.",
             "record.price", "most", (150, 200, 300), transfer=True),
        Rule("seat", "The seat changes only while the booking is {limit}.",
             "record.status", "among", BOOKED),
        Rule("cabin", "The cabin changes only with the fare {limit}.",
             "record.fare", "among", FARES),
        Rule("cabin", "The cabin changes at least {limit} days before the flight.",
             "record.days", "least", (2, 4, 7, 10)),
        Rule("bags", "Bags change only while the booking is {limit}.",
             "record.status", "among", BOOKED),
        Rule("bags", "More than {limit} bags are for a supervisor.",
             "value", "most", (1, 2, 3), transfer=True),
        *CREDIT_RULES,
        Rule("rebook", "The flight changes only with the fare {limit}.",
             "record.fare", "among", FARES),
        Rule("rebook", "The flight changes only to one with the same destination.",
             "wanted.kind", "same", other="item.kind"),
        Rule("rebook", "A flight of more than {limit} is for a supervisor.",
             "wanted.price", "most", (150, 200, 300), transfer=True),
    ),
    questions=(
        ("What was the price?", "record.price"),
        ("In how many days do I fly?", "record.days"),
        ("How many bags did I book?", "record.bags"),
    ),
)  # fmt: skip
"""Bookings."""
