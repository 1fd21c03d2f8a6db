"""The actions of a SWE episode, and the parser that finds exactly one of them in a text."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import lru_cache

from agentgym.actions import (
    MAX_ACTION_CHARS,
    MAX_TEXT_CHARS,
    ActionCall,
    ActionSpec,
    Param,
    parse,
    render,
    strip_think,
)
from agentgym.actions.blank_forms import blank
from agentgym.actions.parser import ACTION_LINE, too_long, unix_line_ends
from agentgym.core.language import Language
from agentgym.core.outcome import well_formed
from agentgym.errors import ConfigurationError

BASH, VIEW, EDIT, SUBMIT = "bash", "view", "edit", "submit"
LONGEST_TIMEOUT = 600
"""Maximum ``timeout`` option of a command, in seconds."""

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
        native=("```bash\n{command}\n```", "```bash timeout={timeout}\n{command}\n```"),
    ),
    ActionSpec(
        VIEW,
        "Show a file with line numbers, or list a folder.",
        (
            Param("path", description="Path in the repository.", verbatim=True),
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
            Param("path", description="Path in the repository.", verbatim=True),
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
_SEARCH = re.compile(r"(<{7,}) SEARCH\n")
_MARKER = re.compile(r"^(?:(<{7,}) SEARCH|(={7,})|(>{7,}) REPLACE)$", re.MULTILINE)
_SEVEN = 7
"""Minimum length of an edit's markers; with longer ones, the pieces may contain shorter ones."""
MOST_READINGS = 64
"""Maximum number of readings of an ambiguous edit; the work is proportional to it."""
MARKERS = "======= or >>>>>>> REPLACE"
WIDER = (
    "write every marker with one more sign (<<<<<<<< SEARCH, ========, >>>>>>>> REPLACE), and "
    "these lines are text"
)
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"\\]?)([A-Za-z_]\w*)")
_ONE = "write exactly one ```bash or ```submit block"


@dataclass(frozen=True)
class SWECommand:
    """A parsed action."""

    name: str
    """``bash``, ``view``, ``edit`` or ``submit``."""
    text: str = ""
    """The command line, or the path."""
    old: str = ""
    """``edit``: the piece to replace; empty to create a file."""
    new: str = ""
    """``edit``: the replacement."""
    inner: str = ""
    """``edit``: the text between the first and the last marker, if it is ambiguous where the
    markers between them are; empty if ``old`` and ``new`` are given."""
    fence: int = 3
    """``edit``: length of its fence, if ``inner`` is given."""
    timeout: int | None = None
    """``bash``: time limit in seconds; None: that of the environment."""
    start: int | None = None
    """``view``: number of the first line, from 1; None: 1."""
    end: int | None = None
    """``view``: number of the last line, inclusive; None: the last of the file."""

    @classmethod
    def of(cls, call: ActionCall) -> SWECommand:
        """Return the command of a call."""
        arguments = dict(call.arguments)
        numbers = {
            name: int(arguments.pop(name))
            for name in ("timeout", "start", "end")
            if name in arguments
        }
        text = arguments.pop("command", "") or arguments.pop("path", "")
        return cls(call.name, text, **numbers, **arguments)  # type: ignore[arg-type]

    @property
    def readings(self) -> tuple[tuple[str, str], ...]:
        """The possible pairs of ``old`` and ``new`` of an edit: one unless it is ambiguous."""
        if not self.inner:
            return ((self.old, self.new),)
        return _readings(self.inner, _SEVEN, self.fence)

    @property
    def call(self) -> ActionCall:
        """The command as a call."""
        names = {BASH: "command", VIEW: "path", EDIT: "path"}
        numbers = {name: getattr(self, name) for name in ("timeout", "start", "end")}
        return ActionCall(
            self.name,
            {
                **({names[self.name]: self.text} if self.name in names else {}),
                **({"old": self.old, "new": self.new} if self.name == EDIT else {}),
                **{name: str(value) for name, value in numbers.items() if value is not None},
            },
        )

    def write(self) -> str:
        """Return the command as a fenced block in canonical form.

        The length of the fence and of the markers differs from that of similar lines in the
        command, so that no such line is mistaken for one.
        """
        options = "".join(
            f" {name}={value}"
            for name in ("timeout", "start", "end")
            if (value := getattr(self, name)) is not None
        )
        more, body = 0, f"{self.text}\n" if self.name != SUBMIT else ""
        if self.name == BASH:
            fences = [len(match[0]) for match in re.finditer(r"^`{3,}", self.text, re.MULTILINE)]
            more = max(fences, default=2) - 2
        elif self.name == EDIT and self.inner:
            more = self.fence - 3
            body += f"{'<' * _SEVEN} SEARCH\n{self.inner}\n{'>' * _SEVEN} REPLACE\n"
        elif self.name == EDIT:
            more = _more_signs(self.old, self.new)
            less, equal, greater = (sign * (_SEVEN + more) for sign in "<=>")
            body += f"{less} SEARCH\n{self.old}\n{equal}\n{self.new}\n{greater} REPLACE\n"
        fence = "`" * (3 + more)
        return f"{fence}{self.name}{options}\n{body}{fence}"


