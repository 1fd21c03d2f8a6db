"""A language model behind any OpenAI-compatible endpoint (OpenAI, vLLM, llama.cpp, Ollama, ...)."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentgym.errors import ConfigurationError, EnvFailure, require
from agentgym.policies.base import ModelOutput


@dataclass(frozen=True)
class ChatConfig:
    """Settings of a `ChatPolicy`."""

    model: str
    """The model's name at the endpoint."""
    base_url: str | None = None
    """URL of the endpoint up to ``/v1``; None is OpenAI's own or ``OPENAI_BASE_URL``."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the key. Keys are never taken from arguments or files."""
    instructions: str = ""
    """Text put before the action prompt in the system message."""
    window: int = 16
    """Turns of history sent; the first observation, which holds the task, is always sent."""
    tools: bool = False
    """Offer the actions as function-calling tools; the environment's grammar must be tool_call."""
    max_tokens: int = 512
    """Longest answer, in tokens."""
    temperature: float | None = None
    """Sampling temperature; None leaves the endpoint's default."""
    top_p: float | None = None
    """Share of the probability that is sampled from, in (0, 1]; None: the endpoint's default."""
    seed: int | None = None
    """Sampling seed, for endpoints that have one."""
    timeout: float = 120.0
    """Seconds per request."""
    retries: int = 4
    """Retries, with exponential back-off, of failed connections, 408, 409, 429 and 5xx."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request's body."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: A field is out of its domain.
        """
        if not self.model:
            raise ConfigurationError(
                "expected the name of a model at the endpoint, got an empty one: set model, "
                "for example --model Qwen/Qwen3-4B"
            )
        for name, low in (("window", 1), ("max_tokens", 1), ("retries", 0), ("temperature", 0.0)):
            value = getattr(self, name)
            if value is not None and not low <= value < math.inf:
                raise ConfigurationError(f"expected {name} to be at least {low}, got {value}")
        if self.top_p is not None and not 0.0 < self.top_p <= 1.0:
            raise ConfigurationError(
                f"expected top_p to be greater than 0 and at most 1, got {self.top_p}"
            )


class ChatPolicy:
    """Play with a chat model: observations are user messages, actions are its answers.

    Args:
        config: Model, endpoint and limits.
        action_prompt: How to write actions, from ``env.unwrapped.action_prompt()``.

    Raises:
        DependencyNotInstalled: The package ``openai`` is missing.
        ConfigurationError: The key is needed and not in the environment, or the URL is none.
    """

    def __init__(self, config: ChatConfig, action_prompt: str) -> None:
        openai = require("openai", "chat")
        key = os.environ.get(config.api_key_env, "")
        if not key and config.base_url is None:
            raise ConfigurationError(
                f"expected an API key in the environment variable {config.api_key_env}, got none: "
                f"export {config.api_key_env}=..., or set base_url for an endpoint without keys"
            )
        self.config = config
        self.last_output = ModelOutput("")
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self._system = "\n\n".join(filter(None, [config.instructions, action_prompt]))
        self._history: list[tuple[str, str]] = []
        self._tools: list[dict[str, Any]] = []
        try:
            self._client = openai.OpenAI(
                api_key=key or "none",
                base_url=config.base_url,
                timeout=config.timeout,
                max_retries=config.retries,
            )
        except Exception as error:  # of httpx, which no line here should have to know
            raise ConfigurationError(
                f"expected base_url to be the URL of an endpoint up to /v1, got "
                f"{config.base_url!r}: {type(error).__name__}: {error}"
            ) from error

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        """Forget the previous episode, and take the tools of the new one."""
        self._history.clear()
        self._tools = list(info.get("tools", []))

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Ask the model for its whole text; the environment strips thinking and parses.

        Raises:
            EnvFailure: The endpoint refuses, or still fails after the retries.
        """
        request: dict[str, Any] = {
            "model": self.config.model,
            "messages": self.messages(observation),
            "max_tokens": self.config.max_tokens,
            "extra_body": dict(self.config.extra) or None,
        }
        for name in ("temperature", "top_p", "seed"):
            if getattr(self.config, name) is not None:
                request[name] = getattr(self.config, name)
        if self.config.tools and self._tools:
            request["tools"] = self._tools
        try:
            response = self._client.chat.completions.create(**request)
        except Exception as error:  # broken answers raise errors of httpx and json, too
            raise EnvFailure(
                f"expected an answer from the model {self.config.model!r} at "
                f"{self._client.base_url}, got {type(error).__name__}: {error}; check that the "
                "endpoint runs, that it serves this model, and the key"
            ) from error
        text = self._read(response)
        self._history.append((observation, text))
        return text

    def messages(self, observation: str) -> list[dict[str, str]]:
        """Return system prompt, first observation, the window of recent turns, and this one."""
        messages = [{"role": "system", "content": self._system}]
        recent = self._history[-self.config.window :]
        cut = len(self._history) - len(recent)
        for index, (seen, said) in enumerate(recent):
            if index == 0 and cut:
                seen = f"{self._history[0][0]}\n[... {cut} earlier turns ...]\n{seen}"
            messages.append({"role": "user", "content": seen})
            messages.append({"role": "assistant", "content": said})
        messages.append({"role": "user", "content": observation})
        return [
            {**message, "content": message["content"].encode("utf-8", "replace").decode()}
            for message in messages
        ]

    def _read(self, response: Any) -> str:
        """Take the text out of a response and count its tokens."""
        if not getattr(response, "choices", None):
            raise EnvFailure(
                f"expected a chat completion with choices from {self._client.base_url}, got "
                f"{response!r:.200}; check that base_url ends in /v1"
            )
        message = response.choices[0].message
        text = message.content or ""
        for call in (message.tool_calls or [])[:1]:
            payload = {"name": call.function.name, "arguments": call.function.arguments}
            text += f"<tool_call>{json.dumps(payload)}</tool_call>"
        usage = response.usage
        self.last_output = ModelOutput(
            text,
            usage.prompt_tokens if usage else 0,
            usage.completion_tokens if usage else 0,
        )
        self.prompt_tokens += self.last_output.prompt_tokens
        self.completion_tokens += self.last_output.completion_tokens
        return text
