"""Privileged information: the plan of the environment's expert, which a teacher reads first.

It is a separate message in the policy's template, before the prompt of each row. The tokens of the
completion are unchanged, so that each log-probability belongs to the token that the student
sampled. A teacher that is the policy itself then knows more than the student: on-policy
self-distillation (arXiv 2601.18734, arXiv 2602.04942).
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from agentgym.errors import ConfigurationError
from agentgym.support.caching import BoundedCache
from agentgym.support.text_lines import split_lines
from trainers.methods.expert_plans import ExpertPlans
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.trajectory import Trajectory

__all__ = ["PLAN", "PLAN_TOKENS", "PlanReader"]

logger = logging.getLogger(__name__)

PLAN = "These actions solve the task that follows:\n{}"
"""The text of the message."""
PLAN_TOKENS = 512
"""Most tokens of its text; of a longer plan the last actions are left out."""
MARK = "\u2042plan\u2042"
"""Text that no template contains."""
CACHED = 4096
"""Number of messages whose tokens are cached."""


class PlanReader:
    """Put the expert's plan before the prompts of rows.

    Args:
        chat: Turn tokenizer of the policy.
        plan: Returns the actions by which the expert solves the task of an episode, one a line;
            empty where it has none.
        context: Most tokens that the teacher reads.
    """

    def __init__(
        self, chat: TurnTokenizer, plan: Callable[[Trajectory], str], context: int
    ) -> None:
        self._chat, self._plan, self._context = chat, plan, context
        self._role = _role_of_plans(chat)
        self._messages: BoundedCache[str, list[int]] = BoundedCache(CACHED)

    def __call__(
        self, batch: Mapping[str, Tensor], episodes: Sequence[Trajectory]
    ) -> dict[str, Tensor]:
        """Return the batch as a teacher reads it: the same completions behind longer prompts.

        Args:
            batch: Rows under TRL's names.
            episodes: The episode of each row; rows beyond them stay as they are.
        """
        ids, mask = batch["prompt_ids"], batch["prompt_mask"]
        sizes = (mask.sum(1) + batch["completion_mask"].sum(1)).tolist()
        prompts = [row[row_mask.bool()].tolist() for row, row_mask in zip(ids, mask, strict=True)]
        for number, episode in enumerate(episodes):
            room = self._context - sizes[number]
            prompts[number] = self._joined(self.message(self._plan(episode), room), prompts[number])
        width = max(map(len, prompts))
        longer = ids.new_full((len(prompts), width), self._chat.pad_id)
        longer_mask = mask.new_zeros((len(prompts), width))
        for number, prompt in enumerate(prompts):
            longer[number, width - len(prompt) :] = torch.tensor(prompt, device=ids.device)
            longer_mask[number, width - len(prompt) :] = 1
        return {**batch, "prompt_ids": longer, "prompt_mask": longer_mask}

    def close(self) -> None:
        """Close the environments of the plans."""
        if isinstance(self._plan, ExpertPlans):
            self._plan.close()

    def message(self, plan: str, room: int) -> list[int]:
        """Return the tokens of the message with a plan, with as many of its actions as have room.

        Args:
            plan: Actions, one a line.
            room: Most tokens; none fit: no message.
        """
        ids = self._messages.get(plan)
        if ids is None:
            ids = self._messages.put(plan, self._encoded(plan, sys.maxsize))
        return ids if len(ids) <= room else self._encoded(plan, room)

    def _encoded(self, plan: str, room: int) -> list[int]:
        """Encode a message, without the actions at its end that have no room."""
        actions = split_lines(plan)
        while actions:
            text = PLAN.format("\n".join(actions))
            ids = self._chat.encode(self._rendered(text))
            if len(ids) <= room and len(self._chat.encode(text)) <= PLAN_TOKENS:
                return ids
            actions.pop()
        return []

    def _rendered(self, text: str) -> str:
        """Render a message by itself, without the generation prompt."""
        messages = self._chat.clean([{"role": self._role, "content": text}])
        return self._chat.template.text(messages, prompt=False)

    def _joined(self, message: list[int], prompt: list[int]) -> list[int]:
        """Put a message before a prompt; the token that begins a text stands there once."""
        begin = self._chat.tokenizer.bos_token_id
        repeats_start = message and prompt and message[0] == prompt[0] == begin
        return (
            [*message, *prompt[1:]] if repeats_start and begin is not None else [*message, *prompt]
        )


def _role_of_plans(chat: TurnTokenizer) -> str:
    """Return the role of the plan's message: system, or user if the template requires one.

    Raises:
        ConfigurationError: The template renders no single message.
    """
    for role in ("system", "user"):
        try:
            text = chat.template.text([{"role": role, "content": MARK}], prompt=False)
        except Exception:  # whatever a template raises
            logger.debug("the chat template refuses a %s message alone", role, exc_info=True)
            continue
        if MARK in text:
            return role
    raise ConfigurationError(
        "expected a chat template that renders a message by itself, which holds the plan for "
        "--distill.privileged plan, got one that does not: choose --distill.privileged none"
    )
