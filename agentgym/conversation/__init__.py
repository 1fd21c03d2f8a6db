"""What a model reads: every message that it is given passes through here.

`layout` has the prompts as data, the house's own and those of papers; `prompt` a layout at an
environment; `conversation` the messages of one agent, `episode_conversation` those of all agents of
an episode. The chat policy, training, local models, the
export of conversations and the code of model cards take theirs from here, so that a model is
evaluated as it was trained.
"""

from __future__ import annotations

from agentgym.conversation.conversation import Conversation
from agentgym.conversation.episode_conversation import EpisodeConversation
from agentgym.conversation.layout import (
    BARE,
    DEFAULT,
    AdmissibleStyle,
    Layout,
    Message,
    ObservationStyle,
    tool_instructions,
)
from agentgym.conversation.prompt import Prompt, SeenTurn, invalid_reason

__all__ = [
    "BARE",
    "DEFAULT",
    "AdmissibleStyle",
    "Conversation",
    "EpisodeConversation",
    "Layout",
    "Message",
    "ObservationStyle",
    "Prompt",
    "SeenTurn",
    "invalid_reason",
    "tool_instructions",
]
