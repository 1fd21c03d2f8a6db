"""Function-calling schemas derived from action specs."""

from __future__ import annotations

import json
from typing import Any

from agentgym.actions.specs import ANY, ActionSpec, Param, check_specs


def _property(param: Param) -> dict[str, Any]:
    schema: dict[str, Any] = {} if param.type == ANY else {"type": param.type}
    if param.schema:
        schema = json.loads(param.schema)
    if param.description:
        schema["description"] = param.description
    if param.type == "array":
        schema.setdefault("items", {"type": param.items} if param.items else {})
    if param.enum:
        schema["enum"] = [_typed(param, value) for value in param.enum]
    return schema


def _typed(param: Param, value: str) -> Any:
    if param.type == "integer":
        return int(value)
    if param.type == "number":
        return float(value)
    return value == "true" if param.type == "boolean" else value


def _schema(spec: ActionSpec) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {param.name: _property(param) for param in spec.params},
        "required": [param.name for param in spec.params if param.required],
        "additionalProperties": False,
    }


def openai_tools(specs: tuple[ActionSpec, ...]) -> list[dict[str, Any]]:
    """Derive the ``tools`` list of an OpenAI-compatible chat request, as new objects.

    Raises:
        ConfigurationError: Two names differ only by case.
    """
    if specs:
        check_specs(specs)
    return [
        {
            "type": "function",
            "function": {
                "name": spec.name,
                "description": spec.description,
                "parameters": _schema(spec),
            },
        }
        for spec in specs
    ]


def mcp_tools(specs: tuple[ActionSpec, ...]) -> list[dict[str, Any]]:
    """Derive the ``tools/list`` entries of the Model Context Protocol, as new objects.

    Raises:
        ConfigurationError: Two names differ only by case.
    """
    if specs:
        check_specs(specs)
    return [
        {"name": spec.name, "description": spec.description, "inputSchema": _schema(spec)}
        for spec in specs
    ]
