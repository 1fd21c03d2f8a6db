"""The chat model that the settings of an evaluation name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentgym.making import parse_pairs

if TYPE_CHECKING:
    from agentgym.evaluation.suites.settings import EvaluationSettings
    from agentgym.policies.chat import ChatPolicy


def chat_policy(settings: EvaluationSettings, action_prompt: str, grammar: str) -> ChatPolicy:
    """Make the policy from the flags of a settings.

    Args:
        settings: The settings.
        action_prompt: How to write actions, from ``env.unwrapped.action_prompt()``.
        grammar: Grammar of the environment; with ``tool_call`` the actions are offered as tools.

    Raises:
        ConfigurationError: A setting is out of its domain, or the key is missing.
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
