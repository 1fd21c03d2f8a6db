"""The tools of tau-bench's retail domain on its tables ``orders``, ``products`` and ``users``.

Each returns the row as tau-bench's tool of that name does (tau-bench 59a200c6,
``tau_bench/envs/retail/tools``); refusals are in words of our own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgym.actions import Param
from agentgym.envs.service.published.rows import Row, Rows
from agentgym.envs.service.published.tools import Refusal, Tool, row_of, text, tool, written

REASONS = ("no longer needed", "ordered by mistake")
ADDRESS = ("address1", "address2", "city", "state", "country", "zip")


def find_user_id_by_email(rows: Rows, email: str) -> str:
    """Find a customer by an address of mail."""
    return _user_id(rows, lambda user: user["email"].lower() == email.lower())


def find_user_id_by_name_zip(rows: Rows, first_name: str, last_name: str, zip: str) -> str:
    """Find a customer by name and zip code."""
    names = {"first_name": first_name.lower(), "last_name": last_name.lower()}
    return _user_id(
        rows,
        lambda user: (
            all(user["name"][part].lower() == name for part, name in names.items())
            and user["address"]["zip"] == zip
        ),
    )


def get_order_details(rows: Rows, order_id: str) -> str:
    """Show an order."""
    return written(row_of(rows, "orders", order_id, "order"))


def get_product_details(rows: Rows, product_id: str) -> str:
    """Show the items of a kind of product."""
    return written(row_of(rows, "products", product_id, "product"))


def list_all_product_types(rows: Rows) -> str:
    """List the names of products and their ids."""
    ids = {product["name"]: product["product_id"] for _, product in rows.named("products")}
    return written({name: ids[name] for name in sorted(ids)})


def cancel_pending_order(rows: Rows, order_id: str, reason: str) -> str:
    """Cancel an order; what was paid by gift card is refunded at once."""
    order = _order(rows, order_id, "pending")
    if reason not in REASONS:
        raise Refusal(f"expected a reason among {', '.join(REASONS)}")
    refunds = []
    for payment in order["payment_history"]:
        method, amount = payment["payment_method_id"], payment["amount"]
        refunds.append(_payment("refund", amount, method))
        if "gift_card" in method:
            _pay(_methods(rows, order)[method], -amount)
    order |= {"status": "cancelled", "cancel_reason": reason}
    order["payment_history"].extend(refunds)
    return written(order)


def modify_pending_order_address(rows: Rows, order_id: str, **address: str) -> str:
    """Change the address of an order."""
    return change_address(rows, order_id, ("pending",), address)


def change_address(
    rows: Rows, order_id: str, statuses: Sequence[str], address: Mapping[str, str]
) -> str:
    """Change the address of an order of some statuses."""
    order = _order(rows, order_id, *statuses)
    order["address"] = {part: address[part] for part in ADDRESS}
    return written(order)


def modify_user_address(rows: Rows, user_id: str, **address: str) -> str:
    """Change the address of a customer."""
    row_of(rows, "users", user_id, "user")
    user = rows.edit("users", user_id)
    user["address"] = {part: address[part] for part in ADDRESS}
    return written(user)


def modify_pending_order_payment(rows: Rows, order_id: str, payment_method_id: str) -> str:
    """Pay an order in another way."""
    return change_payment(rows, order_id, ("pending",), payment_method_id)


def change_payment(
    rows: Rows, order_id: str, statuses: Sequence[str], payment_method_id: str
) -> str:
    """Change the payment of an order of some statuses."""
    order = _order(rows, order_id, *statuses)
    methods, history = _methods(rows, order), order["payment_history"]
    method = _method(methods, payment_method_id)
    if len(history) > 1 or history[0]["transaction_type"] != "payment":
        raise Refusal("expected an order with exactly one payment")
    old, amount = history[0]["payment_method_id"], history[0]["amount"]
    if old == payment_method_id:
        raise Refusal("expected another payment method than the present one")
    _check_balance(method, amount)
    history += [_payment("payment", amount, payment_method_id), _payment("refund", amount, old)]
    if method["source"] == "gift_card":
        _pay(method, amount)
    if "gift_card" in old:
        _pay(methods[old], -amount)
    return written(order)


def modify_pending_order_items(
    rows: Rows,
    order_id: str,
    item_ids: Sequence[str],
    new_item_ids: Sequence[str],
    payment_method_id: str,
) -> str:
    """Replace items of an order by others of the same products, and pay the difference."""
    return replace_items(rows, order_id, item_ids, new_item_ids, payment_method_id)


def replace_items(
    rows: Rows,
    order_id: str,
    item_ids: Sequence[str],
    new_item_ids: Sequence[str],
    payment_method_id: str,
    *,
    as_last: bool = False,
) -> str:
    """Replace items of an order.

    Args:
        rows: The database.
        order_id: The order.
        item_ids: The items.
        new_item_ids: Those in their place.
        payment_method_id: Pays the difference.
        as_last: Whether all get price and options of the last one, as in tau2-bench.
    """
    order = _order(rows, order_id, "pending")
    difference = _difference(rows, order, item_ids, new_item_ids, rounded=False)
    method = _method(_methods(rows, order), payment_method_id)
    _check_balance(method, difference)
    kind = "payment" if difference > 0 else "refund"
    order["payment_history"].append(_payment(kind, abs(difference), payment_method_id))
    if method["source"] == "gift_card":
        _pay(method, difference)
    variants = [
        row_of(rows, "products", _item(order, old)["product_id"], "product")["variants"][new]
        for old, new in zip(item_ids, new_item_ids, strict=True)
    ]
    for item_id, new_item_id, own in zip(item_ids, new_item_ids, variants, strict=True):
        variant = variants[-1] if as_last else own
        _item(order, item_id).update(
            item_id=new_item_id, price=variant["price"], options=dict(variant["options"])
        )
    order["status"] = "pending (item modified)"
    return written(order)


def exchange_delivered_order_items(
    rows: Rows,
    order_id: str,
    item_ids: Sequence[str],
    new_item_ids: Sequence[str],
    payment_method_id: str,
) -> str:
    """Note a wish to exchange items for others of the same products."""
    order = _order(rows, order_id, "delivered")
    difference = _difference(rows, order, item_ids, new_item_ids)
    _check_balance(_method(_methods(rows, order), payment_method_id), difference)
    order |= {
        "status": "exchange requested",
        "exchange_items": sorted(item_ids),
        "exchange_new_items": sorted(new_item_ids),
        "exchange_payment_method_id": payment_method_id,
        "exchange_price_difference": difference,
    }
    return written(order)


def return_delivered_order_items(
    rows: Rows, order_id: str, item_ids: Sequence[str], payment_method_id: str
) -> str:
    """Note a wish to return items."""
    order = _order(rows, order_id, "delivered")
    _method(_methods(rows, order), payment_method_id)
    paid = order["payment_history"][0]["payment_method_id"]
    if "gift_card" not in payment_method_id and payment_method_id != paid:
        raise Refusal("expected the payment method of the order, or a gift card")
    _check_items(order, item_ids)
    order |= {
        "status": "return requested",
        "return_items": sorted(item_ids),
        "return_payment_method_id": payment_method_id,
    }
    return written(order)


def _user_id(rows: Rows, fits: Any) -> str:
    """Return the id of the first customer that fits."""
    user_id = next((key for key, user in rows.named("users") if fits(user)), None)
    if user_id is None:
        raise Refusal("user not found")
    return user_id


def _order(rows: Rows, order_id: str, *statuses: str) -> Row:
    """Return an order that may be changed."""
    if row_of(rows, "orders", order_id, "order")["status"] not in statuses:
        raise Refusal(f"expected an order that is {statuses[0]}")
    return rows.edit("orders", order_id)


def _methods(rows: Rows, order: Row) -> dict[str, Row]:
    """Return the payment methods of an order's customer, which may be changed."""
    methods: dict[str, Row] = rows.edit("users", order["user_id"])["payment_methods"]
    return methods