def _more_signs(*pieces: str) -> int:
    """Return the smallest n such that no marker-like line of the pieces has 7 + n signs."""
    lengths = {
        len(next(filter(None, match.groups()))) - _SEVEN
        for piece in pieces
        for match in _MARKER.finditer(piece)
    }
    return next(more for more in itertools.count() if more not in lengths)


class CommandFault(Exception):
    """A text contains no valid action, or several; the message is shown to the policy."""


class SWELanguage(Language):
    """The standard grammars; in the native one, a text has to contain exactly one block.

    Args:
        grammar: One of the standard grammars.
        specs: The available actions: all or some of :data:`SPECS`.
    """

    def __init__(self, grammar: str, specs: tuple[ActionSpec, ...] = SPECS) -> None:
        super().__init__(specs, grammar, length=MAX_ACTION_CHARS)

    def understand(self, action: str) -> tuple[str, str, str]:
        """Parse the text of a model.

        Returns:
            The action as a canonical block, the text after it, and the problem; the first two or
            the last are empty.
        """
        if not isinstance(action, str):
            return super().understand(action)
        text = unix_line_ends(strip_think(well_formed(action), self.specs, self.grammar))
        if self.native and len(text) > MAX_TEXT_CHARS:
            # Too long texts are not truncated: a truncated command could do anything.
            return "", "", f"invalid: at most {MAX_TEXT_CHARS:,} characters are read"
        try:
            command, trailing = self._command_of(text)
        except CommandFault as fault:
            return "", "", f"invalid: {fault}"
        if command is None:
            return super().understand(action)
        if all(command.name != spec.name for spec in self.specs):
            return "", "", f"invalid: there is no action {command.name} here"
        native = command.write()
        if len(native) > MAX_ACTION_CHARS:
            return "", "", f"invalid: {too_long(len(native))}"
        return native, trailing, ""

    def write(self, native: str) -> str:
        """Return a block in this grammar; unchanged if the grammar cannot express it."""
        return native if self.native else _write_in_grammar(self.grammar, self.specs, native)

    def _command_of(self, text: str) -> tuple[SWECommand | None, str]:
        """Return the command and the text after it; None if the base class has to parse the text.

        Raises:
            CommandFault: A block is invalid.
        """
        if self.native:
            return only_command(text)
        parsed = parse(text, self.specs, self.grammar)
        if self.grammar == "react":
            line = None if parsed.error else ACTION_LINE.search(text)
            if line is None:
                return None, ""
            return only_command(text[line.end() :].lstrip(), first=True)
        if parsed.call is None or self.literal:
            return None, ""
        return SWECommand.of(parsed.call), parsed.trailing

    def command(self, native: str) -> SWECommand:
        """Return the command of a native action that :meth:`read` has returned.

        Raises:
            CommandFault: The block is invalid; in other grammars than the native one, :meth:`read`
                does not check that.
        """
        return only_command(native)[0]


