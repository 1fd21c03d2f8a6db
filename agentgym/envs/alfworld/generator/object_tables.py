"""The usual places of objects in a household, and the actions on them.

The facts are those of ALFWorld 0.4.2 and ALFRED (``alfworld/gen/constants.py``; MIT licence,
copyright Mohit Shridhar and others), rewritten as tables and compared with the installed package by
a test. One table is new: there lamps are part of the room and may be in no receptacle;
:data:`LAMP_SUPPORTS` lists the places of ours.
"""

from __future__ import annotations

_SOFT = """
BasketBall Book Box CellPhone Cloth CreditCard KeyChain Laptop Newspaper Pillow RemoteControl
"""
_DRESSER = """
AlarmClock BasketBall Book Bowl Box CD Candle CellPhone Cloth CreditCard Cup Glassbottle KeyChain
Laptop Mug Newspaper Pen Pencil Plate RemoteControl SprayBottle Statue TennisRacket TissueBox
ToiletPaper ToiletPaperRoll Vase Watch WateringCan WineBottle
"""
_TABLE = """
AlarmClock Apple BaseballBat BasketBall Book Bowl Box Bread ButterKnife CD Candle CellPhone Cloth
CreditCard Cup DishSponge Egg Fork Glassbottle HandTowel Kettle KeyChain Knife Ladle Laptop Lettuce
Mug Newspaper Pan PaperTowel Pen Pencil PepperShaker Plate Pot Potato RemoteControl SaltShaker
SoapBar SoapBottle Spatula Spoon SprayBottle Statue TennisRacket TissueBox ToiletPaper
ToiletPaperRoll Tomato Vase Watch WateringCan WineBottle
"""
_CONTENTS = {
    "ArmChair": _SOFT,
    "BathtubBasin": "Cloth DishSponge HandTowel SoapBar",
    "Bed": "BaseballBat BasketBall Book CellPhone Laptop Newspaper Pillow TennisRacket",
    "Cabinet": """
Book Bowl Box CD Candle Cloth Cup DishSponge Glassbottle HandTowel Kettle Ladle Mug Newspaper Pan
PepperShaker Plate Plunger Pot SaltShaker SoapBar SoapBottle SprayBottle TissueBox ToiletPaper
ToiletPaperRoll Vase WateringCan WineBottle
""",
    "Cart": """
Candle Cloth DishSponge HandTowel Mug PaperTowel Plunger SoapBar SoapBottle SprayBottle Statue
TissueBox ToiletPaper ToiletPaperRoll Vase
""",
    "CoffeeMachine": "Mug",
    "CoffeeTable": _TABLE,
    "CounterTop": _TABLE,
    "Desk": f"{_DRESSER} SoapBottle",
    "DiningTable": _TABLE,
    "Drawer": """
Book ButterKnife CD Candle CellPhone Cloth CreditCard DishSponge Fork HandTowel KeyChain Knife Ladle
Newspaper Pen Pencil PepperShaker RemoteControl SaltShaker SoapBar SoapBottle Spatula Spoon
SprayBottle TissueBox ToiletPaper ToiletPaperRoll Watch WateringCan
""",
    "Dresser": _DRESSER,
    "Fridge": """
Apple Bowl Bread Cup Egg Glassbottle Lettuce Mug Pan Plate Pot Potato Tomato WineBottle
""",
    "GarbageCan": """
Apple Bread CD Cloth DishSponge Egg HandTowel Lettuce Newspaper PaperTowel Pen Pencil Potato SoapBar
SoapBottle SprayBottle TissueBox ToiletPaper ToiletPaperRoll Tomato WineBottle
""",
    "HandTowelHolder": "HandTowel",
    "LaundryHamper": "Cloth",
    "Microwave": "Apple Bowl Bread Cup Egg Glassbottle Mug Plate Potato Tomato",
    "Ottoman": _SOFT,
    "Safe": "CD CellPhone CreditCard KeyChain Statue Vase Watch",
    "Shelf": """
AlarmClock Book Bowl Box CD Candle CellPhone Cloth CreditCard Cup DishSponge Glassbottle HandTowel
Kettle KeyChain Mug Newspaper PaperTowel Pen Pencil PepperShaker Plate Pot RemoteControl SaltShaker
SoapBar SoapBottle SprayBottle Statue TissueBox ToiletPaper ToiletPaperRoll Vase Watch WateringCan
WineBottle
""",
    "SideTable": _TABLE,
    "SinkBasin": """
Apple Bowl ButterKnife Cloth Cup DishSponge Egg Fork Glassbottle HandTowel Kettle Knife Ladle
Lettuce Mug Pan Plate Pot Potato SoapBar Spatula Spoon Tomato
""",
    "Sofa": _SOFT,
    "StoveBurner": "Kettle Pan Pot",
    "TVStand": "TissueBox",
    "Toaster": "",
    "Toilet": """
Candle Cloth DishSponge HandTowel Newspaper PaperTowel SoapBar SoapBottle SprayBottle TissueBox
ToiletPaper ToiletPaperRoll
""",
    "ToiletPaperHanger": "ToiletPaper ToiletPaperRoll",
    "TowelHolder": "Towel",
}

