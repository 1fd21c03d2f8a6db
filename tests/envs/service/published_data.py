"""A small database in tau-bench's form, all of our own, and where the published one may be."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

CARD, GIFT = "credit_card_1", "gift_card_2"
RETAIL: dict[str, Any] = {
    "orders": {
        f"#W000000{number}": {
            "order_id": f"#W000000{number}", "user_id": "ann_oak_1", "address": {"zip": "1"},
            "items": [
                {"name": "Lamp", "product_id": "1000000001", "item_id": "2000000001",
                 "price": 20.5, "options": {"colour": "red"}},
            ],
            "fulfillments": [], "status": status,
            "payment_history": [
                {"transaction_type": "payment", "amount": 20.5, "payment_method_id": GIFT}
            ],
        }
        for number, status in enumerate(("pending", "delivered", "pending"), 1)
    },
    "products": {
        "1000000001": {
            "name": "Lamp", "product_id": "1000000001",
            "variants": {
                f"200000000{n}": {"item_id": f"200000000{n}", "options": {"colour": colour},
                                  "available": n < 3, "price": 20.5 + n}
                for n, colour in enumerate(("red", "blue", "green"), 1)
            },
        }
    },
    "users": {
        "ann_oak_1": {
            "name": {"first_name": "Ann", "last_name": "Oak"},
            "address": {"zip": "12345"}, "email": "ann@example.com",
            "payment_methods": {
                CARD: {"source": "credit_card", "id": CARD},
                GIFT: {"source": "gift_card", "balance": 10, "id": GIFT},
            },
            "orders": ["#W0000001", "#W0000002"],
        }
    },
}  # fmt: skip
FIND = 'Action(name="find_user_id_by_email", kwargs={"email": "ann@example.com"})'
CANCEL = (
    'Action(name="cancel_pending_order", '
    'kwargs={"order_id": "#W0000001", "reason": "no longer needed"})'
)
TRANSFER = 'Action(name="transfer_to_human_agents", kwargs={"summary": "Ann wants more"})'
TASKS = f"""
from tau_bench.types import Action, Task

TASKS_TEST = [
    Task(annotator="0", user_id="ann_oak_1", instruction="You are Ann Oak. Cancel #W0000001.",
         actions=[{FIND}, Action(name="think", kwargs={{"thought": "hm"}}), {CANCEL}],
         outputs=["1020.5", "Lamp"]),
    Task(annotator="0", user_id="ann_oak_1", instruction="You want a manager.",
         actions=[{FIND}, {TRANSFER}], outputs=[]),
]
"""


def write_retail(folder: Path, tasks: str = TASKS) -> Path:
    """Write the folder of a domain; returns it."""
    (folder / "data").mkdir(parents=True)
    for name, rows in RETAIL.items():
        (folder / "data" / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "wiki.md").write_text("# Policy\nBe kind.\n", encoding="utf-8")
    (folder / "tasks_test.py").write_text(tasks, encoding="utf-8")
    return folder


def tau_bench() -> Path:
    """Return a checkout of tau-bench, or skip the test."""
    return checkout("tau-bench", "tau_bench")


def checkout(name: str, package: str) -> Path:
    """Return a checkout that has a package, or skip the test."""
    folder = os.environ.get("AGENTGYM_TEST_DATA")
    roots = [Path(folder)] if folder else []
    roots += [parent / "shared" / "data" for parent in Path(__file__).resolve().parents]
    path = next((r / name for r in roots if (r / name / package).is_dir()), None)
    return path or pytest.skip(
        f"needs a checkout of {name}: set AGENTGYM_TEST_DATA to the folder that holds it"
    )
