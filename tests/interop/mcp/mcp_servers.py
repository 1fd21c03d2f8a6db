"""Small servers of MCP with schemas as pydantic writes them; the argument names one.

None knows of episodes or rewards; what they print besides messages is part of the test.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

Answer = dict[str, Any]


def text(*lines: object) -> list[Answer]:
    return [{"type": "text", "text": str(line)} for line in lines]


# -- an order: nested models, a model in a list, an optional one, one that refers to itself --------

ITEM = {
    "properties": {
        "sku": {"title": "Sku", "type": "string"},
        "count": {"default": 1, "minimum": 1, "title": "Count", "type": "integer"},
    },
    "required": ["sku"],
    "title": "Item",
    "type": "object",
}
PLACE = {
    "properties": {
        "street": {"title": "Street", "type": "string"},
        "inside": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "default": None},
    },
    "required": ["street"],
    "title": "Place",
    "type": "object",
}
ORDER = {
    "$defs": {
        "Item": ITEM,
        "Place": PLACE,
        "Speed": {"enum": ["slow", "fast"], "title": "Speed", "type": "string"},
    },
    "properties": {
        "items": {"items": {"$ref": "#/$defs/Item"}, "title": "Items", "type": "array"},
        "to": {"$ref": "#/$defs/Place", "description": "Where it goes."},
        "billing": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "default": None},
        "speed": {"allOf": [{"$ref": "#/$defs/Speed"}], "default": "slow"},
    },
    "required": ["items", "to"],
    "title": "orderArguments",
    "type": "object",
}


def order(arguments: Answer) -> Answer:
    assert all(isinstance(item, dict) for item in arguments["items"]) and arguments["to"]["street"]
    return {"content": text(json.dumps(arguments, sort_keys=True))}


# -- a search: constants, alternatives, nine arguments that may be left out ------------------------

OPTIONS = {f"o{number}": {"default": number, "type": "integer"} for number in range(1, 8)}
SEARCH = {
    "properties": {
        "mode": {"const": "web", "title": "Mode"},
        "query": {"anyOf": [{"type": "string"}, {"items": {"type": "string"}, "type": "array"}]},
        "lang": {"anyOf": [{"const": "en"}, {"const": "de"}, {"type": "null"}], "default": None},
        "cursor": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        **OPTIONS,
        "extra": {"title": "Extra"},
    },
    "required": ["mode", "query", "cursor"],
    "type": "object",
}


def search(arguments: Answer) -> Answer:
    assert "cursor" in arguments
    return {"content": text(json.dumps(arguments, sort_keys=True))}


# -- others: their keys mean something else, their content is elsewhere ----------------------------

NONE = {"properties": {}, "type": "object"}
STRUCTURED: Mapping[str, Answer] = {
    "todo": {"done": True, "task": "milk"},
    "shop": {"reward": 50, "item": "a cup"},
    "report": {"failure": "none", "observation": "part of it", "lines": 3},
    "pay": {"reward": 5, "done": True},
}


def structured(name: str) -> Callable[[Answer], Answer]:
    content = STRUCTURED[name]
    return lambda arguments: {"content": text(json.dumps(content)), "structuredContent": content}


ODD: Mapping[str, Answer] = {
    "bare": {"content": [], "structuredContent": {"temperature": 21.5, "sky": "clear ☀"}},
    "missing": {"structuredContent": {"n": 1}},
    "nothing": {},
    "null": {"content": None, "_meta": {"a": 1}},
    "failed": {"isError": True},
    "words": {"content": "plain words"},
    "old": {"toolResult": [1, 2]},
    "blocks": {
        "content": [
            {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "inside a file"}},
            {"type": "resource_link", "uri": "file:///b.txt", "name": "b"},
            {"type": "image", "data": "", "mimeType": "image/png"},
            {"type": "text"},
            "bare",
        ]
    },
}

SERVERS: Mapping[str, Mapping[str, tuple[Any, Callable[[Answer], Answer]]]] = {
    "orders": {"order": (ORDER, order)},
    "search": {"search": (SEARCH, search)},
    "foreign": {name: (NONE, structured(name)) for name in STRUCTURED},
    "odd": {name: (NONE, lambda arguments, reply=reply: reply) for name, reply in ODD.items()},  # type: ignore[misc]
    "banner": {"look": (NONE, lambda arguments: {"content": text("a desk")})},
    "dying": {"look": (NONE, lambda arguments: os._exit(1))},
}
CHATTY = ("banner", "dying")


def say(line: str) -> None:
    sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.flush()


def main(name: str) -> None:
    tools = SERVERS[name]
    if name in CHATTY:
        say("INFO starting server v1.2")
        say("")
        say("[1, 2]")
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if number is None:
            continue
        if name in CHATTY:
            say(f"DEBUG got {method}")
            say("   ")
            # A log line of JSON is no message either, even with the number of the request.
            say(json.dumps({"level": "info", "id": number, "message": "working"}))
            say("\ufffd not { json")
        result: Answer = {"protocolVersion": "2025-06-18", "capabilities": {}}
        if method == "tools/list":
            listed = [{"name": tool, "inputSchema": schema} for tool, (schema, _) in tools.items()]
            result = {"tools": listed}
        elif method == "tools/call":
            result = tools[message["params"]["name"]][1](message["params"]["arguments"])
        say(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}))


if __name__ == "__main__":
    main(sys.argv[1])