CONTENTS: dict[str, tuple[str, ...]] = {
    kind: tuple(sorted(text.split())) for kind, text in _CONTENTS.items()
}
"""Object types that may be put into each receptacle type; a toaster only holds sliced bread."""

LAMP_SUPPORTS: dict[str, tuple[str, ...]] = {
    "DeskLamp": ("CoffeeTable", "Desk", "DiningTable", "Dresser", "Shelf", "SideTable"),
    "FloorLamp": ("ArmChair", "CoffeeTable", "Desk", "Dresser", "SideTable", "Sofa"),
}
"""Receptacle types on or at which each lamp stands. A lamp cannot be carried, so this is no rule of
the game; but the goal "look at X under the lamp" asks that the lamp is in a receptacle."""

OPENABLE = frozenset({"Cabinet", "Drawer", "Fridge", "Microwave", "Safe"})
"""Receptacle types that start closed."""

_PROPERTIES = {
    "cleanable": """
Apple Bowl ButterKnife Cloth Cup DishSponge Egg Fork Kettle Knife Ladle Lettuce Mug Pan Plate Pot
Potato SoapBar Spatula Spoon Tomato
""",
    "heatable": "Apple Bread Cup Egg Mug Plate Potato Tomato",
    "coolable": "Apple Bowl Bread Cup Egg Lettuce Mug Pan Plate Pot Potato Tomato WineBottle",
    "sliceable": "Apple Bread Egg Lettuce Potato Tomato",
    "isReceptacleObject": "Bowl Box Cup Mug Pan Plate Pot",
}

PROPERTIES: dict[str, frozenset[str]] = {
    predicate: frozenset(text.split()) for predicate, text in _PROPERTIES.items()
}
"""Object types that have each property, by the property's name in PDDL."""

ROOM_KINDS = ("Kitchen", "LivingRoom", "Bedroom", "Bathroom")
"""Kinds of rooms, in the order of their numbers: 1-30, 201-230, 301-330, 401-430."""

_ALL = frozenset(ROOM_KINDS)
TASK_ROOMS: dict[str, frozenset[str]] = {
    "pick_and_place_simple": _ALL,
    "look_at_obj_in_light": frozenset({"LivingRoom", "Bedroom"}),
    "pick_clean_then_place_in_recep": frozenset({"Kitchen", "Bathroom"}),
    "pick_heat_then_place_in_recep": frozenset({"Kitchen"}),
    "pick_cool_then_place_in_recep": frozenset({"Kitchen"}),
    "pick_two_obj_and_place": _ALL,
}
"""Kinds of rooms in which each task type is set."""

TASK_APPLIANCES: dict[str, tuple[str, frozenset[str]]] = {
    "pick_clean_then_place_in_recep": ("SinkBasin", PROPERTIES["cleanable"]),
    "pick_heat_then_place_in_recep": ("Microwave", PROPERTIES["heatable"]),
    "pick_cool_then_place_in_recep": ("Fridge", PROPERTIES["coolable"]),
}
"""Receptacle type and object types of the tasks that change an object."""


def supports(object_kind: str, receptacle_kind: str) -> bool:
    """Return whether an object of this type may start in a receptacle of this type."""
    if object_kind in LAMP_SUPPORTS:
        return receptacle_kind in LAMP_SUPPORTS[object_kind]
    return object_kind in CONTENTS[receptacle_kind]