_BLANKS = tuple(blank(param) for spec in SPECS for param in spec.params)
"""Blanks that messages show in place of a value; a model may copy them."""


def only_command(text: str, *, first: bool = False) -> tuple[SWECommand, str]:
    """Find the single command in a text, and the text after it.

    Blocks in other languages, such as ``python``, are ignored.

    Args:
        text: The text, of bounded length.
        first: Return the first command if there are several, instead of raising.

    Raises:
        CommandFault: There is no command, more than one, or an invalid one.
    """
    commands: list[tuple[SWECommand, int]] = []
    start, unclosed = 0, len(text)
    while True:
        fence = _FENCE.search(text, start)
        if fence is None:
            break
        if fence[0].endswith("\r"):  # then assume \r\n in the rest of the text, too
            text = text[: fence.start()] + text[fence.start() :].replace("\r\n", "\n")
            start = fence.start()
            continue
        name = fence[2].lower()
        if name not in _OPTIONS:
            # If a fence of this length is never closed, no later one of at least this length is
            # either. Without this bound, a text full of fences takes quadratic time (a second).
            end = None if len(fence[1]) >= unclosed else _closing(text, fence)
            if end is None:  # an unclosed fence is plain text
                unclosed = min(unclosed, len(fence[1]))
            start = fence.end() if end is None else end[1]
            continue
        command, start = _block(text, fence, name)
        commands.append((command, start))
        if first:
            break
    if not commands:
        raise CommandFault(f"no action found: {_ONE}")
    if len(commands) > 1:
        raise CommandFault(f"{len(commands)} actions found, and none was carried out: {_ONE}")
    if commands[0][0].text in _BLANKS:
        raise CommandFault(f"write a value in the place of {commands[0][0].text}")
    return commands[0][0], text[commands[0][1] :].strip()


