"""What is wrong, and where."""

from __future__ import annotations

from dataclasses import dataclass, field

Step = str | int


@dataclass(frozen=True)
class Problem:
    """Something that breaks a rule."""

    path: tuple[Step, ...]
    """Keys and places that lead to it from the outermost value."""
    message: str

    def __str__(self) -> str:
        """Write the place and the message."""
        place = format_path(self.path)
        return f"{place}: {self.message}" if place else self.message


def format_path(path: tuple[Step, ...]) -> str:
    """Write a path as in ``servers[0].name``; keys that are no names are quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier():
            text += f".{step}" if text else step
        else:
            text += f"[{step!r}]"
    return text


@dataclass
class Context:
    """A check in progress: where it is and what it has found."""

    coerce: bool = False
    path: tuple[Step, ...] = ()
    problems: list[Problem] = field(default_factory=list)

    def at(self, step: Step) -> Context:
        """Go one step down; problems are collected in the same list."""
        return Context(self.coerce, (*self.path, step), self.problems)

    def report(self, message: str) -> None:
        """Note a problem at this place."""
        self.problems.append(Problem(self.path, message))

    def trial(self) -> Context:
        """Make a context whose problems do not count yet."""
        return Context(self.coerce, self.path, [])
