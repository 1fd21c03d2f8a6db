"""From the calls of an agent and the turns of its episode to a trajectory of training.

A call is a turn of the trajectory: an action of the policy. It earns the rewards of the turns that
the agent took after it was answered and before the next answer. All calls of an episode share its
end, whichever role of the agent asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.agents import Session
from agentgym.core.hooks import Verdict
from agentgym.episodes.recorder import costs_of, verdicts_of
from agentgym.evaluation.episode_result import summed_costs
from agentgym.policies.play import Moment
from trainers.methods.gateway.call_log import LoggedCall
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.trajectory import SampledTurn, Trajectory

__all__ = ["fill", "owners", "shared"]


def fill(
    trajectory: Trajectory, session: Session, calls: Sequence[LoggedCall], chat: TurnTokenizer
) -> None:
    """Write the outcome of an agent's episode into its trajectory.

    Args:
        trajectory: The trajectory of the episode, as at its start.
        session: The session, which is over.
        calls: The calls that were answered, in their order.
        chat: Turn tokenizer of the policy.
    """
    moments, last = session.moments, session.moments[-1]
    trajectory.turns = _turns(calls, moments, chat)
    trajectory.observation = last.observation
    trajectory.stop_reason = session.stop_reason
    trajectory.success, trajectory.score = session.success, session.score
    trajectory.details = dict(last.info.get("details", {}))
    trajectory.error = last.words if last.failure is None else str(last.failure)
    trajectory.record = session.episode


def owners(answered_at: Sequence[int], turns: int) -> list[list[int]]:
    """Assign the turns of an episode to its calls.

    Args:
        answered_at: Moments of the episode when each call was answered.
        turns: Turns of the episode; turn k leads to moment k + 1.

    Returns:
        For each call the turns that the agent took after it and before the next answer. Turns
        before the first call belong to it.
    """
    owned: list[list[int]] = [[] for _ in answered_at]
    for turn in range(turns if owned else 0):
        earlier_calls = [call for call, moments in enumerate(answered_at) if moments <= turn + 1]
        owned[max(earlier_calls, default=0)].append(turn)
    return owned


def shared(row: Sequence[int], prompt: Sequence[int]) -> int:
    """Return how much of a prompt the row before it holds: all of the row, or nothing."""
    return len(row) if row and prompt[: len(row)] == row else 0


def _turns(
    calls: Sequence[LoggedCall], moments: Sequence[Moment], chat: TurnTokenizer
) -> list[SampledTurn]:
    """Return a turn for every call, in their order."""
    steps = [
        moment for moment in moments[1:] if moment.action is not None and moment.failure is None
    ]
    earned = owners([call.answered_at for call in calls], len(steps))
    turns: list[SampledTurn] = []
    row: list[int] = []
    for call, numbers in zip(calls, earned, strict=True):
        assert call.out is not None
        n_shared, state = shared(row, call.prompt), moments[call.asked_at - 1]
        turns.append(_turn(call, n_shared, [steps[number] for number in numbers], state, chat))
        row = [*call.prompt, *call.out.ids]
    return turns


def _turn(
    call: LoggedCall, new_from: int, steps: Sequence[Moment], state: Moment, chat: TurnTokenizer
) -> SampledTurn:
    """Return the turn that a call is, with all that its agent did next."""
    out = call.out
    assert out is not None
    terms: dict[str, float] = {}
    verdicts: dict[str, Verdict] = {}
    for step in steps:
        for name, part in step.info["reward_terms"].items():
            terms[name] = terms.get(name, 0.0) + part
        verdicts |= verdicts_of(step.info)
    costs = summed_costs(costs_of(step.info) for step in steps)
    return SampledTurn(
        context=call.prompt[new_from:],
        ids=out.ids,
        logprobs=out.logprobs,
        entropies=out.entropies,
        fresh=new_from == 0,
        stopped=out.stopped,
        text=chat.action_text(out.ids),
        observation=state.observation,
        state_key=str(state.info["state_key"]),
        reward=float(sum(step.reward for step in steps)),
        reward_terms=terms,
        valid=all(step.info["action_valid"] for step in steps),
        version=call.version,
        prompt_tokens=len(call.prompt),
        success=any(step.info["success"] for step in steps),
        terminated=any(step.terminated for step in steps),
        truncated=any(step.truncated for step in steps),
        verdicts=verdicts,
        costs=costs,
    )
