"""What databases are about: things with names, numbers and categories, kept in some place.

A question speaks of a thing in one word. What its table and its columns are called differs from
database to database, so that who asks has to read the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Quantity(NamedTuple):
    """A number that things have."""

    word: str
    """What a question calls it."""
    names: tuple[str, ...]
    """What its column may be called: two plain words, then longer names."""


class Category(NamedTuple):
    """A kind that things are of."""

    word: str
    """What a question calls it."""
    names: tuple[str, ...]
    """What its column may be called."""
    values: tuple[str, ...]
    """The kinds."""


class Thing(NamedTuple):
    """What a table holds."""

    word: str
    """One of it, in a question."""
    plural: str
    """Several."""
    tables: tuple[str, ...]
    """What the table may be called: two plain words, then a longer name."""
    quantities: tuple[Quantity, ...]
    """Its numbers."""
    category: Category
    """Its kind."""

    @property
    def parts(self) -> tuple[Quantity | Category, ...]:
        """Its numbers and its kind."""
        return (*self.quantities, self.category)


class Domain(NamedTuple):
    """Things, and the places in which they are."""

    thing: Thing
    """The table of which most is asked."""
    place: Thing
    """The table that it refers to."""


CITY = Category("city", ("city", "town"), (
    "Arvold", "Belmar", "Corvin", "Dunmoor", "Elsby", "Farrow", "Glenholt", "Harwick",
))  # fmt: skip
COLOUR = Category("colour", ("colour", "paint"), (
    "red", "blue", "green", "black", "white", "silver", "yellow", "brown",
))  # fmt: skip
DOMAINS: tuple[Domain, ...] = (
    Domain(
        Thing("worker", "workers", ("worker", "employee", "staff_member"), (
            Quantity("pay", ("pay", "wage", "monthly_pay")),
            Quantity("age", ("age", "years", "age_in_years")),
            Quantity("leave", ("leave", "vacation", "leave_days")),
        ), Category("role", ("role", "job"), (
            "clerk", "driver", "guard", "cook", "welder", "tutor", "nurse", "pilot",
        ))),
        Thing("team", "teams", ("team", "crew", "work_team"), (
            Quantity("budget", ("budget", "funds", "yearly_budget")),
            Quantity("floor", ("floor", "storey", "floor_number")),
        ), CITY),
    ),
    Domain(
        Thing("book", "books", ("book", "volume", "book_copy"), (
            Quantity("price", ("price", "cost", "price_paid")),
            Quantity("length", ("length", "pages", "page_count")),
            Quantity("stock", ("stock", "copies", "copy_count")),
        ), Category("genre", ("genre", "subject"), (
            "poetry", "travel", "history", "crime", "drama", "cooking", "science", "fable",
        ))),
        Thing("shelf", "shelves", ("shelf", "rack", "book_shelf"), (
            Quantity("height", ("height", "tallness", "height_cm")),
            Quantity("width", ("width", "breadth", "width_cm")),
        ), COLOUR),
    ),
    Domain(
        Thing("animal", "animals", ("animal", "beast", "farm_animal"), (
            Quantity("weight", ("weight", "mass", "weight_kg")),
            Quantity("feed", ("feed", "fodder", "daily_feed")),
            Quantity("value", ("value", "worth", "market_value")),
        ), Category("species", ("species", "breed"), (
            "goat", "horse", "sheep", "donkey", "goose", "rabbit", "llama", "pig",
        ))),
        Thing("barn", "barns", ("barn", "stable", "farm_barn"), (
            Quantity("area", ("area", "space", "floor_area")),
            Quantity("rent", ("rent", "fee", "yearly_rent")),
        ), COLOUR),
    ),
    Domain(
        Thing("ship", "ships", ("ship", "vessel", "cargo_ship"), (
            Quantity("cargo", ("cargo", "load", "cargo_tons")),
            Quantity("speed", ("speed", "knots", "top_speed")),
            Quantity("crew", ("crew", "sailors", "crew_size")),
        ), Category("flag", ("flag", "nation"), (
            "Panama", "Malta", "Norway", "Japan", "Chile", "Kenya", "India", "Peru",
        ))),
        Thing("harbour", "harbours", ("harbour", "port", "home_harbour"), (
            Quantity("depth", ("depth", "draught", "depth_m")),
            Quantity("capacity", ("capacity", "berths", "berth_count")),
        ), CITY),
    ),
    Domain(
        Thing("machine", "machines", ("machine", "device", "shop_machine"), (
            Quantity("power", ("power", "watts", "power_kw")),
            Quantity("noise", ("noise", "loudness", "noise_db")),
            Quantity("wear", ("wear", "decay", "wear_percent")),
        ), Category("maker", ("maker", "brand"), (
            "Axtor", "Bolvek", "Cramm", "Dynor", "Ekstal", "Fergo", "Grontec", "Hymas",
        ))),
        Thing("hall", "halls", ("hall", "workshop", "machine_hall"), (
            Quantity("heat", ("heat", "warmth", "heat_degrees")),
            Quantity("height", ("height", "tallness", "height_m")),
        ), COLOUR),
    ),
    Domain(
        Thing("patient", "patients", ("patient", "client", "ward_patient"), (
            Quantity("pulse", ("pulse", "heartbeat", "resting_pulse")),
            Quantity("stay", ("stay", "nights", "stay_days")),
            Quantity("dose", ("dose", "dosage", "daily_dose")),
        ), Category("illness", ("illness", "disease"), (
            "flu", "asthma", "gout", "fever", "measles", "mumps", "angina", "anaemia",
        ))),
        Thing("ward", "wards", ("ward", "clinic", "hospital_ward"), (
            Quantity("size", ("size", "beds", "bed_count")),
            Quantity("staff", ("staff", "nurses", "nurse_count")),
        ), CITY),
    ),
)  # fmt: skip
"""What databases are about."""
BY_WORD: Mapping[str, Domain] = {
    word: domain for domain in DOMAINS for thing in domain for word in (thing.word, thing.plural)
}
"""The domain in which a thing stands, by its words."""
REFERENCES = ("_id", "_ref", "_key")
"""How the column ends that refers to a place."""
NAMES = (
    "Ada", "Bram", "Cleo", "Dario", "Edda", "Fenn", "Gita", "Hugo", "Ines", "Jory", "Kira", "Lars",
    "Mona", "Nico", "Olga", "Pavel", "Quinn", "Rosa", "Sven", "Tara", "Udo", "Vera", "Wim", "Xenia",
    "Yuri", "Zora", "Amos", "Bela", "Carlo", "Dina", "Elmo", "Frida", "Gero", "Hilda", "Ivan",
    "Jana", "Kurt", "Lena", "Milo", "Nora", "Otto", "Petra", "Ralf", "Sonja", "Timo", "Ulla",
    "Viktor", "Wanda", "Yara", "Zeno",
)  # fmt: skip
"""Names of things and places."""
