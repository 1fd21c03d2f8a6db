"""Make the chat model that the settings of an evaluation describe."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from agentgym.endpoints.endpoint import NO_KEY
from agentgym.errors import ConfigurationError
from agentgym.evaluation.policy_maker import PolicyMaker
from agentgym.registration.making import parse_pairs
from agentgym.support.redaction import public_url

OPENAI = "https://api.openai.com/v1"
"""Default endpoint of a model."""

if TYPE_CHECKING:
    from agentgym.agents import Session
    from agentgym.evaluation.suites.settings import EvaluationSettings
    from agentgym.policies.chat import ChatPolicy


def chat_policy(settings: EvaluationSettings, action_prompt: str, grammar: str) -> ChatPolicy:
    """Make the chat policy from settings.

    Args:
        settings: The settings.
        action_prompt: How to write actions, from ``env.unwrapped.action_prompt()``.
        grammar: Grammar of the environment; with ``tool_call`` the actions are offered as tools.

    Raises:
        ConfigurationError: A setting is invalid, or the API key is missing.
        DependencyNotInstalled: The package ``openai`` is missing.
    """
    from agentgym.policies.chat import ChatConfig, ChatPolicy

    config = ChatConfig(
        settings.model,
        settings.base_url,
        api_key_env=settings.api_key_env,
        instructions=settings.instructions,
        window=settings.window,
        tools=grammar == "tool_call",
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
        top_p=settings.top_p,
        seed=settings.sampling_seed,
        timeout=settings.timeout,
        retries=settings.retries,
        extra=parse_pairs(settings.extra, "`extra`"),
        stream=settings.stream,
        max_tokens_parameter=settings.max_tokens_parameter,
        invalid_reasons=settings.invalid_reasons,
        send_reasoning=settings.send_reasoning,
        requests_per_minute=settings.requests_per_minute,
    )
    return ChatPolicy(config, action_prompt)


def at_endpoint(maker: PolicyMaker, model: str, base_url: str | None, key: str) -> PolicyMaker:
    """Set the model and endpoint of a user's agent.

    Args:
        maker: The agent.
        model: Name of the model.
        base_url: The endpoint up to ``/v1``; None: ``OPENAI_BASE_URL``, or OpenAI itself.
        key: Name of the environment variable with the API key.

    Raises:
        ConfigurationError: The policy is not an agent, or no model is named.
    """
    agent = maker.agent
    if agent is None:
        raise ConfigurationError(
            f"expected --agent to be an agent, a function of one session, got {maker.name}, which "
            "is a policy: give it to --policy"
        )
    if not model:
        raise ConfigurationError("expected --model, the name of the agent's model, got none")
    url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
    placeholder = "" if url == OPENAI else NO_KEY
    user_agent = agent

    def run_agent(session: Session) -> object:
        session.base_url, session.api_key = url, os.environ.get(key) or placeholder
        session.model = model
        return user_agent(session)

    facts = {**maker.facts, "model": model, "endpoint": public_url(url)}
    return replace(maker, agent=run_agent, facts=facts)
