"""Parse the first complete action of an agent's text, without backtracking regular expressions."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from agentgym.actions.blank_forms import blank_forms
from agentgym.actions.call_forms import TOOL_CALL_END, find_json, plain_name, unwrap_call
from agentgym.actions.json_values import DECODER
from agentgym.actions.specs import (
    MAX_ACTION_CHARS,
    MAX_TEXT_CHARS,
    ActionCall,
    ActionSpec,
    Parsed,
    check_grammar,
    check_specs,
)
from agentgym.actions.templates import Match, compile_specs, find_native
from agentgym.actions.thinking import strip_think
from agentgym.actions.values import Fault, build_call

ACTION_LINE = re.compile(
    r"^[ \t]{0,32}action[ \t]{0,8}\d{0,4}[ \t]{0,8}:", re.IGNORECASE | re.MULTILINE
)
_TAG = re.compile(r"<action>", re.IGNORECASE)
_TAG_END = re.compile(r"</action>", re.IGNORECASE)
_TOOL = re.compile(r"<tool_call>", re.IGNORECASE)
_SHORT = 512
"""Only texts of at most this many characters are cached: short actions repeat, long reasoning does
not."""


def parse(text: str, specs: tuple[ActionSpec, ...], grammar: str = "native") -> Parsed:
    """Find the first complete action in an agent's text.

    Thinking is stripped first. Only the first `MAX_TEXT_CHARS` characters of the rest count, and an
    action has at most `MAX_ACTION_CHARS`. Nothing is ever evaluated, and no text raises.

    Args:
        text: The agent's text.
        specs: The environment's actions.
        grammar: One of `GRAMMARS`.

    Returns:
        The call, its native text and the text after it, or the reason why there is no call. In the
        native grammar, and between the tags of ``action_tag``, text that matches no template is not
        an error: ``native`` holds it unchanged, ``call`` is None, and the environment responds to
        it.

    Raises:
        ConfigurationError: The grammar is unknown or the spec set is not valid.
    """
    if len(text) > _SHORT:
        return _parse(text, specs, grammar)
    parsed = _parse_short(text, specs, grammar)
    call, native, trailing, error = parsed
    if call is None:
        return parsed
    # Copy the arguments: the caller may change them, and the cached call is shared.
    return Parsed(ActionCall(call.name, call.arguments.copy()), native, trailing, error)


def _parse(text: str, specs: tuple[ActionSpec, ...], grammar: str) -> Parsed:
    check_grammar(grammar)
    compile_specs(specs)
    text = unix_line_ends(strip_think(text, specs, grammar)[:MAX_TEXT_CHARS])
    if not text.strip():
        return Parsed(None, error="the text holds no action (thinking does not count)")
    if grammar == "native":
        return _parse_native(text, specs)
    if grammar == "action_tag":
        return _parse_tagged(text, specs)
    try:
        call, trailing = _PARSERS[grammar](text, specs)
        return Parsed(call, to_native(call, specs), trailing.strip())
    except Fault as fault:
        return Parsed(None, error=str(fault))


def too_long(length: int) -> str:
    """Return the error message for an action of this many characters."""
    return f"the action has {length:,} characters; at most {MAX_ACTION_CHARS:,} characters are read"


_parse_short = lru_cache(maxsize=4096)(_parse)


def _parse_native(text: str, specs: tuple[ActionSpec, ...]) -> Parsed:
    match = find_native(text, specs)
    if match is None:
        return Parsed(None, text[:MAX_ACTION_CHARS])
    if match.end - match.start > MAX_ACTION_CHARS:
        return Parsed(None, error=too_long(match.end - match.start))
    try:
        call = build_call(match.spec, dict(match.values))
    except Fault:
        return Parsed(None, text[:MAX_ACTION_CHARS])
    return Parsed(call, text[match.start : match.end], text[match.end :].strip())


def _parse_tagged(text: str, specs: tuple[ActionSpec, ...]) -> Parsed:
    """Parse the text between the tags: a native action, or text that the environment judges."""
    opening = _TAG.search(text)
    closing = opening and _TAG_END.search(text, opening.end())
    if opening is None or closing is None:
        return Parsed(None, error="no action found: write <action>your action</action>")
    body, trailing = text[opening.end() : closing.start()], text[closing.end() :].strip()
    if not body.strip():
        return Parsed(None, "", trailing, "<action> holds nothing: write the action in it")
    if len(body) > MAX_ACTION_CHARS:
        return Parsed(None, "", trailing, too_long(len(body)))
    parsed = _parse_native(body, specs)
    if parsed.call is None or "".join(body.split(parsed.native, 1)).strip():
        return Parsed(None, body.strip(), trailing)
    return parsed._replace(trailing=trailing)


def unix_line_ends(text: str) -> str:
    r"""Replace ``\r\n`` by ``\n`` if every line ends with it; return mixed text unchanged."""
    ends = text.count("\r\n")
    return text.replace("\r\n", "\n") if ends and ends == text.count("\n") else text


def to_native(call: ActionCall, specs: tuple[ActionSpec, ...]) -> str:
    """Write a valid call in the environment's native text.

    Returns:
        The text of the first template with these arguments that parses back to this call.

    Raises:
        Fault: No template reproduces the call.
    """
    length = sum(map(len, call.arguments.values()))
    if length > MAX_ACTION_CHARS:
        raise Fault(too_long(length))
    names = set(call.arguments)
    templates = [template for template in compile_specs(specs) if template.spec.name == call.name]
    # In the order of declaration; compile_specs sorts the most specific first.
    templates.sort(key=lambda template: template.spec.templates.index(template.source))
    for template in templates:
        if template.takes(names):
            text = template.fill(call.arguments)
            if len(text) <= MAX_ACTION_CHARS and _parse_native(text, specs).call == call:
                return text
    forms = " or ".join(map(repr, check_specs(specs)[call.name.lower()].templates))
    raise Fault(
        f"these arguments of {call.name!r} cannot be written as {forms}: "
        "change them (brackets must pair, the closing text must not occur inside)"
    )


@lru_cache(maxsize=256)
def _opening_tag(specs: tuple[ActionSpec, ...]) -> re.Pattern[str]:
    names = "|".join(sorted(check_specs(specs), key=len, reverse=True))
    return re.compile(rf"<({names})[ \t]{{0,8}}(/?)>", re.IGNORECASE)


def _parse_xml(text: str, specs: tuple[ActionSpec, ...]) -> tuple[ActionCall, str]:
    unclosed: set[str] = set()
    for tag in _opening_tag(specs).finditer(text):
        spec = check_specs(specs)[tag[1].lower()]
        if tag[2]:
            return build_call(spec, {}), text[tag.end() :]
        if spec.name in unclosed:
            continue
        end = re.compile(rf"</{spec.name}>", re.IGNORECASE).search(text, tag.end())
        if end is None:
            unclosed.add(spec.name)
            continue
        body = text[tag.end() : end.start()]
        return build_call(spec, _xml_arguments(spec, body)), text[end.end() :]
    if unclosed:
        raise Fault(f"<{min(unclosed)}> is not closed: end it with </{min(unclosed)}>")
    forms = blank_forms(specs, "xml") or f"one of {' '.join(f'<{s.name}>' for s in specs)}"
    raise Fault(f"no action found: write {forms}")


def _xml_arguments(spec: ActionSpec, body: str) -> dict[str, Any]:
    """Read the body of an action's tag."""
    if not spec.params and not body.strip():
        return {}
    if len(spec.params) == 1 and (spec.params[0].required or body.strip()):
        return {spec.params[0].name: _unwrap(body)}
    arguments: dict[str, Any] = {}
    body_text = body.lstrip()
    while body_text:
        name = next((p.name for p in spec.params if body_text.startswith(f"<{p.name}>")), None)
        end = body_text.find(f"</{name}>") if name else -1
        if name is None or end < 0 or name in arguments:
            names = " ".join(
                f"<{p.name}>...</{p.name}>" + ("" if p.required else " (or without)")
                for p in spec.params
            )
            raise Fault(f"<{spec.name}> must hold {names or 'nothing'}, got {body_text[:40]!r}")
        arguments[name] = _unwrap(body_text[len(name) + 2 : end])
        body_text = body_text[end + len(name) + 3 :].lstrip()
    return arguments


