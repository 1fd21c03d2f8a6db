"""The agent's view in words.

The view is minigrid's: seven by seven cells in front of the agent, without cells that walls and
closed doors hide. Distances count steps ahead and to the side. Minigrid makes an image of it, from
up to five copies of the view; here the same cells are read in place.
"""

from __future__ import annotations

from typing import Any

OBJECTS = ("door", "key", "ball", "box", "goal", "lava")
"""Kinds of objects in descriptions, by minigrid's names."""
AHEAD = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Offset (right, down) of a step ahead, by direction."""
View = list[list[Any]]
"""Cells by column and row: minigrid's objects, `HIDDEN`, or None for an empty cell. The agent is in
the middle of the last row."""
HIDDEN = "hidden"
"""A cell that is not visible."""


def visible(env: Any) -> View:
    """Return the view of the agent.

    Args:
        env: The environment of minigrid.

    Returns:
        A view of ``env.agent_view_size`` columns and rows.
    """
    size = env.agent_view_size
    cells = _cells(env, size)
    middle, last = size // 2, size - 1
    mask = [[False] * size for _ in range(size)]
    mask[middle][last] = True
    # As minigrid's process_vis: row by row from the agent, to the right and then to the left.
    for row in range(last, -1, -1):
        for side, columns in ((1, range(last)), (-1, range(last, 0, -1))):
            for column in columns:
                cell = cells[column][row]
                if mask[column][row] and (cell is None or cell.see_behind()):
                    mask[column + side][row] = True
                    if row:
                        mask[column + side][row - 1] = mask[column][row - 1] = True
    return [
        [cell if is_visible else HIDDEN for cell, is_visible in zip(*column, strict=True)]
        for column in zip(cells, mask, strict=True)
    ]


def _cells(env: Any, size: int) -> View:
    """Return all cells before the agent, with a wall for those beyond the edge of the grid."""
    from minigrid.core.world_object import Wall

    grid, wall = env.grid, Wall()
    (x, y), (right_step, down) = env.agent_pos, AHEAD[env.agent_dir]
    cells = []
    for aside in range(-(size // 2), size - size // 2):
        column = []
        for ahead in range(size - 1, -1, -1):
            # To the right of a step (right, down) lies (-down, right).
            across, below = (
                x + right_step * ahead - down * aside,
                y + down * ahead + right_step * aside,
            )
            inside = 0 <= across < grid.width and 0 <= below < grid.height
            column.append(grid.grid[below * grid.width + across] if inside else wall)
        cells.append(column)
    return cells


def describe(view: View, carrying: Any) -> str:
    """Return a view in words.

    Args:
        view: The visible cells.
        carrying: The carried object, or None.
    """
    middle, last = len(view) // 2, len(view[0]) - 1
    objects: list[tuple[int, int, int, str]] = []
    for column, cells in enumerate(view):
        for row, cell in enumerate(cells):
            if cell is None or cell is HIDDEN or cell.type not in OBJECTS:
                continue
            if (column, row) != (middle, last):
                ahead, rightward = last - row, column - middle
                named = f"{cell.color} {cell.type}"
                if cell.type == "door":
                    named = f"{_state(cell)} {named}"
                objects.append((ahead + abs(rightward), ahead, rightward, named))
    listing = ", ".join(
        f"{_article(name)} {_place(*position)}" for _, *position, name in sorted(objects)
    )
    carried = "nothing" if carrying is None else f"a {carrying.color} {carrying.type}"
    return (
        f"You see {listing or 'nothing but floor and walls'}. "
        f"You can walk {_free(view[middle])} ahead. You carry {carried}."
    )


def _state(door: Any) -> str:
    return "open" if door.is_open else "locked" if door.is_locked else "closed"


def _free(column: list[Any]) -> int:
    """Return how many steps ahead nothing is in the way."""
    last = len(column) - 1
    for ahead in range(1, last + 1):
        cell = column[last - ahead]
        if cell is HIDDEN or not (cell is None or (cell.can_overlap() and cell.type != "lava")):
            return ahead - 1
    return last


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _place(ahead: int, rightward: int) -> str:
    side = "" if rightward == 0 else f"{abs(rightward)} {'right' if rightward > 0 else 'left'}"
    return f"{ahead} ahead" + (f" {side}" if side else "") if ahead else side
