"""Values and conditions inside a template."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from stencilpage.filters import FILTERS

Scope = Sequence[Mapping[str, object]]
"""Where names are looked up, the innermost mapping last."""

_TOKEN = re.compile(r"""\s*("[^"]*"|'[^']*'|==|!=|<|>|[\w.+-]+)""")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_CONSTANTS = {"true": True, "false": False, "none": None}


class RenderError(LookupError):
    """A template cannot be filled with these values."""


def lookup(path: str, scope: Scope) -> object:
    """Return what a dotted path leads to; RenderError if it leads nowhere."""
    head, *rest = path.split(".")
    for values in reversed(scope):
        if head in values:
            value = values[head]
            break
    else:
        raise RenderError(f"{head!r} is not given")
    for step in rest:
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, (list, tuple)) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise RenderError(f"{path!r} leads nowhere at {step!r}")
    return value


def operand(text: str, scope: Scope) -> object:
    """Return the value of a literal or of a path."""
    if text[:1] in ("'", '"') and text[-1:] == text[:1] and len(text) > 1:
        return text[1:-1]
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    return lookup(text, scope)


def filtered(expression: str, scope: Scope) -> object:
    """Return the value of ``path | filter | filter:argument``."""
    head, *steps = (part.strip() for part in expression.split("|"))
    calls = [_filter_call(step) for step in steps]
    try:
        value = operand(head, scope)
    except RenderError:
        fallbacks = [argument for name, argument in calls if name == "default"]
        if not fallbacks:
            raise
        value = ""
    for name, argument in calls:
        if name == "default":
            value = argument if value in ("", None) else value
            continue
        if name not in FILTERS:
            raise RenderError(f"there is no filter {name!r}")
        try:
            value = FILTERS[name](value) if argument is None else FILTERS[name](value, argument)
        except (TypeError, ValueError) as error:
            raise RenderError(f"filter {name!r}: {error}") from error
    return value


def _filter_call(text: str) -> tuple[str, str | None]:
    """Return name and argument of a filter; quotes around the argument are removed."""
    name, colon, argument = text.partition(":")
    argument = argument.strip()
    if len(argument) > 1 and argument[0] == argument[-1] and argument[0] in "'\"":
        argument = argument[1:-1]
    return name.strip(), argument if colon else None


def condition(text: str, scope: Scope) -> bool:
    """Return whether a condition holds: ``or`` of ``and`` of comparisons with ``not``."""
    tokens = _TOKEN.findall(text)
    if not tokens or _TOKEN.sub("", text).strip():
        raise RenderError(f"{text!r} is not a condition")
    return any(
        all(_comparison(term, scope) for term in _split(clause, "and"))
        for clause in _split(tokens, "or")
    )


def _split(tokens: list[str], word: str) -> list[list[str]]:
    """Split tokens at a word."""
    groups: list[list[str]] = [[]]
    for token in tokens:
        if token == word:
            groups.append([])
        else:
            groups[-1].append(token)
    return groups


def _comparison(tokens: list[str], scope: Scope) -> bool:
    """Return whether ``[not] operand [operator operand]`` holds; an unknown name does not."""
    if tokens[:1] == ["not"]:
        return not _comparison(tokens[1:], scope)
    if len(tokens) == 1:
        try:
            return bool(operand(tokens[0], scope))
        except RenderError:
            return False
    if len(tokens) != 3 or tokens[1] not in ("==", "!=", "<", ">"):
        raise RenderError(f"{' '.join(tokens)!r} is not a condition")
    left, right = operand(tokens[0], scope), operand(tokens[2], scope)
    if tokens[1] == "==":
        return left == right
    if tokens[1] == "!=":
        return left != right
    try:
        return left < right if tokens[1] == "<" else left > right  # type: ignore[operator]
    except TypeError as error:
        raise RenderError(f"{' '.join(tokens)!r}: {error}") from error
