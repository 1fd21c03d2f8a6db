"""Write calls in a grammar, and the prompt paragraph that explains the grammar."""

from __future__ import annotations

import json
import re

from agentgym.actions.parser import parse, to_native
from agentgym.actions.specs import (
    ANY,
    PLACEHOLDER,
    ActionCall,
    ActionSpec,
    Param,
    check_grammar,
    check_specs,
)
from agentgym.actions.thinking import strip_think
from agentgym.actions.values import Fault
from agentgym.errors import ConfigurationError


def render(call: ActionCall, specs: tuple[ActionSpec, ...], grammar: str = "native") -> str:
    """Write a call in a grammar.

    Returns:
        Text for which ``parse(text, specs, grammar).call == call``.

    Raises:
        ConfigurationError: The call does not fit the specs, or a value cannot be expressed in this
            grammar (for example ``</search>`` inside ``<search>``, or white space around a value
            that is not verbatim).
    """
    check_grammar(grammar)
    spec = check_specs(specs).get(call.name.lower())
    if spec is None:
        raise ConfigurationError(
            f"expected an action among {[spec.name for spec in specs]}, got {call.name!r}"
        )
    if unknown := sorted(set(call.arguments) - {param.name for param in spec.params}):
        raise ConfigurationError(
            f"action {spec.name!r} takes {[param.name for param in spec.params]}, got {unknown}"
        )
    try:
        text = _write(spec, call, specs, grammar)
    except Fault as fault:
        raise ConfigurationError(f"cannot write {call!r:.200}: {fault}") from None
    parsed = parse(text, specs, grammar)
    if parsed.call != call:
        reason = parsed.error or "a value would be read back differently"
        raise ConfigurationError(
            f"cannot write {call!r:.200} in the grammar {grammar!r}: {reason}; use canonical "
            "values (single spaces, valid types) or another grammar"
        )
    return text


def translate(text: str, specs: tuple[ActionSpec, ...], grammar: str) -> str:
    """Translate native text, such as an expert's action or an admissible one, to another grammar.

    Raises:
        ConfigurationError: The text holds no action or cannot be expressed in the grammar.
    """
    if check_grammar(grammar) == "native":
        return text
    call = parse(text, specs, "native").call
    if call is None:
        raise ConfigurationError(
            f"expected native text such as {specs[0].templates[0]!r}, got {text!r:.200}"
        )
    return render(call, specs, grammar)


def _write(spec: ActionSpec, call: ActionCall, specs: tuple[ActionSpec, ...], grammar: str) -> str:
    if grammar == "xml":
        return _write_xml(spec, call)
    if grammar == "tool_call":
        return _write_tool_call(spec, call)
    native = to_native(call, specs)
    if grammar == "action_tag":
        return f"<action>{native}</action>"
    return native if grammar == "native" else f"Action: {native}"


def _wrapped(param: Param, value: str) -> str:
    return f"\n{value}\n" if param.verbatim and "\n" in value else value


def _write_xml(spec: ActionSpec, call: ActionCall) -> str:
    arguments = [
        (param, call.arguments[param.name]) for param in spec.params if param.name in call.arguments
    ]
    if len(spec.params) == 1:
        body = "".join(_wrapped(param, value) for param, value in arguments)
    else:
        body = "".join(f"<{p.name}>{_wrapped(p, value)}</{p.name}>" for p, value in arguments)
    return f"<{spec.name}>{body}</{spec.name}>"


def _write_tool_call(spec: ActionSpec, call: ActionCall) -> str:
    arguments = ", ".join(
        f"{json.dumps(name)}: {_json_value(spec.param(name), value)}"
        for name, value in call.arguments.items()
    )
    payload = f'{{"name": {json.dumps(spec.name)}, "arguments": {{{arguments}}}}}'
    # Escape a value such as "</think>" or "</tool_call>", which the parser would take for markup.
    if strip_think(payload) != payload or re.search("tool_call>", payload, re.IGNORECASE):
        payload = payload.replace("<", "\\u003c")
    return f"<tool_call>{payload}</tool_call>"


def _json_value(param: Param | None, value: str) -> str:
    if param is None or param.type == "string":
        return json.dumps(value, ensure_ascii=False)
    return value


def prompt(specs: tuple[ActionSpec, ...], grammar: str = "native") -> str:
    """Write the paragraph that explains to an agent how to act.

    Returns:
        The general form of an action, then one line per action with its form, meaning, arguments
        and an example.

    Raises:
        ConfigurationError: The grammar is unknown or an example cannot be parsed.
    """
    check_grammar(grammar)
    check_specs(specs)
    lines = [_INTRODUCTIONS[grammar], "Actions:"]
    for spec in specs:
        lines.append(f"- {_form(spec, grammar)} : {spec.description}{_ENDS[spec.terminal]}")
        lines.extend(f"    {_describe(param)}" for param in spec.params if _telling(param))
        lines.extend(
            f"    example: {translate(example, specs, grammar)}" for example in spec.examples[:1]
        )
    return "\n".join(lines)


_ENDS = {True: " (ends the episode)", False: ""}
_INTRODUCTIONS = {
    "native": "Answer with exactly one action per turn. Only the first complete action counts.",
    "xml": "Answer with exactly one action per turn, written as one of the XML tags below. Only "
    "the first complete action counts; text outside of it is ignored.",
    "react": "Each turn, write 'Thought: <your reasoning>' and then one line "
    "'Action: <action>'. Only the first action counts.",
    "action_tag": "Answer with exactly one action per turn, written as <action>action</action>. "
    "Only the first one counts; text outside of it is ignored.",
    "tool_call": "Answer with exactly one action per turn, written as <tool_call>"
    '{"name": <action>, "arguments": <object>}</tool_call>. Only the first complete action '
    "counts; text outside of it is ignored.",
}


def _form(spec: ActionSpec, grammar: str) -> str:
    if grammar == "xml":
        names = [param.name for param in spec.params]
        inner = names if len(names) == 1 else [f"<{name}>{name}</{name}>" for name in names]
        return f"<{spec.name}>{''.join(inner)}</{spec.name}>"
    if grammar == "tool_call":
        arguments = {param.name: param.name for param in spec.params}
        return json.dumps({"name": spec.name, "arguments": arguments})
    form = PLACEHOLDER.sub(r"\1", spec.templates[0])
    form = form if form.strip() != "".join(p.name for p in spec.params) else f"<{form}>"
    if grammar == "action_tag":
        return f"<action>{form}</action>"
    return f"Action: {form}" if grammar == "react" else form


def _telling(param: Param) -> bool:
    return bool(param.description or param.enum or not param.required or param.type != "string")


def _describe(param: Param) -> str:
    kind = "" if param.type == "string" else f" ({'JSON' if param.type == ANY else param.type})"
    optional = "" if param.required else " (optional)"
    choice = f" one of {', '.join(param.enum)}" if param.enum else ""
    text = f"{param.name}{kind}{optional}:{choice} {param.description}"
    return text.rstrip().removesuffix(":")
