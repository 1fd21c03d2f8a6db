"""Spans of OpenTelemetry for episodes, after its conventions for generative AI.

Within `tracing`, each recorded episode of an evaluation or a training is a span ``invoke_agent``,
with a span ``chat`` for what the model wrote in a turn and ``execute_tool`` for the answer to it.
Score, success and reward are events ``gen_ai.evaluation.result``. A span ``chat`` includes the time
that a turn waits for others of its batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from agentgym.core.outcome import StopReason, well_formed
from agentgym.episodes.records import Episode, RecordedState, Turn
from agentgym.errors import require

__all__ = ["is_tracing", "trace", "tracing"]

TOOL = "act"
"""Name of the tool that an environment is."""
_tracers: list[Any] = []
"""The active tracers, innermost last."""


@contextmanager
def tracing() -> Iterator[None]:
    """Send the spans of episodes that end within the block over OTLP.

    The variables of OpenTelemetry say where to, such as ``OTEL_EXPORTER_OTLP_ENDPOINT``; without
    them it is ``http://localhost:4318``. Spans that cannot be sent are dropped with a warning.

    Raises:
        DependencyNotInstalled: OpenTelemetry is missing.
    """
    sdk, resources = _import("sdk.trace"), _import("sdk.resources")
    exporter = _import("exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter()
    provider = sdk.TracerProvider(resource=resources.Resource.create({"service.name": "agentgym"}))
    provider.add_span_processor(_import("sdk.trace.export").BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("agentgym")
    _tracers.append(tracer)
    try:
        yield
    finally:
        _tracers.remove(tracer)
        provider.shutdown()


def is_tracing() -> bool:
    """Return whether spans are sent."""
    return bool(_tracers)


def trace(episode: Episode, times: Sequence[int]) -> None:
    """Send the spans of an episode, if `tracing` is active.

    Args:
        episode: The episode.
        times: Times in nanoseconds since 1970: when it began, when its environment was ready, and
            for each turn when the action was sent and when it was answered. An action without an
            answer may be the last.
    """
    if not _tracers:
        return
    api, tracer = _import("trace"), _tracers[-1]
    models = episode.extra.get("models") or [episode.policy]
    model, end = models[0] or "unknown", times[-1]
    root = tracer.start_span(
        f"invoke_agent {episode.policy}",
        start_time=times[0],
        attributes=_filled(_episode_attributes(episode)),
    )
    context = api.set_span_in_context(root)

    def child(name: str, kind: Any, begin: int, until: int, attributes: Mapping[str, Any]) -> None:
        span = tracer.start_span(name, context, kind, _filled(attributes), start_time=begin)
        span.end(until)

    states = [episode.start, *(turn.after for turn in episode.turns)]
    spans = zip(states, episode.turns, times[1::2], times[2::2], times[3::2], strict=False)
    for number, (state, turn, ready, acted, answered) in enumerate(spans, 1):
        if turn.raw_text is not None or turn.completion_tokens is not None:
            chat = _chat_attributes(state, turn, model)
            child(f"chat {model}", api.SpanKind.CLIENT, ready, acted, chat)
        tool = _tool_attributes(turn, number)
        child(f"execute_tool {TOOL}", api.SpanKind.INTERNAL, acted, answered, tool)
    for name in ("score", "success", "reward"):
        score = float(getattr(episode, name))
        result = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.value": score}
        root.add_event("gen_ai.evaluation.result", result, end)
    if episode.stop_reason == StopReason.ERROR.value:
        root.set_status(api.Status(api.StatusCode.ERROR, str(episode.details.get("error", ""))))
    root.end(end)


def _import(name: str) -> Any:
    return require(f"opentelemetry.{name}", "otel")


def _episode_attributes(episode: Episode) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "agentgym",
        "gen_ai.agent.name": episode.policy,
        "gen_ai.input.messages": _message("user", episode.start.observation),
        "agentgym.env_id": episode.env_id,
        "agentgym.task_id": episode.task_id,
        "agentgym.split": episode.split,
        "agentgym.seed": episode.seed,
        "agentgym.training_step": episode.options.get("training_step"),
        "agentgym.stop_reason": episode.stop_reason,
    }


def _chat_attributes(state: RecordedState, turn: Turn, model: str) -> dict[str, Any]:
    reason = turn.finish_reason or "stop"
    text = turn.action if turn.raw_text is None else turn.raw_text
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "agentgym",
        "gen_ai.request.model": model,
        "gen_ai.input.messages": _message("user", state.observation),
        "gen_ai.output.messages": _message("assistant", text, finish_reason=reason),
        "gen_ai.response.finish_reasons": [reason],
        "gen_ai.usage.input_tokens": turn.prompt_tokens,
        "gen_ai.usage.output_tokens": turn.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": turn.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": turn.reasoning_tokens,
    }


def _tool_attributes(turn: Turn, number: int) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": TOOL,
        "gen_ai.tool.call.id": f"call-{number}",
        "gen_ai.tool.call.arguments": json.dumps({"action": well_formed(turn.executed)}),
        "gen_ai.tool.call.result": well_formed(turn.after.observation),
        "agentgym.action_valid": turn.action_valid,
        "agentgym.reward": turn.reward,
        "agentgym.score": turn.after.score,
    }


def _message(role: str, text: str, **fields: str) -> str:
    parts = [{"type": "text", "content": well_formed(text)}]
    return json.dumps([{"role": role, "parts": parts, **fields}])


def _filled(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that have a value."""
    return {name: value for name, value in attributes.items() if value is not None}
