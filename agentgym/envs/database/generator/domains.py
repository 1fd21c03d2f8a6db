"""Domains of databases: entities with names, numbers and categories, and places.

A question uses one word for an entity. The names of tables and columns differ between databases, so
that a policy has to read the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Quantity(NamedTuple):
    """A number that entities have."""

    word: str
    """Its name in questions."""
    names: tuple[str, ...]
    """Possible names of its column: two plain words, then longer names."""


class Category(NamedTuple):
    """A category of entities."""

    word: str
    """Its name in questions."""
    names: tuple[str, ...]
    """Possible names of its column."""
    values: tuple[str, ...]
    """The kinds."""


class TableSubject(NamedTuple):
    """The subject of a table."""

    word: str
    """Singular, in questions."""
    plural: str
    """Plural."""
    tables: tuple[str, ...]
    """Possible names of the table: two plain words, then a longer name."""
    quantities: tuple[Quantity, ...]
    """Its numbers."""
    category: Category
    """Its kind."""

    @property
    def parts(self) -> tuple[Quantity | Category, ...]:
        """Its numbers and its kind."""
        return (*self.quantities, self.category)


class Domain(NamedTuple):
    """Entities and their places."""

    entity: TableSubject
    """The main table."""
    place: TableSubject
    """The table that it references."""


CITY = Category("city", ("city", "town"), (
    "Arvold", "Belmar", "Corvin", "Dunmoor", "Elsby", "Farrow", "Glenholt", "Harwick",
))  # fmt: skip
COLOUR = Category("colour", ("colour", "paint"), (
    "red", "blue", "green", "black", "white", "silver", "yellow", "brown",
))  # fmt: skip
DOMAINS: tuple[Domain, ...] = (
    Domain(
        TableSubject("worker", "workers", ("worker", "employee", "staff_member"), (
            Quantity("pay", ("pay", "wage", "monthly_pay")),
            Quantity("age", ("age", "years", "age_in_years")),
            Quantity("leave", ("leave", "vacation", "leave_days")),
        ), Category("role", ("role", "job"), (
            "clerk", "driver", "guard", "cook", "welder", "tutor", "nurse", "pilot",
        ))),
        TableSubject("team", "teams", ("team", "crew", "work_team"), (
            Quantity("budget", ("budget", "funds", "yearly_budget")),
            Quantity("floor", ("floor", "storey", "floor_number")),
        ), CITY),
    ),
    Domain(
        TableSubject("book", "books", ("book", "volume", "book_copy"), (
            Quantity("price", ("price", "cost", "price_paid")),
            Quantity("length", ("length", "pages", "page_count")),
            Quantity("stock", ("stock", "copies", "copy_count")),
        ), Category("genre", ("genre", "subject"), (
            "poetry", "travel", "history", "crime", "drama", "cooking", "science", "fable",
        ))),
        TableSubject("shelf", "shelves", ("shelf", "rack", "book_shelf"), (
            Quantity("height", ("height", "tallness", "height_cm")),
            Quantity("width", ("width", "breadth", "width_cm")),
        ), COLOUR),
    ),
    Domain(
        TableSubject("animal", "animals", ("animal", "beast", "farm_animal"), (
            Quantity("weight", ("weight", "mass", "weight_kg")),
            Quantity("feed", ("feed", "fodder", "daily_feed")),
            Quantity("value", ("value", "worth", "market_value")),
        ), Category("species", ("species", "breed"), (
            "goat", "horse", "sheep", "donkey", "goose", "rabbit", "llama", "pig",
        ))),
        TableSubject("barn", "barns", ("barn", "stable", "farm_barn"), (
            Quantity("area", ("area", "space", "floor_area")),
            Quantity("rent", ("rent", "fee", "yearly_rent")),
        ), COLOUR),
    ),
    Domain(
        TableSubject("ship", "ships", ("ship", "vessel", "cargo_ship"), (
            Quantity("cargo", ("cargo", "load", "cargo_tons")),
            Quantity("speed", ("speed", "knots", "top_speed")),
            Quantity("crew", ("crew", "sailors", "crew_size")),
        ), Category("flag", ("flag", "nation"), (
            "Panama", "Malta", "Norway", "Japan", "Chile", "Kenya", "India", "Peru",
        ))),
        TableSubject("harbour", "harbours", ("harbour", "port", "home_harbour"), (
            Quantity("depth", ("depth", "draught", "depth_m")),
            Quantity("capacity", ("capacity", "berths", "berth_count")),
        ), CITY),
    ),
    Domain(
        TableSubject("machine", "machines", ("machine", "device", "shop_machine"), (
            Quantity("power", ("power", "watts", "power_kw")),
            Quantity("noise", ("noise", "loudness", "noise_db")),
            Quantity("wear", ("wear", "decay", "wear_percent")),
        ), Category("maker", ("maker", "brand"), (
            "Axtor", "Bolvek", "Cramm", "Dynor", "Ekstal", "Fergo", "Grontec", "Hymas",
        ))),
        TableSubject("hall", "halls", ("hall", "workshop", "machine_hall"), (
            Quantity("heat", ("heat", "warmth", "heat_degrees")),
            Quantity("height", ("height", "tallness", "height_m")),
        ), COLOUR),
    ),
    Domain(
        TableSubject("patient", "patients", ("patient", "client", "ward_patient"), (
            Quantity("pulse", ("pulse", "heartbeat", "resting_pulse")),
            Quantity("stay", ("stay", "nights", "stay_days")),
            Quantity("dose", ("dose", "dosage", "daily_dose")),
        ), Category("illness", ("illness", "disease"), (
            "flu", "asthma", "gout", "fever", "measles", "mumps", "angina", "anaemia",
        ))),
        TableSubject("ward", "wards", ("ward", "clinic", "hospital_ward"), (
            Quantity("size", ("size", "beds", "bed_count")),
            Quantity("staff", ("staff", "nurses", "nurse_count")),
        ), CITY),
    ),
)  # fmt: skip
"""All domains."""
BY_WORD: Mapping[str, Domain] = {
    word: domain for domain in DOMAINS for entity in domain for word in (entity.word, entity.plural)
}
"""The domain of an entity, by its words."""
REFERENCES = ("_id", "_ref", "_key")
"""Endings of the column that references a place."""
NAMES = (
    "Ada", "Bram", "Cleo", "Dario", "Edda", "Fenn", "Gita", "Hugo", "Ines", "Jory", "Kira", "Lars",
    "Mona", "Nico", "Olga", "Pavel", "Quinn", "Rosa", "Sven", "Tara", "Udo", "Vera", "Wim", "Xenia",
    "Yuri", "Zora", "Amos", "Bela", "Carlo", "Dina", "Elmo", "Frida", "Gero", "Hilda", "Ivan",
    "Jana", "Kurt", "Lena", "Milo", "Nora", "Otto", "Petra", "Ralf", "Sonja", "Timo", "Ulla",
    "Viktor", "Wanda", "Yara", "Zeno",
)  # fmt: skip
"""Names of entities and places."""
