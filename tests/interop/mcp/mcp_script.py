"""A server of MCP without a package: honest, or with one fault, which its argument names."""

from __future__ import annotations

import json
import os
import sys
import time

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer", "description": "A number."},
        "b": {"type": "integer"},
        "note": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["a", "b"],
}
TOOLS = [
    {"name": "math.add", "description": "Add two numbers.", "inputSchema": SCHEMA},
    {"name": "look", "inputSchema": {"type": "object"}},
    {"name": "broken", "inputSchema": "no schema"},
]
REWARDS = {"nan": float("nan"), "text": "much", "none": None}
if FAULT in REWARDS:  # only servers with episodes pay
    TOOLS.append({"name": "start_episode", "inputSchema": {"type": "object"}})


def answer(method: str, params: dict[str, object]) -> dict[str, object]:
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {}, "instructions": "Add 2 and 3."}
    if method == "tools/list":
        if FAULT == "no tools":
            return {"tools": []}
        if FAULT == "lies":
            return {"tools": "many"}
        page = int(str(params.get("cursor") or 0))
        more = {"nextCursor": str(page + 1)} if page + 1 < len(TOOLS) else {}
        return {"tools": [TOOLS[page]], **more}
    arguments = params["arguments"]
    assert isinstance(arguments, dict)
    if FAULT == "dies":
        print("out of memory", file=sys.stderr)
        os._exit(1)
    if FAULT == "hangs":
        time.sleep(600)
    if FAULT == "large":
        return {"content": [{"type": "text", "text": "x" * (1 << 23)}]}
    if params["name"] == "start_episode":
        return {"content": [{"type": "text", "text": "Add 2 and 3."}]}
    if FAULT in REWARDS:
        return {"content": [], "structuredContent": {"reward": REWARDS[FAULT], "done": True}}
    if params["name"] == "look":
        return {"content": [{"type": "image"}, {"type": "text", "text": "a desk"}]}
    if FAULT == "picky" and arguments["a"] == 1:
        os._exit(1)
    if FAULT == "picky" and arguments["a"] in (2, 3):
        raise ValueError(arguments["a"])
    if arguments.get("note") == "fail":
        return {"content": [{"type": "text", "text": "no"}], "isError": True}
    total = arguments["a"] + arguments["b"]
    return {"content": [{"type": "text", "text": json.dumps([total, arguments])}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    if message["method"] == "tools/call":
        for notice in ({"id": 7, "method": "ping"}, {"method": "notifications/progress"}):
            print(json.dumps({"jsonrpc": "2.0", **notice}), flush=True)
    reply: dict[str, object] = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        reply["result"] = answer(message["method"], message.get("params", {}))
    except ValueError as error:
        code = {2: -32603, 3: -32602}[error.args[0]]
        reply["error"] = {"code": code, "message": "a is out of range"}
    print(json.dumps(reply), flush=True)
