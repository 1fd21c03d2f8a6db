"""What is seen, in words.

The view is minigrid's own: seven by seven cells before the agent, with what walls and closed doors
hide left out. Distances count steps ahead and to the side.
"""

from __future__ import annotations

from typing import Any

OBJECTS = ("door", "key", "ball", "box", "goal", "lava")
"""Kinds of things that are named, as minigrid calls them."""
PASSABLE = ("empty", "floor", "goal")
"""Kinds of cells that can be walked on, besides open doors."""


def describe(image: Any, carrying: Any) -> str:
    """Return a view in words.

    Args:
        image: The view as minigrid encodes it: (7, 7, 3), with kind, colour and state of each cell.
        carrying: The thing that is carried, or None.
    """
    from minigrid.core.constants import IDX_TO_COLOR, IDX_TO_OBJECT

    cells = image.tolist()
    middle, last = len(cells) // 2, len(cells[0]) - 1
    seen: list[tuple[int, int, int, str]] = []
    for column, cell in enumerate(cells):
        for row, (kind, colour, state) in enumerate(cell):
            name = IDX_TO_OBJECT[kind]
            if name in OBJECTS and (column, row) != (middle, last):
                ahead, right = last - row, column - middle
                named = f"{IDX_TO_COLOR[colour]} {name}"
                if name == "door":
                    named = f"{('open', 'closed', 'locked')[state]} {named}"
                seen.append((ahead + abs(right), ahead, right, named))
    things = ", ".join(f"{_article(name)} {_place(*at)}" for _, *at, name in sorted(seen))
    free = _free(cells[middle], last, IDX_TO_OBJECT)
    carried = "nothing" if carrying is None else f"a {carrying.color} {carrying.type}"
    return (
        f"You see {things or 'nothing but floor and walls'}. "
        f"You can walk {free} ahead. You carry {carried}."
    )


def _free(column: list[list[int]], last: int, kinds: Any) -> int:
    """Return how many steps ahead nothing is in the way."""
    for ahead in range(1, last + 1):
        kind, _, state = column[last - ahead]
        name = kinds[kind]
        if name not in PASSABLE and (name != "door" or state != 0):
            return ahead - 1
    return last


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _place(ahead: int, right: int) -> str:
    side = "" if right == 0 else f"{abs(right)} {'right' if right > 0 else 'left'}"
    return f"{ahead} ahead" + (f" {side}" if side else "") if ahead else side
