"""Validate the arguments of a call and convert them to canonical text."""

from __future__ import annotations

import math
import re
from typing import Any

from agentgym.actions.blank_forms import blank
from agentgym.actions.json_values import json_value
from agentgym.actions.specs import JSON_TYPES, ActionCall, ActionSpec, Param

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,63})(?:\.[0-9]{1,64})?(?:[eE][+-]?[0-9]{1,4})?")


class Fault(Exception):
    """A text contains no valid action; the agent sees the message as its observation."""


def build_call(spec: ActionSpec, values: dict[str, Any]) -> ActionCall:
    """Validate arguments and convert them to canonical text; empties ``values``.

    Raises:
        Fault: An argument is missing, unknown or of the wrong type.
    """
    arguments: dict[str, str] = {}
    for param in spec.params:
        value = values.pop(param.name, None)
        if value is not None:
            if value == blank(param):
                raise Fault(f"write a value in the place of {value}")
            arguments[param.name] = _value(spec, param, value)
        elif param.required:
            raise Fault(f"{spec.name!r} needs the argument {param.name!r}")
    if values:
        names = ", ".join(param.name for param in spec.params) or "none"
        raise Fault(f"{spec.name!r} has no argument {min(values)[:40]!r} (it takes: {names})")
    return ActionCall(spec.name, arguments)


def _value(spec: ActionSpec, param: Param, value: Any) -> str:
    """Convert one value to canonical text, or raise `Fault`."""
    if isinstance(value, bool):
        value = "true" if value else "false"
    if param.type in JSON_TYPES:
        text = json_value(value, param.type)
        if text is None:
            raise Fault(
                f"the argument {param.name!r} of {spec.name!r} must be JSON, an {param.type}"
            )
        return text
    if not isinstance(value, str):
        raise Fault(f"the argument {param.name!r} of {spec.name!r} must be a {param.type}")
    if param.verbatim:
        return str(value)
    value = " ".join(value.split())
    if param.type == "integer" and not _INTEGER.fullmatch(value):
        value = value[:-2] if value.endswith(".0") and _INTEGER.fullmatch(value[:-2]) else ""
    elif param.type == "number" and not (
        _NUMBER.fullmatch(value) and math.isfinite(float(value))  # JSON cannot hold 1e999
    ):
        value = ""
    elif param.type == "boolean":
        value = value.lower() if value.lower() in ("true", "false") else ""
    if param.type != "string" and not value:
        raise Fault(f"the argument {param.name!r} of {spec.name!r} must be of type {param.type}")
    if param.enum:
        if value in param.enum:
            return value
        for member in param.enum:
            if value.lower() == member.lower():
                return member
        raise Fault(
            f"the argument {param.name!r} of {spec.name!r} must be one of "
            f"{', '.join(param.enum)}, got {value[:40]!r}"
        )
    return value