def _unwrap(value: str) -> str:
    """Drop the line break after an opening tag and the one before a closing tag."""
    return value.removeprefix("\n").removesuffix("\n")


def _parse_react(text: str, specs: tuple[ActionSpec, ...]) -> tuple[ActionCall, str]:
    marker = ACTION_LINE.search(text)
    if marker is None:
        forms = blank_forms(specs, "react")
        raise Fault(
            "no action found: write a line that starts with 'Action:'"
            f"{f', such as {forms}' if forms else ''}"
        )
    tail = text[marker.end() :]
    tail = tail[1:] if tail.startswith((" ", "\n")) else tail
    match: Match | None = find_native(tail, specs)
    if match is None or tail[: match.start].strip():
        # Only the first template of each action: alternatives would bury the other actions.
        forms = " or ".join(spec.templates[0] for spec in specs)
        excerpt = tail.strip().split("\n")[0][:60]
        raise Fault(f"after 'Action:' write {forms}, got {excerpt!r}")
    return build_call(match.spec, dict(match.values)), tail[match.end :]


def _parse_tool_call(text: str, specs: tuple[ActionSpec, ...]) -> tuple[ActionCall, str]:
    tag, name = _TOOL.search(text), ""
    start = tag.end() if tag else 0
    if tag is None and not text.lstrip().startswith("{"):
        foreign = find_json(text)
        if foreign is None:
            form = '<tool_call>{"name": ..., "arguments": ...}</tool_call>'
            raise Fault(f"no action found: write {blank_forms(specs, 'tool_call') or form}")
        name, start = foreign
    start += len(text[start:]) - len(text[start:].lstrip())
    payload, end = _decode(text, start)
    payload = {"name": name, "arguments": payload} if name else unwrap_call(payload)
    if tag:
        close = TOOL_CALL_END.match(text, end)
        if close is None and text[end:].strip():
            raise Fault("<tool_call> must hold one JSON object and end with </tool_call>")
        end = close.end() if close else len(text)
    if not isinstance(payload, dict) or not isinstance(payload.get("name"), str):
        raise Fault('the JSON must be an object {"name": ..., "arguments": {...}}')
    spec = check_specs(specs).get(plain_name(payload["name"]).lower())
    if spec is None:
        names = ", ".join(spec.name for spec in specs)
        raise Fault(f"there is no action {payload['name'][:40]!r}: use one of {names}")
    arguments = payload.get("arguments", payload.get("parameters")) or {}
    if isinstance(arguments, str):
        arguments = _decode(arguments, 0)[0] if arguments.strip() else {}
    if not isinstance(arguments, dict):
        raise Fault(f"the arguments of {spec.name!r} must be a JSON object")
    return build_call(spec, dict(arguments)), text[end:]


def _decode(text: str, start: int) -> tuple[Any, int]:
    """Decode one JSON value; see `DECODER`."""
    try:
        payload, end = DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
        raise Fault(f"the tool call is not valid JSON: {reason}") from None
    return payload, end


_PARSERS = {"xml": _parse_xml, "react": _parse_react, "tool_call": _parse_tool_call}
