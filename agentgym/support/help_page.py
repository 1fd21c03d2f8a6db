"""The help page of a command: its common flags in groups, or all flags.

A command with many flags shows the common ones, and the others with ``--help-all``.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from agentgym.support.flag_marks import Append, Positional, Suppress
from agentgym.support.helptext import field_texts, is_marked, value_name

ALL = "--help-all"
"""Shows every flag with its whole text."""
COLUMN = 26
"""Where the texts of flags begin."""
NAMES = 14
"""Where the texts of commands begin."""
WIDEST = 100
"""Most columns of a page."""
FURTHER = "further flags"
"""Title of flags that belong to no group."""
_LEFT_OUT = re.compile(r"(?:^|(?<=[.;]) )None: (.+?)(?:\.(?= [A-Z])|\.?$)")
"""What a docstring says of a flag that is left out."""
_SENTENCE_END = re.compile(r"(?<=[.])\s+(?=[A-Z`-])")
_NO_GROUPS: Mapping[str, Sequence[str]] = MappingProxyType({})
_NO_DEFAULTS: Mapping[str, str] = MappingProxyType({})


@dataclasses.dataclass(frozen=True)
class FlagHelp:
    """A flag, or a positional argument, as the help shows it."""

    name: str
    """What is typed, such as ``--rl.beta``; of a positional argument its name in capitals."""
    kind: Any
    """Type of its value, without marks of the parser."""
    value: str
    """What is typed behind it, such as ``FLOAT``; empty for a switch."""
    text: str
    """What it does."""
    default: str
    """Its value where it is left out, as people write it; empty where the text says it."""
    switch: bool = False
    """Whether it takes no value: it is on, off, or left open."""
    field: str = ""
    """The field of the dataclass that it sets."""
    required: bool = False
    """Whether the dataclass has no default for it."""
    repeats: bool = False
    """Whether it is typed once for each value, of a list."""
    section: str = ""
    """Name and text of the nested dataclass that it is of; empty at the top."""

    @property
    def positional(self) -> bool:
        """Whether it has no dashes."""
        return not self.name.startswith("-")

    @property
    def usage(self) -> str:
        """How a line of usage writes a positional argument: in brackets if it may be left out."""
        typed = self.value if "..." in self.value else self.name
        return typed if self.required else f"[{typed}]"

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types that its value may have; None among them where it may be left open."""
        union = get_origin(self.kind) in (Union, UnionType)
        return get_args(self.kind) if union else (self.kind,)

    @property
    def takes_list(self) -> bool:
        """Whether it takes a list."""
        return any(Ellipsis in get_args(kind) for kind in self.kinds)

    @property
    def nargs(self) -> Literal["?", "*"]:
        """How many values it takes each time it is typed, in argparse's sign: one, or several."""
        several = any(get_origin(kind) is tuple for kind in self.kinds)
        return "*" if several and not self.repeats else "?"

    @property
    def flag(self) -> str:
        """What is typed, without the mark of a switch that may be turned off."""
        return self.name.replace("[no-]", "")


def flag_rows(
    arguments: type, defaults: Mapping[str, str] = _NO_DEFAULTS, prefix: str = ""
) -> Iterator[FlagHelp]:
    """Yield the flags of a dataclass and of those it nests, in their order.

    Args:
        arguments: The dataclass.
        defaults: Defaults that the dataclass does not know, by flags.
        prefix: What the flags begin with behind their dashes, such as ``rl.``.
    """
    texts, marked = field_texts(arguments), get_type_hints(arguments, include_extras=True)
    hints = get_type_hints(arguments)
    for field in dataclasses.fields(arguments):
        if is_marked(marked[field.name], Suppress):
            continue
        word = field.name.replace("_", "-")
        if dataclasses.is_dataclass(field.default_factory):
            yield from flag_rows(field.default_factory, defaults, f"{prefix}{word}.")
            continue
        positional = is_marked(marked[field.name], Positional)
        name = word.upper() if positional else f"--{prefix}{word}"
        text, left_out = _split_default(texts.get(field.name, ""), field)
        kind = hints[field.name]
        switch, negatable = _is_switch(kind), _is_switch(kind) and field.default is not False
        yield FlagHelp(
            name=f"--{prefix}[no-]{word}" if negatable else name,
            kind=kind,
            value="" if switch else _value(marked[field.name], kind, name if positional else ""),
            text=text,
            default=defaults.get(name, left_out),
            switch=switch,
            field=field.name,
            required=field.default is field.default_factory is dataclasses.MISSING,
            repeats=is_marked(marked[field.name], Append),
            section=f"{prefix.rstrip('.')}: {_first_sentence(arguments)}" if prefix else "",
        )