def _closing(text: str, fence: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of the fence that closes a block: at least as long as the opening one."""
    closing = re.compile(rf"^`{{{len(fence[1])},}}[ \t\r]*$", re.MULTILINE)
    end = closing.search(text, fence.end())
    return None if end is None else (end.start(), end.end())


def _block(text: str, fence: re.Match[str], name: str) -> tuple[SWECommand, int]:
    """Parse a block of one of the four actions; return the command and the end of the block.

    Raises:
        CommandFault: The block is invalid.
    """
    options = {match[1]: int(match[2]) for match in _OPTION.finditer(fence[3])}
    if _OPTION.sub("", fence[3]).strip() or not set(options) <= _OPTIONS[name]:
        raise CommandFault(f"```{name} takes {_takes(name)}, got {fence[3].strip()[:40]!r}")
    if name == EDIT:
        return _edit(text, fence)
    end = _closing(text, fence)
    if end is None:
        raise CommandFault(f"the ```{name} block is not closed: end it with a line {fence[1]}")
    body = text[fence.end() + 1 : end[0]].removesuffix("\n")
    if name == SUBMIT:
        return SWECommand(SUBMIT), end[1]
    if not body.strip():
        raise CommandFault(f"the ```{name} block is empty")
    if name == VIEW:
        body = body.strip()
    if name == BASH:
        _check_heredocs(body, text[end[1] :])
    if "timeout" in options and not 1 <= options["timeout"] <= LONGEST_TIMEOUT:
        raise CommandFault(f"a timeout is a number of seconds from 1 to {LONGEST_TIMEOUT}")
    timeout, start, last = (options.get(option) for option in ("timeout", "start", "end"))
    return SWECommand(name, body, timeout=timeout, start=start, end=last), end[1]


def _takes(name: str) -> str:
    return " and ".join(f"{option}=N" for option in sorted(_OPTIONS[name])) or "no options"


def _check_heredocs(body: str, following: str) -> None:
    """Reject a command that a fence inside its here-document has cut short.

    Raises:
        CommandFault: The end of a here-document is not in the block, but in the text after it.
    """
    if "<<" not in body:
        return
    words = {match[2] for match in _HEREDOC.finditer(body)}
    lines, behind = ({line.lstrip("\t") for line in part.split("\n")} for part in (body, following))
    cut = sorted(words & behind - lines)
    if cut:
        raise CommandFault(
            f"the ```bash block ends inside of its here-document {cut[0]}: write a block whose "
            "text has lines ``` with four signs, ````bash and ````"
        )


def _edit(text: str, fence: re.Match[str]) -> tuple[SWECommand, int]:
    """Parse an ``edit`` block; return the command and the end of the block.

    The pieces may contain fences and markers, so the block extends to the last possible end that
    is followed by no other action.

    Raises:
        CommandFault: The block is incomplete, or ambiguous despite long markers.
    """
    incomplete = CommandFault(
        "the ```edit block is not complete: write the path, <<<<<<< SEARCH, the piece, =======, "
        "its replacement, and then >>>>>>> REPLACE"
    )
    path, _, following = text[fence.end() + 1 :].partition("\n")
    begin = _SEARCH.match(following)
    if not path.strip() or begin is None:
        raise incomplete
    width = len(begin[1])
    closing = re.compile(rf"\n>{{{width}}} REPLACE\n`{{{len(fence[1])},}}[ \t\r]*(?=\n|\Z)")
    # Another action ends the search: the text after it does not belong to this block.
    inner, end = "", 0
    for match in closing.finditer(following):
        fences = _FENCE.finditer(following[end : match.start()]) if end else ()
        if any(other_fence[2].lower() in _OPTIONS for other_fence in fences):
            break
        inner, end = following[begin.end() : match.start()], match.end()
    readings = _readings(inner, width, len(fence[1])) if end else ()
    if not readings:
        raise incomplete
    place, closed = path.strip(), fence.end() + 1 + len(path) + 1 + end
    if len(readings) == 1:
        return SWECommand(EDIT, place, *readings[0]), closed
    if width > _SEVEN:
        raise CommandFault(f"the ```edit block can be read in {len(readings)} ways; {WIDER}")
    return SWECommand(EDIT, place, inner=inner, fence=len(fence[1])), closed


def _readings(inner: str, width: int, fence: int) -> tuple[tuple[str, str], ...]:
    """Return all possible pairs of piece and replacement in the text between an edit's markers.

    Any line that looks like the middle marker may be it, and any that looks like the last marker
    may be the end. The state of the file decides later which reading fits.

    Raises:
        CommandFault: There are more than `MOST_READINGS`.
    """
    framed = f"\n{inner}\n"
    closing = re.compile(rf"(?=\n>{{{width}}} REPLACE\n`{{{fence},}}[ \t\r]*\n)")
    ends = [*(match.start() for match in closing.finditer(framed)), len(framed) - 1]
    middles = [match.start() for match in re.finditer(rf"(?=\n={{{width}}}\n)", framed)]
    if len(ends) * len(middles) > MOST_READINGS:
        raise CommandFault(f"the ```edit block has too many lines {MARKERS}; {WIDER}")
    readings = (
        (framed[:middle], framed[middle + width + 1 : end])
        for end in ends
        for middle in middles
        if middle + width + 1 <= end
    )
    return tuple(
        dict.fromkeys((old.removeprefix("\n"), new.removeprefix("\n")) for old, new in readings)
    )


@lru_cache(maxsize=8192)
def _write_in_grammar(grammar: str, specs: tuple[ActionSpec, ...], native: str) -> str:
    """Write a block in a grammar. Cached, because lists of admissible actions repeat."""
    try:
        command = only_command(native)[0]
        if grammar in ("react", "action_tag"):
            text = f"Action: {native}" if grammar == "react" else f"<action>{native}</action>"
        else:
            text = render(command.call, specs, grammar)
    except (CommandFault, ConfigurationError):
        return native
    # Never offer a text that would be parsed as another action.
    language = SWELanguage(grammar, specs)
    reading = language.read(text)
    return text if not reading.problem and language.command(reading.native) == command else native
