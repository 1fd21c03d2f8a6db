"""The tools of tau-bench's airline domain on its ``flights``, ``reservations`` and ``users``.

Each returns the rows as tau-bench's tool of that name does (tau-bench 59a200c6,
``tau_bench/envs/airline/tools``); refusals are in words of our own. Two habits are kept because
published results rest on them: seats never run out by booking, and the second leg of a flight
with a stop is described with the seats and prices of the first leg's day.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from agentgym.actions import Param
from agentgym.envs.service.published.rows import Row, Rows
from agentgym.envs.service.published.tools import Refusal, Tool, row_of, text, tool, written

AIRPORTS = {
    "SFO": "San Francisco", "JFK": "New York", "LAX": "Los Angeles", "ORD": "Chicago",
    "DFW": "Dallas", "DEN": "Denver", "SEA": "Seattle", "ATL": "Atlanta", "MIA": "Miami",
    "BOS": "Boston", "PHX": "Phoenix", "IAH": "Houston", "LAS": "Las Vegas", "MCO": "Orlando",
    "EWR": "Newark", "CLT": "Charlotte", "MSP": "Minneapolis", "DTW": "Detroit",
    "PHL": "Philadelphia", "LGA": "LaGuardia",
}  # fmt: skip
"""Code of an airport -> its city."""
NEW_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
"""Ids of the reservations that are made in an episode."""
CERTIFICATES = (3221322, 3221323, 3221324)
"""Numbers of the certificates that are given in an episode."""
TODAY = "2024-05-15T15:00:00"
"""When reservations are made."""
CABINS = ("basic_economy", "economy", "business")
BAG_PRICE, INSURANCE_PRICE = 50, 30
PREPAID = ("gift_card", "certificate")


def get_reservation_details(rows: Rows, reservation_id: str) -> str:
    """Show a reservation."""
    return written(row_of(rows, "reservations", reservation_id, "reservation"))


def list_all_airports(rows: Rows) -> str:
    """List the airports and their cities."""
    return written(AIRPORTS)


def search_direct_flight(rows: Rows, origin: str, destination: str, date: str) -> str:
    """List the available flights of a day."""
    return written(
        [
            {**_without_dates(flight), **flight["dates"][date]}
            for _, flight in rows.named("flights")
            if (flight["origin"], flight["destination"]) == (origin, destination)
            and _is_available(flight, date)
        ]
    )


def search_onestop_flight(rows: Rows, origin: str, destination: str, date: str) -> str:
    """List the available pairs of flights of a day."""
    return list_pairs(rows, origin, destination, date)


def list_pairs(
    rows: Rows, origin: str, destination: str, date: str, *, of_own_day: bool = False
) -> str:
    """List the available pairs of flights of a day.

    Args:
        rows: The database.
        origin: Code of an airport.
        destination: Code of an airport.
        date: The day of the first leg.
        of_own_day: Whether the second leg is shown with seats and prices of its own day.
    """
    flights = [flight for _, flight in rows.named("flights")]
    pairs = []
    for first in flights:
        if first["origin"] != origin:
            continue
        arrival = first["scheduled_arrival_time_est"]
        next_date = f"2024-05-{int(date[-2:]) + 1}" if "+1" in arrival else date
        for second in flights:
            if (
                (second["origin"], second["destination"]) != (first["destination"], destination)
                or arrival > second["scheduled_departure_time_est"]
                or not _is_available(first, date)
                or not _is_available(second, next_date)
            ):
                continue
            legs = ((first, date), (second, next_date))
            pairs.append(
                [
                    {
                        **_without_dates(flight),
                        **flight["dates"][day if of_own_day else date],
                        "date": day,
                    }
                    for flight, day in legs
                ]
            )
    return written(pairs)


def book_reservation(
    rows: Rows,
    user_id: str,
    origin: str,
    destination: str,
    flight_type: str,
    cabin: str,
    flights: Sequence[Row],
    passengers: Sequence[Row],
    payment_methods: Sequence[Row],
    total_baggages: int,
    nonfree_baggages: int,
    insurance: str,
) -> str:
    """Book flights for passengers, paid in full."""
    row_of(rows, "users", user_id, "user")
    methods = rows.edit("users", user_id)["payment_methods"]
    legs = copy.deepcopy(list(flights))
    price = len(passengers) * sum(_price_leg(rows, leg, cabin, len(passengers)) for leg in legs)
    price += INSURANCE_PRICE * len(passengers) * (insurance == "yes")
    price += BAG_PRICE * nonfree_baggages
    for payment in payment_methods:
        method = _method(methods, payment["payment_id"])
        if method["source"] in PREPAID and method["amount"] < payment["amount"]:
            raise Refusal(f"the balance of {payment['payment_id']} is too low")
    paid = sum(payment["amount"] for payment in payment_methods)
    if paid != price:
        raise Refusal(f"expected payments of {price} in all, got {paid}")
    for payment in payment_methods:
        method_id = payment["payment_id"]
        if methods[method_id]["source"] == "gift_card":
            methods[method_id]["amount"] -= payment["amount"]
        elif methods[method_id]["source"] == "certificate":
            del methods[method_id]
    taken = [rows.get("reservations", key) is not None for key in NEW_RESERVATIONS[:2]]
    reservation_id = NEW_RESERVATIONS[taken[0] + (taken[0] and taken[1])]
    reservation = {
        "reservation_id": reservation_id, "user_id": user_id, "origin": origin,
        "destination": destination, "flight_type": flight_type, "cabin": cabin, "flights": legs,
        "passengers": list(passengers), "payment_history": list(payment_methods),
        "created_at": TODAY, "total_baggages": total_baggages,
        "nonfree_baggages": nonfree_baggages, "insurance": insurance,
    }  # fmt: skip
    rows.add("reservations", reservation_id, reservation)
    rows.edit("users", user_id)["reservations"].append(reservation_id)
    return written(reservation)


def cancel_reservation(rows: Rows, reservation_id: str) -> str:
    """Cancel a reservation and pay back what was paid."""
    reservation = _reservation(rows, reservation_id)
    history = reservation["payment_history"]
    history += [
        {"payment_id": payment["payment_id"], "amount": -payment["amount"]} for payment in history
    ]
    reservation["status"] = "cancelled"
    return written(reservation)


def update_reservation_baggages(
    rows: Rows, reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str
) -> str:
    """Set the bags of a reservation, and pay for further ones."""
    reservation = _reservation(rows, reservation_id)
    price = BAG_PRICE * max(0, nonfree_baggages - reservation["nonfree_baggages"])
    method = _method_for_update(rows, reservation, payment_id, price)
    reservation |= {"total_baggages": total_baggages, "nonfree_baggages": nonfree_baggages}
    return _charge(reservation, method, payment_id, price)


def update_reservation_flights(
    rows: Rows, reservation_id: str, cabin: str, flights: Sequence[Row], payment_id: str
) -> str:
    """Replace the flights of a reservation, and pay or get back the difference.

    The cabin of the reservation itself stays as it was, as in tau-bench.
    """
    reservation = _reservation(rows, reservation_id)
    count, legs = len(reservation["passengers"]), copy.deepcopy(list(flights))
    price: float = 0
    for leg in legs:
        booked = [
            old
            for old in reservation["flights"]
            if (old["flight_number"], old["date"]) == (leg["flight_number"], leg["date"])
            and cabin == reservation["cabin"]
        ]
        if booked:
            leg |= {name: booked[0][name] for name in ("price", "origin", "destination")}
            price += leg["price"] * count
        else:
            price += _price_leg(rows, leg, cabin, count) * count
    price -= sum(old["price"] for old in reservation["flights"]) * count
    method = _method_for_update(rows, reservation, payment_id, price)
    reservation["flights"] = legs
    return _charge(reservation, method, payment_id, price)


def update_reservation_passengers(
    rows: Rows, reservation_id: str, passengers: Sequence[Row]
) -> str:
    """Replace the passengers of a reservation by as many others."""
    reservation = _reservation(rows, reservation_id)
    if len(passengers) != len(reservation["passengers"]):
        raise Refusal("expected as many passengers as before")
    reservation["passengers"] = list(passengers)
    return written(reservation)


def send_certificate(rows: Rows, user_id: str, amount: int) -> str:
    """Give a customer a certificate."""
    row_of(rows, "users", user_id, "user")
    methods = rows.edit("users", user_id)["payment_methods"]
    free = [f"certificate_{number}" for number in CERTIFICATES]
    free = [name for name in free if name not in methods]
    if not free:
        raise Refusal("this customer has got as many certificates as there can be")
    methods[free[0]] = {"source": "certificate", "amount": amount, "id": free[0]}
    return f"Certificate {free[0]} added to user {user_id} with amount {amount}."


def _reservation(rows: Rows, reservation_id: str) -> Row:
    """Return a reservation that may be changed."""
    row_of(rows, "reservations", reservation_id, "reservation")
    return rows.edit("reservations", reservation_id)


def _without_dates(flight: Row) -> Row:
    return {name: value for name, value in flight.items() if name != "dates"}


def _is_available(flight: Row, date: str) -> bool:
    return date in flight["dates"] and flight["dates"][date]["status"] == "available"


def _price_leg(rows: Rows, leg: Row, cabin: str, count: int) -> float:
    """Complete a new leg, and return its price for a passenger."""
    number, date = leg["flight_number"], leg["date"]
    flight = row_of(rows, "flights", number, f"flight {number}")
    if not _is_available(flight, date):
        raise Refusal(f"flight {number} is not available on {date}")
    day = flight["dates"][date]
    if day["available_seats"][cabin] < count:
        raise Refusal(f"flight {number} has not enough seats")
    price: float = day["prices"][cabin]
    leg |= {"price": price, "origin": flight["origin"], "destination": flight["destination"]}
    return price


def _method(methods: dict[str, Row], payment_id: str) -> Row:
    if payment_id not in methods:
        raise Refusal(f"payment method {payment_id} not found")
    return methods[payment_id]


def _method_for_update(rows: Rows, reservation: Row, payment_id: str, price: float) -> Row:
    """Return the payment method of a change, which cannot be a certificate."""
    user = rows.edit("users", reservation["user_id"])
    method = _method(user["payment_methods"], payment_id)
    if method["source"] == "certificate":
        raise Refusal("a certificate cannot pay for a change")
    if method["source"] == "gift_card" and method["amount"] < price:
        raise Refusal("the balance of the gift card is too low")
    return method


def _charge(reservation: Row, method: Row, payment_id: str, price: float) -> str:
    """Pay for a change of a reservation."""
    if method["source"] == "gift_card":
        method["amount"] -= price
    if price != 0:
        reservation["payment_history"].append({"payment_id": payment_id, "amount": price})
    return written(reservation)


RESERVATION = text("reservation_id", "Id of the reservation, such as 'ZFA04Y'.")
ROUTE = (
    text("origin", "Code of an airport, such as 'SFO'."),
    text("destination", "Code of an airport."),
)
CABIN = Param("cabin", enum=CABINS, description="The cabin of all flights.")
FLIGHTS = Param(
    "flights", "array", "All flights, each with flight_number and date (YYYY-MM-DD).",
    items="object",
)  # fmt: skip
PASSENGERS = Param(
    "passengers", "array", "Passengers, each with first_name, last_name and dob (YYYY-MM-DD).",
    items="object",
)  # fmt: skip
BAGS = (
    Param("total_baggages", "integer", "Bags in all."),
    Param("nonfree_baggages", "integer", "Bags that are paid for."),
)
PAYMENT: Any = text("payment_id", "Id of a payment method of the customer.")

AIRLINE_TOOLS: tuple[Tool, ...] = (
    tool(get_reservation_details, "Show a reservation.", RESERVATION),
    tool(list_all_airports, "List the airports and their cities."),
    tool(
        search_direct_flight, "List the direct flights of a day.", *ROUTE,
        text("date", "The day, YYYY-MM-DD."),
    ),
    tool(
        search_onestop_flight, "List the flights of a day with one stop.", *ROUTE,
        text("date", "The day, YYYY-MM-DD."),
    ),
    tool(
        book_reservation, "Book a reservation.", text("user_id"), *ROUTE,
        Param("flight_type", enum=("one_way", "round_trip")), CABIN, FLIGHTS, PASSENGERS,
        Param("payment_methods", "array", "Payments, each with payment_id and amount.",
              items="object"),
        *BAGS, Param("insurance", enum=("yes", "no")),
    ),
    tool(cancel_reservation, "Cancel a whole reservation.", RESERVATION),
    tool(update_reservation_baggages, "Change the bags of a reservation.", RESERVATION, *BAGS,
         PAYMENT),
    tool(update_reservation_flights, "Change the flights of a reservation.", RESERVATION, CABIN,
         FLIGHTS, PAYMENT),
    tool(update_reservation_passengers, "Change the passengers of a reservation.", RESERVATION,
         PASSENGERS),
    tool(send_certificate, "Give a customer a certificate, as compensation.", text("user_id"),
         Param("amount", "number", "Its value.")),
)  # fmt: skip
"""The tools of the airline."""
