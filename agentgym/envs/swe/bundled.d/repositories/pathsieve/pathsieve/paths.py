"""Paths as strings: forward slashes, relative to some root."""

from __future__ import annotations


def normalize(path: str) -> str:
    """Bring a path to its shortest form: no ``.``, no doubled slashes, ``..`` resolved.

    Backslashes become slashes. The root itself is the empty path.

    Raises:
        ValueError: The path leads out of the root.
    """
    names: list[str] = []
    for name in path.replace("\\", "/").split("/"):
        if name in ("", "."):
            continue
        if name != "..":
            names.append(name)
        elif names:
            names.pop()
        else:
            raise ValueError(f"{path!r} leads out of the root")
    return "/".join(names)


def parents(path: str) -> list[str]:
    """List the folders above a path, outermost first, without the root."""
    names = path.split("/")
    return ["/".join(names[:count]) for count in range(1, len(names))]


def relative(path: str, base: str) -> str | None:
    """Rewrite a path as seen from a folder; ``None`` if it does not lie in it."""
    if not base:
        return path
    if path.startswith(base + "/"):
        return path[len(base) + 1 :]
    return None


def name_of(path: str) -> str:
    """The last name of a path."""
    return path.rpartition("/")[2]