def help_page(
    arguments: type,
    program: str,
    *,
    about: str = "",
    groups: Mapping[str, Sequence[str]] = _NO_GROUPS,
    defaults: Mapping[str, str] = _NO_DEFAULTS,
    names: Mapping[str, str] = _NO_DEFAULTS,
    everything: bool = False,
    ending: str = "",
) -> str:
    """Return the help of a command.

    Args:
        arguments: Its arguments, a dataclass that may nest others.
        program: What is typed for it, such as ``agentgym eval``.
        about: What it does; empty: the docstring of the dataclass.
        groups: Flags of the short help by the titles of their groups, such as ``{"model":
            ["--model", "--base-url"]}``. Without any, every flag is shown.
        defaults: Defaults that the dataclass does not know, by flags.
        names: Words in capitals in the texts of flags, and what they stand for, such as
            ``{"PROTOCOLS": "agentgym, official"}``.
        everything: Show all flags, each with its whole text, the others below those in groups.
        ending: A last paragraph.
    """
    rows = [
        dataclasses.replace(row, text=with_names(row.text, names))
        for row in flag_rows(arguments, defaults)
    ]
    by_name = {row.flag: row for row in rows}
    positionals = [row for row in rows if row.positional]
    words = " ".join(row.usage for row in positionals)
    lines = [f"usage: {' '.join(filter(None, (program, words)))} [flags]", ""]
    lines += _wrapped(_plain_text(about or arguments.__doc__ or ""), "")
    blocks = {"": [row for row in positionals if not _in_groups(row, groups)]}
    for title, flags in groups.items():
        blocks[title] = [by_name[flag] for flag in flags]
    placed = {row.name for block in blocks.values() for row in block}
    if everything or not groups:
        for row in rows:
            if row.name not in placed:
                title = row.section or (FURTHER if groups else "flags")
                blocks.setdefault(title, []).append(row)
    for title, block in blocks.items():
        if block:
            lines += ["", *([f"{title}:"] if title else [])]
            lines += [line for row in block for line in _row(row, everything or not groups)]
    hidden = len(rows) - sum(map(len, blocks.values()))
    if hidden:
        lines += ["", f"{program} {ALL} shows all {len(rows)} flags, each with its whole text."]
    return "\n".join([*lines, *(["", *_wrapped(ending, "")] if ending else [])]) + "\n"


def summary_line(name: str, text: str) -> list[str]:
    """Return the lines of a page that name something and say what it is."""
    lines = _wrapped(text, " " * NAMES)
    return [f"  {name}".ljust(NAMES) + lines[0].lstrip(), *lines[1:]] if lines else [f"  {name}"]


def _value(hint: Any, kind: Any, name: str) -> str:
    """Return what is typed behind a flag."""
    value = value_name(kind, name)
    return value.removesuffix(" ...") if is_marked(hint, Append) else value


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Put what words in capitals stand for into a text."""
    for word, meaning in names.items():
        text = text.replace(word, meaning)
    return text


def _is_switch(kind: Any) -> bool:
    """Return whether a flag takes no value: it is on, off, or left open."""
    return kind is bool or set(get_args(kind)) == {bool, NoneType}


def _first_sentence(arguments: type) -> str:
    text = " ".join(_plain_text(arguments.__doc__ or "").split())
    return _SENTENCE_END.split(text, maxsplit=1)[0].rstrip(".")


def _in_groups(row: FlagHelp, groups: Mapping[str, Sequence[str]]) -> bool:
    return any(row.flag in flags for flags in groups.values())


def _row(row: FlagHelp, full: bool) -> list[str]:
    """Return the lines of a flag: what is typed, and beside it what that does."""
    typed = f"  {row.name} {row.value}".rstrip() if not row.positional else f"  {row.value}"
    text = row.text if full else _SENTENCE_END.split(row.text, maxsplit=1)[0]
    if row.default:
        text = f"{text.rstrip('.')} (default: {row.default})"
    lines = _wrapped(text, " " * COLUMN)
    if len(typed) >= COLUMN - 1 or not lines:
        return [typed, *lines]
    return [typed.ljust(COLUMN) + lines[0].lstrip(), *lines[1:]]


def _wrapped(text: str, indent: str) -> list[str]:
    width = min(shutil.get_terminal_size().columns, WIDEST)
    paragraphs = [part for part in text.split("\n\n") if part.strip()]
    lines: list[str] = []
    for part in paragraphs:
        lines += [""] if lines else []
        lines += textwrap.wrap(
            " ".join(part.split()), max(width, COLUMN + 20), initial_indent=indent,
            subsequent_indent=indent, break_on_hyphens=False, break_long_words=False,
        )  # fmt: skip
    return lines


def _plain_text(text: str) -> str:
    """Return a docstring as text of a terminal: its paragraphs, without marks of code."""
    return re.sub(r"`+", "", text)


def _split_default(text: str, field: dataclasses.Field[Any]) -> tuple[str, str]:
    """Return the text of a flag, and its default as people write it."""
    text = _plain_text(text)
    if field.default is None and (match := _LEFT_OUT.search(text)):
        head, tail = text[: match.start()].rstrip(" ;"), text[match.end() :]
        return f"{head}{'.' * (tail[:1] == ' ' and head[-1:] not in '.')}{tail}", match[1]
    value = field.default
    if value is dataclasses.MISSING or value is None or value is False or value in ("", ()):
        return text, ""
    if value is True:
        return text, "on"
    return text, " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
