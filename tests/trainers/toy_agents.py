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


def responses(session: Session) -> None:
    """Call tools by the responses API, as a loop around the client of OpenAI does."""
    import openai

    client = openai.OpenAI(base_url=session.base_url, api_key=session.api_key, max_retries=0)
    tools = [{"type": "function", **tool["function"]} for tool in session.openai_tools]
    items: list[Any] = [{"role": "user", "content": session.observation}]
    while not session.over:
        response = client.responses.create(model=session.model, input=items, tools=tools)  # type: ignore[arg-type]
        items += response.output
        for call in response.output:
            if call.type == "function_call":
                answer = session.call(call.name, call.arguments)
                tool_output = {"type": "function_call_output", "call_id": call.call_id}
                items.append({**tool_output, "output": answer})
        if response.output_text:
            items.append({"role": "user", "content": "call a tool"})


def roles(session: Session) -> None:
    """Plan and work: two roles, each with a conversation of its own, asked in turn."""
    planner = [{"role": "system", "content": "next"}, {"role": "user", "content": session.goal}]
    worker = [{"role": "user", "content": session.observation}]
    while not session.over:
        planner.append(ask(session, messages=planner))
        worker.append(ask(session, messages=worker))
        observation = session.act(worker[-1]["content"])
        planner.append({"role": "user", "content": observation})
        worker.append({"role": "user", "content": observation})


def window(session: Session) -> None:
    """Read the first observation and the last, and nothing between them."""
    first = [{"role": "user", "content": session.observation}]
    messages = list(first)
    while not session.over:
        message = ask(session, messages=messages)
        observation = session.act(message["content"])
        messages = [*first, message, {"role": "user", "content": observation}]


async def later(session: Session) -> None:
    """Ask without holding the loop, as async frameworks do."""
    import asyncio

    await asyncio.to_thread(words, session)
