"""The policy that queries a chat model."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

from agentgym.conversation import DEFAULT, EpisodeConversation, Prompt, SeenTurn
from agentgym.endpoints.endpoint import Endpoint, sendable
from agentgym.endpoints.waiting import Waits
from agentgym.policies.base import ModelOutput
from agentgym.policies.chat.answers import model_output, read_answer
from agentgym.policies.chat.config import ChatConfig
from agentgym.support.random_stream import Stream
from agentgym.support.redaction import hide_secrets

SEEDS = 1 << 31
"""Exclusive upper bound of seeds sent to endpoints: some store them as signed 32-bit integers."""
SAMPLING = ("temperature", "top_p", "seed")


class ChatPolicy:
    """Play with a chat model: observations are user messages, actions are its responses.

    With `ChatConfig.tools`, actions are tool calls and observations their results; only the first
    call of a response counts. The environment receives text in both cases.

    Args:
        config: Model, endpoint and limits.
        action_prompt: How to write actions, from ``env.unwrapped.action_prompt()``; not sent with
            tools, whose schemas contain it.
        prompt: Layout of the messages, with the action prompt; replaces ``action_prompt``.
            Default: `agentgym.conversation.DEFAULT`, which training uses, too.

    Raises:
        DependencyNotInstalled: The package ``openai`` is missing.
        ConfigurationError: A required API key is not set, the URL is invalid, or tools are combined
            with a custom prompt.
    """

    def __init__(
        self, config: ChatConfig, action_prompt: str, prompt: Prompt | None = None
    ) -> None:
        self.config = config
        self.prompt = _laid_out(config, prompt or Prompt(DEFAULT, action_prompt))
        self._endpoint = Endpoint(config)
        self._begin()

    def _begin(self) -> None:
        """Set the state before the first episode."""
        self.last_output: ModelOutput | None = None
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self._tools: list[dict[str, Any]] = []
        self._conversation = self._begun({})
        self._episode_seed: int | None = None
        # Not shared between copies: interrupting one episode must not interrupt the others.
        self._waits = Waits()

    def _begun(self, info: Mapping[str, Any]) -> EpisodeConversation:
        """Return the conversation of a new episode."""
        prompt = self.prompt.for_tools(info.get("horizon")) if self._native else self.prompt
        return EpisodeConversation(prompt, str(info.get("goal", "")))

    @property
    def _native(self) -> bool:
        """Whether actions are tool calls instead of text."""
        return self.config.tools and bool(self._tools)

    def with_prompt(self, prompt: Prompt, sampling: Mapping[str, Any]) -> ChatPolicy:
        """Return a copy of the policy that uses a prompt.

        Args:
            prompt: Lays out the messages.
            sampling: Defaults of `ChatConfig` fields, such as ``temperature``, for those that this
                policy does not set.
        """
        usual = {entry.name: entry.default for entry in fields(ChatConfig)}
        overrides = {k: v for k, v in sampling.items() if getattr(self.config, k) == usual[k]}
        policy = copy.copy(self)
        policy.config = replace(self.config, **overrides)
        policy.prompt = _laid_out(policy.config, prompt)
        policy._begin()
        return policy

    def copy(self) -> ChatPolicy:
        """Return a copy for a concurrent episode.

        The copy has its own history and counts. It shares the connection, the rate limit and the
        detected limitations of the endpoint.
        """
        policy = copy.copy(self)
        policy._begin()
        return policy

    def interrupt(self) -> None:
        """Interrupt the current wait for the endpoint, from any thread; copies continue."""
        self._waits.interrupt()

    def seed(self, seed: int) -> None:
        """Set the seed of the next episode, from which the seeds of its requests are derived.

        Without `ChatConfig.seed` none is sent.
        """
        self._episode_seed = seed

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        """Clear the previous episode and set the tools of the new one."""
        self.last_output = None
        self._tools = list(info.get("tools", []))
        self._conversation = self._begun(info)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the model's text, or its first call alone, which the environment parses.

        The text still holds its thinking: the environment strips it.

        Raises:
            PolicyStopped: The context is full, a content filter stopped the model, or the response
                is unreadable.
            PolicyFailure: The endpoint rejects the request, or still fails after the retries.
        """
        self.last_output = None
        turn = len(self._conversation)
        # Seeded by the turn, so that retry delays do not depend on the order of threads.
        jitter = Stream("chat-retries", self.config.seed or 0, self._episode_seed or 0, turn)
        completion = self._endpoint.complete(self._request(observation, info), jitter, self._waits)
        answer = read_answer(completion, turn)
        message = answer.message(self._native, self.config.send_reasoning)
        calls = message.get("tool_calls", ())
        results = [{"tool_call_id": call["id"]} for call in calls]
        self._conversation.add(SeenTurn.of(observation, info), answer.text, message, results)
        self.last_output = output = model_output(completion, answer)
        self.prompt_tokens += output.prompt_tokens
        self.completion_tokens += output.completion_tokens
        return answer.action(self._native)

    def messages(
        self, observation: str, info: Mapping[str, Any] = MappingProxyType({})
    ) -> list[dict[str, Any]]:
        """Return the messages of the request for an observation; see `Conversation.messages`.

        Args:
            observation: The last observation.
            info: The info dict that came with it, which holds the reason of an invalid action and
                the admissible actions.
        """
        turn = SeenTurn.of(observation, info)
        messages: list[dict[str, Any]] = sendable(self._conversation.messages(turn))
        return messages

    def facts(self) -> dict[str, Any]:
        """Return JSON-safe facts that identify the policy in a report, without secrets."""
        config, redactor = self.config, self._endpoint.redactor
        return {
            "kind": "chat",
            "model": config.model,
            "endpoint": self._endpoint.url,
            "sampling": {name: getattr(config, name) for name in SAMPLING},
            "prompt": self.prompt.identity,
            "window": self.prompt.layout.window,
            "invalid_reasons": self.prompt.layout.reasons,
            "tools": config.tools,
            "stream": config.stream,
            "max_tokens": config.max_tokens,
            "instructions": sendable(redactor.hide(config.instructions)),
            "send_reasoning": config.send_reasoning,
            "extra": sendable(redactor.clean(hide_secrets(config.extra))),
        }

    def _request(self, observation: str, info: Mapping[str, Any]) -> dict[str, Any]:
        config = self.config
        request: dict[str, Any] = {
            "model": config.model,
            "messages": self.messages(observation, info),
            "max_tokens": config.max_tokens,
            "extra_body": sendable(dict(config.extra)),
        }
        sampling = {**{name: getattr(config, name) for name in SAMPLING}, "seed": self._seed()}
        request.update({name: value for name, value in sampling.items() if value is not None})
        if self._native:
            request["tools"] = sendable(self._tools)
        if config.stream:
            request.update(stream=True, stream_options={"include_usage": True})
        return request

    def _seed(self) -> int | None:
        """Return the seed of this request; it differs from turn to turn."""
        seed, episode = self.config.seed, self._episode_seed
        if seed is None or episode is None:
            return seed
        return Stream("chat", seed, episode, len(self._conversation)).below(SEEDS)


def _laid_out(config: ChatConfig, prompt: Prompt) -> Prompt:
    """Return a prompt with the window, reasons and instructions of the configuration.

    Raises:
        ConfigurationError: Tools are enabled, but the prompt explains how to write actions as text.
    """
    layout = prompt.layout.windowed(config.window)
    if config.invalid_reasons:
        layout = replace(layout, reasons=True)
    chat_prompt = replace(prompt, layout=layout, instructions=config.instructions)
    if config.tools:
        # Only for its check, so that an unsuitable prompt fails before an episode begins.
        chat_prompt.for_tools()
    return chat_prompt
