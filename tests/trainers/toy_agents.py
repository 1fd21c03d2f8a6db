"""Agents of the toy environment that own their loop, as people write them."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from agentgym import Session


def ask(session: Session, **body: Any) -> dict[str, Any]:
    """Ask the model with nothing but the standard library; return its message."""
    request = urllib.request.Request(
        f"{session.base_url}/chat/completions",
        json.dumps({"model": session.model, **body}).encode(),
        {"Authorization": f"Bearer {session.api_key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        message: dict[str, Any] = json.load(answer)["choices"][0]["message"]
    return message


def words(session: Session) -> None:
    """Do exactly what the trainer's own loop does with the prompt ``bare``: text in, text out."""
    messages = [{"role": "user", "content": session.observation}]
    while not session.over:
        message = ask(session, messages=messages)
        messages += [message, {"role": "user", "content": session.act(message["content"])}]


def tools(session: Session) -> None:
    """Call tools, as a loop around the client of OpenAI does."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": session.observation}]
    while not session.over:
        message = ask(session, messages=messages, tools=session.openai_tools)
        messages.append(message)
        for call in message.get("tool_calls") or []:
            answer = session.call(call["function"]["name"], call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": answer})
        if "tool_calls" not in message:
            messages.append({"role": "user", "content": "call a tool"})
