"""Answer the calls of an episode with the policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agentgym.agents import Session
from agentgym.policies.base import ModelOutput
from trainers.methods.gateway.call_log import CallLog, LoggedCall
from trainers.methods.gateway.chat_answer import GatewayAnswer, read_answer
from trainers.methods.gateway.chat_request import ChatRequest
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import Completion

__all__ = ["PolicyAnswers"]


@dataclass(frozen=True)
class PolicyAnswers:
    """Answers calls, and takes them down."""

    log: CallLog
    """The calls of the episode."""
    session: Session
    """The session of its agent."""
    chat: TurnTokenizer
    """Turn tokenizer of the policy."""
    complete: Callable[[LoggedCall], tuple[Completion, int]]
    """Returns the sample for a call, and the version of the weights that drew it."""

    def __call__(self, request: ChatRequest) -> tuple[GatewayAnswer, ModelOutput]:
        """Answer a call.

        Raises:
            NoRoom: The token budgets have no room for an answer.
            Refused: The request cannot be answered.
        """
        session, chat = self.session, self.chat
        call = self.log.ask(request, len(session.moments))
        out, version = self.complete(call)
        text = chat.action_text(out.ids)
        message, finish = read_answer(text, out.stopped, request, session.language)
        self.log.answer(call, out, version, message, len(session.moments))
        prompt_tokens, completion_tokens = len(call.prompt), len(out.ids)
        raw_text = chat.raw_text(out.ids[:-1] if out.stopped else out.ids)
        answer = GatewayAnswer(message, finish, prompt_tokens, completion_tokens)
        return answer, ModelOutput(raw_text, prompt_tokens, completion_tokens, finish_reason=finish)
