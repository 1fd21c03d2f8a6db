"""The actions of a SWE episode, and how a text says exactly one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentgym.actions import MAX_ACTION_CHARS, MAX_TEXT_CHARS, ActionSpec, Param, strip_think
from agentgym.actions.parser import too_long
from agentgym.core.language import Language
from agentgym.core.outcome import well_formed

BASH, VIEW, EDIT, SUBMIT = "bash", "view", "edit", "submit"
LONGEST_TIMEOUT = 600
"""Most seconds that a command may ask for."""

SPECS = (
    ActionSpec(
        BASH,
        "Run a command line with bash in the repository. Files stay; variables, the working "
        "directory and processes do not.",
        (
            Param("command", description="The command line, or several.", verbatim=True),
            Param("timeout", "integer", "Seconds after which it is killed.", required=False),
        ),
        examples=("```bash\npython -m pytest -q\n```",),
        native=(
            "```bash\n{command}\n```",
            "````bash\n{command}\n````",
            "```bash timeout={timeout}\n{command}\n```",
            "````bash timeout={timeout}\n{command}\n````",
        ),
    ),
    ActionSpec(
        VIEW,
        "Show a file with line numbers, or list a folder.",
        (
            Param("path", description="Path in the repository."),
            Param("start", "integer", "First line.", required=False),
            Param("end", "integer", "Last line.", required=False),
        ),
        examples=("```view\nREADME.md\n```",),
        native=(
            "```view\n{path}\n```",
            "```view start={start}\n{path}\n```",
            "```view end={end}\n{path}\n```",
            "```view start={start} end={end}\n{path}\n```",
        ),
    ),
    ActionSpec(
        EDIT,
        "Replace a piece of a file that occurs exactly once; an empty old piece makes a new file.",
        (
            Param("path", description="Path in the repository."),
            Param("old", description="The piece as it is.", verbatim=True),
            Param("new", description="What replaces it.", verbatim=True),
        ),
        examples=(
            "```edit\nsums.py\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n"
            ">>>>>>> REPLACE\n```",
        ),
        native="```edit\n{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```",
    ),
    ActionSpec(
        SUBMIT,
        "Hand the repository in; its tests decide.",
        terminal=True,
        examples=("```submit\n```",),
        native="```submit\n```",
    ),
)
"""The actions of the environment."""

_FENCE = re.compile(r"^(`{3,})[ \t]*([A-Za-z_]*)([^`\n]*)$", re.MULTILINE)
_OPTION = re.compile(r"(timeout|start|end)=(-?\d{1,9})")
_OPTIONS = {BASH: {"timeout"}, VIEW: {"start", "end"}, EDIT: set[str](), SUBMIT: set[str]()}
_SEARCH, _MIDDLE, _REPLACE = "<<<<<<< SEARCH\n", "\n=======\n", "\n>>>>>>> REPLACE\n"
_ONE = "write exactly one ```bash or ```submit block"


@dataclass(frozen=True)
class Command:
    """One action, understood."""

    name: str
    """``bash``, ``view``, ``edit`` or ``submit``."""
    text: str = ""
    """The command line, or the path."""
    old: str = ""
    """``edit``: the piece as it is."""
    new: str = ""
    """``edit``: what replaces it."""
    timeout: int | None = None
    """``bash``: seconds that it asks for."""
    start: int | None = None
    """``view``: the first line."""
    end: int | None = None
    """``view``: the last line."""

    def write(self) -> str:
        """Write the command as a fenced block, in its canonical form."""
        options = "".join(
            f" {name}={value}"
            for name in ("timeout", "start", "end")
            if (value := getattr(self, name)) is not None
        )
        body = f"{self.text}\n" if self.name != SUBMIT else ""
        if self.name == EDIT:
            body += f"{_SEARCH}{self.old}{_MIDDLE}{self.new}{_REPLACE}"
        fence = "````" if self.name == BASH and re.search(r"(?m)^```", self.text) else "```"
        return f"{fence}{self.name}{options}\n{body}{fence}"


class Fault(Exception):
    """Why a text holds no action, or more than one; the message is shown to the policy."""


class SWELanguage(Language):
    """The standard grammars; the native one accepts a text with exactly one block.

    Args:
        grammar: One of the standard grammars.
        specs: The actions that there are, of :data:`SPECS`.
    """

    def __init__(self, grammar: str, specs: tuple[ActionSpec, ...] = SPECS) -> None:
        super().__init__(specs, grammar, length=MAX_ACTION_CHARS)

    def understand(self, action: str) -> tuple[str, str, str]:
        """Understand model text; in the native grammar it becomes the canonical block."""
        if not self.native or not isinstance(action, str):
            return super().understand(action)
        text = strip_think(well_formed(action), self.specs)
        if len(text) > MAX_TEXT_CHARS:
            # A command that was cut may do anything, so none of it is carried out.
            return "", "", f"invalid: at most {MAX_TEXT_CHARS:,} characters are read"
        try:
            command, trailing = only_command(text)
        except Fault as fault:
            return "", "", f"invalid: {fault}"
        if all(command.name != spec.name for spec in self.specs):
            return "", "", f"invalid: there is no action {command.name} here"
        native = command.write()
        if len(native) > MAX_ACTION_CHARS:
            return "", "", f"invalid: {too_long(len(native))}"
        return native, trailing, ""

    def command(self, native: str) -> Command:
        """Return the command that :meth:`read` has understood.

        Raises:
            Fault: There is none, which a grammar other than the native one cannot see beforehand.
        """
        return only_command(native)[0]


def only_command(text: str) -> tuple[Command, str]:
    """Find the one command of a text of bounded length, and the text after it.

    Blocks of other languages, such as ``python``, are words like any others.

    Raises:
        Fault: There is no command, more than one, or one that is not complete.
    """
    found: list[tuple[Command, int]] = []
    at, unclosed = 0, len(text)
    while True:
        fence = _FENCE.search(text, at)
        if fence is None:
            break
        name = fence[2].lower()
        if name not in _OPTIONS:
            # What closes no fence of so many signs closes none that comes later, so nobody searches
            # again: a text of nothing but such fences would take a second.
            end = None if len(fence[1]) >= unclosed else _closing(text, fence)
            if end is None:  # then it is a word
                unclosed = min(unclosed, len(fence[1]))
            at = fence.end() if end is None else end[1]
            continue
        command, at = _block(text, fence, name)
        found.append((command, at))
    if not found:
        raise Fault(f"no action found: {_ONE}")
    if len(found) > 1:
        raise Fault(f"{len(found)} actions found, and none was carried out: {_ONE}")
    return found[0][0], text[found[0][1] :].strip()


def _closing(text: str, fence: re.Match[str]) -> tuple[int, int] | None:
    """Return where the fence that closes a block begins and ends: as long as the opening one."""
    closing = re.compile(rf"^`{{{len(fence[1])},}}[ \t\r]*$", re.MULTILINE)
    end = closing.search(text, fence.end())
    return None if end is None else (end.start(), end.end())


def _block(text: str, fence: re.Match[str], name: str) -> tuple[Command, int]:
    """Read a block of one of the four actions."""
    options = {match[1]: int(match[2]) for match in _OPTION.finditer(fence[3])}
    if _OPTION.sub("", fence[3]).strip() or not set(options) <= _OPTIONS[name]:
        raise Fault(f"```{name} takes {_takes(name)}, got {fence[3].strip()[:40]!r}")
    if name == EDIT:
        return _edit(text, fence)
    end = _closing(text, fence)
    if end is None:
        raise Fault(f"the ```{name} block is not closed: end it with a line {fence[1]}")
    body = text[fence.end() + 1 : end[0]].removesuffix("\n")
    if name == SUBMIT:
        return Command(SUBMIT), end[1]
    if not body.strip():
        raise Fault(f"the ```{name} block is empty")
    if name == VIEW:
        body = " ".join(body.split())
    if "timeout" in options and not 1 <= options["timeout"] <= LONGEST_TIMEOUT:
        raise Fault(f"a timeout is a number of seconds from 1 to {LONGEST_TIMEOUT}")
    timeout, start, last = (options.get(option) for option in ("timeout", "start", "end"))
    return Command(name, body, timeout=timeout, start=start, end=last), end[1]


def _takes(name: str) -> str:
    return " and ".join(f"{option}=N" for option in sorted(_OPTIONS[name])) or "no options"


def _edit(text: str, fence: re.Match[str]) -> tuple[Command, int]:
    """Read an edit: a path, the piece as it is, and what replaces it."""
    form = f"write the path, {_SEARCH.strip()}, the piece, =======, its replacement, and then "
    form += _REPLACE.strip()
    body = text[fence.end() + 1 :]
    path, _, rest = body.partition("\n")
    end = re.search(rf"{_REPLACE}`{{{len(fence[1])},}}[ \t\r]*(?=\n|\Z)", rest)
    if not path.strip() or not rest.startswith(_SEARCH) or end is None:
        raise Fault(f"the ```edit block is not complete: {form}")
    inner = "\n" + rest[len(_SEARCH) : end.start()] + "\n"
    old, middle, new = inner.partition(_MIDDLE)
    if not middle:
        raise Fault(f"the ```edit block is not complete: {form}")
    closed = fence.end() + 1 + len(path) + 1 + end.end()
    return Command(
        EDIT, " ".join(path.split()), old.removeprefix("\n"), new.removesuffix("\n")
    ), closed