def _method(methods: dict[str, Row], payment_method_id: str) -> Row:
    if payment_method_id not in methods:
        raise Refusal("payment method not found")
    return methods[payment_method_id]


def _check_balance(method: Row, amount: float) -> None:
    if method["source"] == "gift_card" and method["balance"] < amount:
        raise Refusal("the balance of the gift card is too low")


def _pay(method: Row, amount: float) -> None:
    """Take an amount from a gift card."""
    method["balance"] = round(method["balance"] - amount, 2)


def _payment(kind: str, amount: float, payment_method_id: str) -> Row:
    return {
        "transaction_type": kind, "amount": amount, "payment_method_id": payment_method_id,
    }  # fmt: skip


def _check_items(order: Row, item_ids: Sequence[str]) -> None:
    """Check that an order has each item as often as it is named."""
    ordered = [item["item_id"] for item in order["items"]]
    for item_id in item_ids:
        if item_ids.count(item_id) > ordered.count(item_id):
            raise Refusal(f"item {item_id} not found")


def _item(order: Row, item_id: str) -> Row:
    item: Row = next(item for item in order["items"] if item["item_id"] == item_id)
    return item


def _difference(
    rows: Rows,
    order: Row,
    item_ids: Sequence[str],
    new_item_ids: Sequence[str],
    *,
    rounded: bool = True,
) -> float:
    """Return what new items cost more than old ones."""
    _check_items(order, item_ids)
    if len(item_ids) != len(new_item_ids):
        raise Refusal("expected as many new items as old ones")
    difference: float = 0
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        item = _item(order, item_id)
        variants = row_of(rows, "products", item["product_id"], "product")["variants"]
        if new_item_id not in variants or not variants[new_item_id]["available"]:
            raise Refusal(f"new item {new_item_id} not found or available")
        difference += variants[new_item_id]["price"] - item["price"]
    return round(difference, 2) if rounded else difference


