"""What a `ChatPolicy` may be told."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.endpoints.config import EndpointConfig
from agentgym.errors import ConfigurationError


@dataclass(frozen=True)
class ChatConfig(EndpointConfig):
    """Settings of a `ChatPolicy`: an endpoint, and what its model is told of an episode."""

    instructions: str = ""
    """Text that begins the system message."""
    window: int | None = None
    """Turns of history sent; the first observation, which holds the task, is always sent. None: as
    the prompt says, and all where it does not."""
    tools: bool = False
    """Offer the actions as function-calling tools; the environment's grammar must be tool_call."""
    invalid_reasons: bool = False
    """Tell the model why its last action was invalid, marked, where the observation does not say
    so: what training does not tell it."""
    send_reasoning: bool = False
    """Send thinking that came apart from an answer back with it, as some models need between tool
    calls; never in a prompt of one message a step."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: A field is out of its domain.
        """
        super().__post_init__()
        if self.window is not None and self.window < 1:
            raise ConfigurationError(f"expected window to be at least 1, got {self.window}")
