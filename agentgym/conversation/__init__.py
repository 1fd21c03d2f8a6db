"""The messages that a model reads, built in one place.

`layout` defines prompts as data: the default and those of papers. `prompt` applies a layout to an
environment. `conversation` builds the messages of one agent, and `episode_conversation` the
messages of all agents of an episode. The chat policy, training, local models, the export of
conversations and the code of model cards all use this package, so that a model is evaluated with
the prompts it was trained on.
"""

from __future__ import annotations

from agentgym.conversation.conversation import Conversation
from agentgym.conversation.episode_conversation import EpisodeConversation
from agentgym.conversation.layout import (
    BARE,
    DEFAULT,
    AdmissibleStyle,
    Layout,
    ObservationStyle,
    OpeningMessage,
    Shot,
    ShotTurn,
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
    "ObservationStyle",
    "OpeningMessage",
    "Prompt",
    "SeenTurn",
    "Shot",
    "ShotTurn",
    "invalid_reason",
    "tool_instructions",
]
