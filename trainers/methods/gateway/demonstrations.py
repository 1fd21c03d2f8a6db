"""Demonstrations of agents: their calls, answered by an expert, in the words of the agent itself.

Whoever is imitated answers every call with what it would do next, whichever role of the agent asks.
So the policy is warm-started on the very conversations that it will read in training.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium

from agentgym.agents import Session
from agentgym.conversation import SeenTurn
from agentgym.core.outcome import StopReason
from agentgym.errors import EnvFailure
from agentgym.policies.base import ModelOutput, Policy, public_info
from agentgym.policies.base import begin as begin_policy
from trainers.methods.gateway.agent_runner import AgentRules, run_agent
from trainers.methods.gateway.agents import Agent
from trainers.methods.gateway.call_log import CallLog
from trainers.methods.gateway.chat_answer import GatewayAnswer, read_answer
from trainers.methods.gateway.chat_request import ChatMessage, ChatRequest
from trainers.methods.gateway.episode import AgentEpisode
from trainers.methods.gateway.server import GatewayServer
from trainers.methods.gateway.turns import owners, shared
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import Completion
from trainers.rollouts.expert_demonstrations import Demonstration, ShownTurn
from trainers.rollouts.trajectory import SampledTurn, Trajectory

__all__ = ["AgentDemonstration", "encode_calls", "player_of"]

UNBOUNDED = TokenBudget(turn_tokens=1, episode_tokens=1 << 40, context=1 << 40)
"""What an expert says is not counted."""


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call and what the expert answered."""

    request: ChatRequest
    """The agent's request."""
    text: str
    """The answer as the policy would write it."""
    message: ChatMessage
    """The answer as the agent got it."""
    answered_at: int
    """Moments of the episode when it was answered."""


@dataclass(frozen=True, slots=True)
class AgentDemonstration(Demonstration):
    """An episode of an agent whose calls an expert answered."""

    calls: tuple[ShownCall, ...] = ()
    """The calls in their order."""

    @property
    def texts(self) -> Iterator[str]:
        """Every text that the policy reads or writes."""
        n_read = 0
        for call in self.calls:
            messages = call.request.messages
            yield from (message.content for message in messages[min(n_read, len(messages) - 1) :])
            n_read = len(messages)
            for tool in call.request.tools:
                function = tool["function"]
                yield " ".join((function["name"], *function["parameters"]["properties"]))
            yield call.text


def player_of(
    agent: Agent, rules: AgentRules, server: GatewayServer
) -> Callable[[gymnasium.Env[str, str], Mapping[str, Any], Policy, int | None], Demonstration]:
    """Return the player of a demonstration: the agent, and a policy that answers its calls.

    Args:
        agent: The agent.
        rules: The limits on its calls and time.
        server: The endpoint at which it asks.
    """

    def play(
        env: gymnasium.Env[str, str],
        options: Mapping[str, Any],
        expert: Policy,
        seed: int | None = None,
    ) -> Demonstration:
        address = server.address()
        session = Session(env, seed=seed, options=dict(options), model=address, any_grammar=True)
        calls: list[ShownCall] = []
        first = session.moments[0]
        begin_policy(expert, first.observation, public_info(first.info))
        lock = threading.Lock()

        def answers(request: ChatRequest) -> tuple[GatewayAnswer, ModelOutput]:
            with lock:  # calls at once have one expert
                moment = session.moments[-1]
                text = expert.act(moment.observation, public_info(moment.info))
                message, finish = read_answer(text, True, request, session.language)
                calls.append(ShownCall(request, text, message, len(session.moments)))
            return GatewayAnswer(message, finish), ModelOutput(text)

        server.open(address, AgentEpisode(session, answers, rules.calls))
        # A daemon: an agent that hangs must not keep the interpreter alive.
        thread = threading.Thread(target=run_agent, args=(agent, session), daemon=True)
        thread.start()
        thread.join(rules.seconds)
        server.shut(address)
        if thread.is_alive():
            session.end(StopReason.STOPPED.value, "the agent was not done in time")
        return _build_demonstration(session, calls)

    return play


def _build_demonstration(session: Session, calls: list[ShownCall]) -> AgentDemonstration:
    """Return the demonstration.

    Raises:
        EnvFailure: There is nothing to imitate.
    """
    moments, last = session.moments, session.moments[-1]
    turns = [moment for moment in moments[1:] if moment.action is not None]
    if not turns or not calls or last.failure is not None:
        why = str(last.failure or last.words or "the agent asked nothing, or took no turn")
        raise EnvFailure(f"an agent showed nothing: {why}")
    return AgentDemonstration(
        moments[0].observation,
        moments[0].info,
        tuple(
            ShownTurn(
                str(moment.action),
                SeenTurn.of(moment.observation, moment.info),
                moment.reward,
                bool(moment.info["action_valid"]),
            )
            for moment in turns
        ),
        last.info,
        tuple(calls),
    )


def encode_calls(
    demonstrations: Iterable[Demonstration], chat: TurnTokenizer
) -> Iterator[Trajectory]:
    """Write demonstrations of agents in a policy's tokens, with log-probabilities 0.

    Args:
        demonstrations: The episodes.
        chat: Turns texts into tokens.
    """
    for episode in demonstrations:
        assert isinstance(episode, AgentDemonstration)
        trajectory = Trajectory(
            task_id=episode.info["task_id"],
            horizon=episode.info["horizon"],
            stop_reason=episode.last["stop_reason"],
            success=episode.last["success"],
            score=float(episode.last["score"]),
        )
        log = CallLog(chat, UNBOUNDED, 0, 0)
        row: list[int] = []
        earned = owners([call.answered_at for call in episode.calls], len(episode.turns))
        for shown_call, steps in zip(episode.calls, earned, strict=True):
            call = log.ask(shown_call.request, shown_call.answered_at)
            ids = chat.encode_action(shown_call.text)
            out = Completion(ids, [0.0] * len(ids))
            log.answer(call, out, 0, shown_call.message, shown_call.answered_at)
            n_shared = shared(row, call.prompt)
            turns = [episode.turns[step] for step in steps]
            trajectory.turns.append(
                SampledTurn(
                    call.prompt[n_shared:],
                    ids,
                    out.logprobs,
                    fresh=n_shared == 0,
                    text=shown_call.text,
                    reward=float(sum(turn.reward for turn in turns)),
                    valid=all(turn.valid for turn in turns),
                )
            )
            row = [*call.prompt, *ids]
        yield trajectory
