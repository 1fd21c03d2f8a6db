"""The default grammar of a pretrained model's actions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from agentgym.errors import AgentGymError
from agentgym.registration import making
from trainers.config.model_files.chat_templates import read_tokenizer
from trainers.config.model_files.source import model_source
from trainers.rollouts.template import ChatTemplate

__all__ = ["ChosenGrammar", "grammar_of_model"]

logger = logging.getLogger(__name__)


class ChosenGrammar(NamedTuple):
    """A grammar, and the reason for it."""

    name: str
    """One of ``agentgym.actions.GRAMMARS``; empty: the environment's default."""
    reason: str
    """The reason, as the end of a sentence."""


@cache
def grammar_of_model(
    model: str,
    template_args: Sequence[str] = (),
    chat_template: str | None = None,
    end_of_turn: str | None = None,
) -> ChosenGrammar:
    """Choose ``tool_call`` if the chat template writes tool calls in the form that it reads.

    Args:
        model: As for ``--model``, a pretrained one.
        template_args: As for ``--template-args``.
        chat_template: As for ``--chat-template``.
        end_of_turn: As for ``--end-of-turn``.
    """
    arguments = making.parse_pairs(template_args, "--template-args")
    try:
        tokenizer = read_tokenizer(model_source(model), chat_template, end_of_turn)
        calls = ChatTemplate(tokenizer, kwargs=arguments).writes_calls()
    except AgentGymError:  # reported where the template or model is used
        calls = False
    except Exception:  # the loader reports models that cannot be read
        logger.debug("no tokenizer of %s to ask", model, exc_info=True)
        calls = False
    if calls:
        return ChosenGrammar("tool_call", "the form of tool calls in the model's chat template")
    return ChosenGrammar("", "the model's chat template writes no tool calls that could be read")
