"""The chat model that ``agentgym eval --policy chat`` asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentgym.making import parse_pairs

if TYPE_CHECKING:
    from agentgym.cli.arguments import Eval
    from agentgym.policies.chat import ChatPolicy


def chat_policy(command: Eval, action_prompt: str, grammar: str) -> ChatPolicy:
    """Make the policy from the flags of a command.

    Args:
        command: The flags.
        action_prompt: How to write actions, from ``env.unwrapped.action_prompt()``.
        grammar: Grammar of the environment; with ``tool_call`` the actions are offered as tools.

    Raises:
        ConfigurationError: A flag is out of its domain, or the key is missing.
        DependencyNotInstalled: The package ``openai`` is missing.
    """
    from agentgym.policies.chat import ChatConfig, ChatPolicy

    config = ChatConfig(
        command.model,
        command.base_url,
        api_key_env=command.api_key_env,
        instructions=command.instructions,
        window=command.window,
        tools=grammar == "tool_call",
        max_tokens=command.max_tokens,
        temperature=command.temperature,
        top_p=command.top_p,
        seed=command.sampling_seed,
        timeout=command.timeout,
        retries=command.retries,
        extra=parse_pairs(command.extra, "--extra"),
        stream=command.stream,
        max_tokens_parameter=command.max_tokens_parameter,
        invalid_reasons=command.invalid_reasons,
        send_reasoning=command.send_reasoning,
        requests_per_minute=command.requests_per_minute,
    )
    return ChatPolicy(config, action_prompt)
