"""Fuzzed submissions of SWE tasks: mutations of the solution, of the fault, of exploits, of both.

A number and a seed determine a submission, on every machine. Mutations work on text; nothing is
executed here.
"""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.making.red_team import Exploit, load_exploits, target_of
from agentgym.envs.swe.trees import contents
from agentgym.support.random_stream import Stream
from benchmarks.rewrites import REWRITES, rewrite
from benchmarks.swe_right_fixes import place_of_fault, solution

KINDS = ("solution", "fault", "exploit", "both")
"""The mutated text: the solution, the fault, an exploit with the fault, one with the solution."""
SHARES = (30, 10, 30, 30)
"""Percentage of submissions of each kind."""
TOO_SLOW = frozenset({
    "time/never-ends", "driver/hang", "driver/parent-stopped", "driver/answers-rewritten",
    "box/memory-in-the-tests", "box/many-processes", "box/full-disk", "reports/jump-over-asserts",
    "time/hash-seed",
})  # fmt: skip
"""Exploits that wait or fill a disk or memory: too slow for thousands of submissions."""
_SWAPS: Mapping[str, Sequence[str]] = {
    "<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="), "==": ("!=",),
    "!=": ("==",), "+": ("-",), "-": ("+",), "*": ("+",), "//": ("/",), "/": ("//",), "%": ("//",),
    "and": ("or",), "or": ("and",), "is": ("==",), "True": ("False",), "False": ("True",),
    "None": ("0",), "min": ("max",), "max": ("min",), "any": ("all",), "all": ("any",),
    "not": ("",), "continue": ("break",), "break": ("continue",), "strip": ("lstrip", "rstrip"),
    "lstrip": ("strip",), "rstrip": ("strip",), "lower": ("casefold", "upper"), "find": ("rfind",),
    "startswith": ("endswith",), "endswith": ("startswith",), "append": ("extend",),
    "in": ("not in",), "+=": ("-=",), "-=": ("+=",), "sorted": ("list",), "reversed": ("list",),
    "isdigit": ("isalnum",),
}  # fmt: skip


@dataclass(frozen=True)
class Submission:
    """One fuzzed submission."""

    number: int
    instance: Instance
    kind: str
    """One of :data:`KINDS`."""
    how: str
    """Description of the mutation."""
    edits: Mapping[str, bytes | None]
    """Its files that differ from the faulty repository."""


def submission(number: int, seed: int, tasks: Sequence[Instance]) -> Submission:
    """Make a submission.

    Args:
        number: Which one.
        seed: Seed of all of them.
        tasks: Tasks whose repository lies in a folder.
    """
    draw = Stream("fuzzed-submission", seed, number)
    instance = draw.choice(tasks)
    kind = _kind(draw)
    files, description = _repair(instance, kind, draw)
    if kind in ("exploit", "both"):
        more = _exploit(instance, files, draw)
        description = ", ".join(filter(None, (description, more)))
    assert isinstance(instance.source, FolderSource)
    sources = contents(instance.source)
    edits = {path: text for path, text in files.items() if sources.get(path) != text}
    return Submission(number, instance, kind, description, edits)


def _kind(draw: Stream) -> str:
    """Draw a kind."""
    draw_left = draw.below(sum(SHARES))
    for kind, share in zip(KINDS, SHARES, strict=True):
        if draw_left < share:
            return kind
        draw_left -= share
    raise AssertionError("shares add up")


def _repair(instance: Instance, kind: str, draw: Stream) -> tuple[dict[str, bytes | None], str]:
    """Return the files before any exploit, and a description of their mutation."""
    if kind == "exploit":
        return {}, ""
    files = {} if kind == "fault" else solution(instance)
    path, line = place_of_fault(instance)
    assert isinstance(instance.source, FolderSource)
    text = (files.get(path) or contents(instance.source)[path]).decode()
    way = draw.choice(("tokens", "tokens", "rewritten") if kind != "both" else
                      ("as it is", "rewritten", "tokens"))  # fmt: skip
    if way == "tokens" or kind == "fault":
        new, change = _tokens(text, line, draw, draw.between(1, 2))
        return {**files, path: new.encode()}, change
    if way == "rewritten":
        names = draw.sample(list(REWRITES), 2)
        changed = rewrite(text, line, names[:1]) or rewrite(text, line, names[1:])
        if changed is not None:
            return {**files, path: changed.encode()}, f"rewritten ({names[0]} or {names[1]})"
    return files, "as it is"


