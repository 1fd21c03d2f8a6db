"""Settings of a `ChatPolicy`."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.endpoints.config import EndpointConfig
from agentgym.errors import ConfigurationError


@dataclass(frozen=True)
class ChatConfig(EndpointConfig):
    """Settings of a `ChatPolicy`: its endpoint, and the messages that its model receives."""

    instructions: str = ""
    """Text that begins the system message."""
    window: int | None = None
    """Turns of history sent; the first observation, which contains the task, is always sent. None:
    the window of the prompt, or all turns if it has none."""
    tools: bool = False
    """Offer the actions as function-calling tools; the environment's grammar must be tool_call."""
    invalid_reasons: bool = False
    """Add the reason of an invalid action to the next message, marked, if the observation lacks it.
    Training does not add it."""
    send_reasoning: bool = False
    """Return separately received thinking with the response, as some models need between tool
    calls; never with a prompt of one message per step."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: A field is out of its domain.
        """
        super().__post_init__()
        if self.window is not None and self.window < 1:
            raise ConfigurationError(f"expected window to be at least 1, got {self.window}")
