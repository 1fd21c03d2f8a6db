"""The tools of tau2-bench, where they differ from tau-bench's of the same names.

tau2-bench a2c02472, ``src/tau2/domains/retail/tools.py`` and ``airline/tools.py``. It has two
further tools; objects in arguments keep their known fields only; a booking takes seats; a change of
flights sets the cabin; and flights with a stop show each leg's own day. One habit is kept because
published results rest on it: items that replace several items all get price and options of the
last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agentgym.envs.service.published import airline, retail
from agentgym.envs.service.published.rows import Row, Rows
from agentgym.envs.service.published.tools import Refusal, Tool, row_of, text, tool, written

CHANGEABLE = ("pending", "pending (item modified)")
"""Statuses of orders whose address and payment change."""
FLIGHT = ("flight_number", "date")
PASSENGER = ("first_name", "last_name", "dob")
PAYMENT = ("payment_id", "amount")


def get_item_details(rows: Rows, item_id: str) -> str:
    """Show an item."""
    for _, product in rows.named("products"):
        if item_id in product["variants"]:
            return written(product["variants"][item_id])
    raise Refusal("item not found")


def modify_pending_order_address(rows: Rows, order_id: str, **address: str) -> str:
    """Change the address of an order."""
    return retail.change_address(rows, order_id, CHANGEABLE, address)


def modify_pending_order_payment(rows: Rows, order_id: str, payment_method_id: str) -> str:
    """Pay an order in another way."""
    return retail.change_payment(rows, order_id, CHANGEABLE, payment_method_id)


def modify_pending_order_items(
    rows: Rows,
    order_id: str,
    item_ids: Sequence[str],
    new_item_ids: Sequence[str],
    payment_method_id: str,
) -> str:
    """Replace items of an order by others of the same products, and pay the difference."""
    if any(old == new for old, new in zip(item_ids, new_item_ids, strict=False)):
        raise Refusal("expected other items than the present ones")
    items = (item_ids, new_item_ids)
    return retail.replace_items(rows, order_id, *items, payment_method_id, as_last=True)


def list_all_airports(rows: Rows) -> str:
    """List the airports and their cities."""
    return written([{"iata": code, "city": city} for code, city in airline.AIRPORTS.items()])


def search_onestop_flight(rows: Rows, origin: str, destination: str, date: str) -> str:
    """List the available pairs of flights of a day."""
    return airline.list_pairs(rows, origin, destination, date, of_own_day=True)


def get_flight_status(rows: Rows, flight_number: str, date: str) -> str:
    """Show the status of a flight."""
    dates = row_of(rows, "flights", flight_number, f"flight {flight_number}")["dates"]
    if date not in dates:
        raise Refusal(f"flight {flight_number} does not fly on {date}")
    return str(dates[date]["status"])


def book_reservation(
    rows: Rows,
    flights: Sequence[Row],
    passengers: Sequence[Row],
    payment_methods: Sequence[Row],
    cabin: str,
    **booking: Any,
) -> str:
    """Book flights for passengers, paid in full, and take their seats."""
    if rows.get("reservations", airline.NEW_RESERVATIONS[-1]) is not None:
        raise Refusal("there can be no further reservation")
    legs = _only(flights, FLIGHT)
    shown = airline.book_reservation(
        rows,
        flights=legs,
        passengers=_only(passengers, PASSENGER),
        payment_methods=_only(payment_methods, PAYMENT),
        cabin=cabin,
        **booking,
    )
    for leg in legs:
        day = rows.edit("flights", leg["flight_number"])["dates"][leg["date"]]
        day["available_seats"][cabin] -= len(passengers)
    return shown


def update_reservation_flights(
    rows: Rows, reservation_id: str, cabin: str, flights: Sequence[Row], payment_id: str
) -> str:
    """Replace the flights and the cabin of a reservation, and settle the difference."""
    legs = _only(flights, FLIGHT)
    airline.update_reservation_flights(rows, reservation_id, cabin, legs, payment_id)
    reservation = rows.edit("reservations", reservation_id)
    reservation["cabin"] = cabin
    return written(reservation)


def update_reservation_passengers(
    rows: Rows, reservation_id: str, passengers: Sequence[Row]
) -> str:
    """Replace the passengers of a reservation by as many others."""
    people = _only(passengers, PASSENGER)
    return airline.update_reservation_passengers(rows, reservation_id, people)


def _only(entries: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """Return copies of objects with some of their fields, all of which they must have."""
    return [{name: entry[name] for name in names} for entry in entries]


def _with_changes(tools: Sequence[Tool], *changed: Tool) -> tuple[Tool, ...]:
    """Return tools, those of the same names replaced, and further ones."""
    by_name = {tool.spec.name: tool for tool in (*tools, *changed)}
    return tuple(by_name.values())


def _changed(tools: Sequence[Tool], *runs: Callable[..., str]) -> list[Tool]:
    """Return the tools of some functions' names with these functions."""
    specs = {tool.spec.name: tool.spec for tool in tools}
    return [Tool(specs[run.__name__], run) for run in runs]


RETAIL2_TOOLS = _with_changes(
    retail.RETAIL_TOOLS,
    *_changed(
        retail.RETAIL_TOOLS,
        modify_pending_order_address,
        modify_pending_order_payment,
        modify_pending_order_items,
    ),
    tool(get_item_details, "Show an item.", text("item_id", "Id of the item.")),
)
"""The tools of retail in tau2-bench."""
AIRLINE2_TOOLS = _with_changes(
    airline.AIRLINE_TOOLS,
    *_changed(
        airline.AIRLINE_TOOLS,
        list_all_airports,
        search_onestop_flight,
        book_reservation,
        update_reservation_flights,
        update_reservation_passengers,
    ),
    tool(
        get_flight_status,
        "Show the status of a flight on a day.",
        text("flight_number", "Number of the flight, such as 'HAT001'."),
        text("date", "The day, YYYY-MM-DD."),
    ),
)
"""The tools of airline in tau2-bench."""