def _tokens(text: str, line: int, draw: Stream, count: int) -> tuple[str, str]:
    """Change some tokens of the innermost function around a line."""
    changes = []
    for _ in range(count):
        places = _places(text, line)
        if not places:
            break
        token, new = draw.choice(places)
        rows = text.split("\n")
        row, (start, end) = token.start[0] - 1, (token.start[1], token.end[1])
        changes.append(f"{token.string} -> {new} in line {row + 1}")
        rows[row] = rows[row][:start] + new + rows[row][end:]
        text = "\n".join(rows)
    return text, "; ".join(changes) or "as it is"


def _places(text: str, line: int) -> list[tuple[tokenize.TokenInfo, str]]:
    """Return replaceable tokens of a function, each with a replacement."""
    try:
        tree = ast.parse(text)
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, tokenize.TokenError):
        return []
    inside = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
              and node.lineno <= line <= (node.end_lineno or 0)]  # fmt: skip
    first, last = (1, len(text)) if not inside else (inside[-1].lineno, inside[-1].end_lineno or 0)
    names = sorted({t.string for t in tokens if t.type == tokenize.NAME and t.string.islower()
                    and first < t.start[0] <= last and t.string not in _SWAPS})  # fmt: skip
    places = []
    for token in tokens:
        if not first < token.start[0] <= last:
            continue
        places += [(token, new) for new in _SWAPS.get(token.string, ())]
        if token.type == tokenize.NUMBER and token.string.isdigit():
            places += [(token, str(int(token.string) + step)) for step in (1, -1)]
        elif token.type == tokenize.NAME and token.string in names:
            next_name = names[(names.index(token.string) + 1) % len(names)]
            places.append((token, next_name))
    return places


def _exploit(instance: Instance, files: dict[str, bytes | None], draw: Stream) -> str:
    """Append one or two mutated exploits to files; return a description."""
    target, changes = target_of(instance), []
    assert isinstance(instance.source, FolderSource)
    sources = contents(instance.source)
    for exploit in draw.sample(_appended_exploits(), 1 + draw.percent(25)):
        for to, text in exploit.appended.items():
            text, way = _mutated(target.fill(text), exploit, draw)
            place = draw.choice((target.fill(to), target.fill(to), target.fault))
            text_now = files.get(place) or sources[place]
            files[place] = text_now + b"\n" + text.encode() + b"\n"
            changes.append(f"{exploit.name} {way} in {place}")
    return ", ".join(changes)


@cache
def _appended_exploits() -> tuple[Exploit, ...]:
    """Return the quick exploits that append to source."""
    return tuple(
        exploit for exploit in load_exploits() if exploit.appended and exploit.name not in TOO_SLOW
    )


def _mutated(text: str, exploit: Exploit, draw: Stream) -> tuple[str, str]:
    """Change the text of an exploit."""
    lines = text.split("\n")
    way = draw.choice(
        ("as it is", "as it is", "a line less", "guarded", "late", "tokens", "inside")
    )
    if way == "a line less":
        lines.pop(draw.below(len(lines)))
    elif way == "guarded":
        lines = ["try:", *_indented(lines), "except Exception:", "    pass"]
    elif way == "late":
        lines = [
            "def _at_the_end():",
            *_indented(lines),
            "import atexit as _at",
            "_at.register(_at_the_end)",
        ]
    elif way == "inside":
        lines = ["import sys as _sy", "if 'pytest' in _sy.modules:", *_indented(lines)]
    elif way == "tokens":
        new, change = _tokens(text, 1 + draw.below(len(lines)), draw, 1)
        return new, change
    return "\n".join(lines), way


def _indented(lines: Sequence[str]) -> list[str]:
    return textwrap.indent("\n".join(lines), "    ").split("\n")