ORDER = text("order_id", "Id of the order, such as '#W0000000'.")
PAYMENT = text("payment_method_id", "Id of a payment method of the customer.")
ITEMS = Param("item_ids", "array", "Ids of the items.", items="string")
NEW_ITEMS = Param(
    "new_item_ids", "array", "Ids of the new items, of the same products in the same order.",
    items="string",
)  # fmt: skip
PLACE = tuple(map(text, ADDRESS))

RETAIL_TOOLS: tuple[Tool, ...] = (
    tool(find_user_id_by_email, "Find the id of a customer by mail address.", text("email")),
    tool(
        find_user_id_by_name_zip, "Find the id of a customer by name and zip code.",
        text("first_name"), text("last_name"), text("zip"),
    ),
    tool(get_order_details, "Show an order.", ORDER),
    tool(
        get_product_details, "Show the items of a product.",
        text("product_id", "Id of the product, which is not that of an item."),
    ),
    tool(list_all_product_types, "List the products and their ids."),
    tool(
        cancel_pending_order, "Cancel a pending order.", ORDER,
        Param("reason", description="The customer's reason.", enum=REASONS),
    ),
    tool(modify_pending_order_address, "Change the address of a pending order.", ORDER, *PLACE),
    tool(modify_pending_order_payment, "Change the payment of a pending order.", ORDER, PAYMENT),
    tool(
        modify_pending_order_items, "Change items of a pending order; possible only once.",
        ORDER, ITEMS, NEW_ITEMS, PAYMENT,
    ),
    tool(modify_user_address, "Change the address of a customer.", text("user_id"), *PLACE),
    tool(
        exchange_delivered_order_items, "Exchange items of a delivered order; possible only once.",
        ORDER, ITEMS, NEW_ITEMS, PAYMENT,
    ),
    tool(
        return_delivered_order_items, "Return items of a delivered order; possible only once.",
        ORDER, ITEMS, PAYMENT,
    ),
)  # fmt: skip
"""The tools of retail."""
