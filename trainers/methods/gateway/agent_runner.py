"""Rollouts in which agents own the loop; they give the same trajectories as the trainer's loop.

Every agent has a thread, and every call of one comes to the thread that drives the engine, which
generates for all that are under way together. Whatever an agent does costs its own episode.
"""

from __future__ import annotations

import inspect
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as Timeout
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, cast

import gymnasium

from agentgym.agents import ModelAddress, Session
from agentgym.core.outcome import StopReason
from agentgym.errors import EnvFailure
from agentgym.policies.failures import policy_end
from agentgym.policies.invalid_streak import InvalidStreak
from agentgym.support.event_loop import shared_event_loop
from agentgym.support.http_server import Refused
from trainers.methods.gateway.agent_envs import AgentEnvs
from trainers.methods.gateway.agents import Agent
from trainers.methods.gateway.call_log import CallLog, LoggedCall
from trainers.methods.gateway.episode import AT_ONCE, AgentEpisode
from trainers.methods.gateway.policy_answers import PolicyAnswers
from trainers.methods.gateway.turns import fill
from trainers.rollouts.engines.base import Completion, Request, Sampling
from trainers.rollouts.live_episode import begin
from trainers.rollouts.rollout import RolloutCancelled
from trainers.rollouts.rollout_part import RolloutPart
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.slot_envs import Envs
from trainers.rollouts.trajectory import Trajectory

__all__ = ["AgentRules", "AgentRunner", "run_agent"]

logger = logging.getLogger(__name__)

IDLE_SECONDS = 0.05
"""How long events are waited for before clocks and cancellation are looked at."""
WAIT_SECONDS = 1.0
"""How long a call waits for the engine before it looks whether anybody drives that."""
END_SECONDS = 2.0
"""Seconds to wait for the end of an episode whose agent hangs in a turn."""


@dataclass(frozen=True)
class AgentRules:
    """Limits of an agent."""

    seconds: float = 600.0
    """Wall time of an episode, which then ends in its current state."""
    calls: int | None = None
    """Calls of an episode; None: four for each turn of its horizon, and 16."""


class AgentRunner(RolloutRunner):
    """Play episodes of a policy through an agent.

    Args:
        envs: Environments of the episodes.
        *args: Of ``RolloutRunner``, such as the turn tokenizer and the engine of the policy.
        agent: The agent.
        rules: The limits on its calls and time.
        **kwargs: Of ``RolloutRunner``; ``prompt`` is unused, as the agent writes the prompts.
    """

    def __init__(
        self,
        envs: AgentEnvs,
        *args: Any,
        agent: Agent,
        rules: AgentRules | None = None,
        **kwargs: Any,
    ) -> None:
        # Of the environments the base asks for their number alone.
        super().__init__(cast(Envs, envs), *args, **kwargs)
        self.agent_envs, self.agent, self.rules = envs, agent, rules or AgentRules()

    def _play(
        self,
        episodes: list[Trajectory],
        sampling: Sampling,
        seed: int,
        parts: Sequence[RolloutPart],
        cancelled: Callable[[], bool] | None,
        on_episode: Callable[[], None],
    ) -> list[Trajectory]:
        """Play the episodes, and return those added meanwhile."""
        rollout = _AgentRollout(self, episodes, sampling, seed, parts, cancelled, on_episode)
        rollout.play()
        return rollout.added


@dataclass(eq=False)
class _PendingCall:
    """A call that waits for the engine."""

    episode: _Live
    call: LoggedCall
    future: Future[tuple[Completion, int]] = field(default_factory=Future)


@dataclass(eq=False)
class _Live:
    """An episode that an agent is playing."""

    trajectory: Trajectory
    slot: int
    log: CallLog
    address: ModelAddress
    deadline: float
    episode: AgentEpisode | None = None
    words: str = ""
    """Why it was given up, if it was."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held to abandon the episode and, by its thread, to write: an abandoned one is not written."""


class _AgentRollout:
    """The episodes of one call of ``AgentRunner.run``."""

    def __init__(
        self,
        runner: AgentRunner,
        episodes: Sequence[Trajectory],
        sampling: Sampling,
        seed: int,
        parts: Sequence[RolloutPart],
        cancelled: Callable[[], bool] | None,
        on_episode: Callable[[], None],
    ) -> None:
        self._runner, self._envs, self._engine = runner, runner.agent_envs, runner.engine
        self._sampling, self._seed, self._parts = sampling, seed, parts
        self._cancelled, self._on_episode = cancelled, on_episode
        self._queue = deque(episodes)
        self._free = list(reversed(range(runner.agent_envs.num_envs)))
        self._live: dict[int, _Live] = {}
        self._events: SimpleQueue[_PendingCall | _Live] = SimpleQueue()
        self._pending: dict[int, _PendingCall] = {}
        self._over = threading.Event()
        self.added: list[Trajectory] = []

    def play(self) -> None:
        """Play all episodes, keeping every slot busy."""
        try:
            while self._queue or self._live:
                if self._cancelled is not None and self._cancelled():
                    raise RolloutCancelled
                self._start()
                self._hear()
                self._generate()
                self._watch()
        except BaseException:
            for live in list(self._live.values()):
                self._abandon(live, "the rollout was given up")
            raise
        finally:
            # Abort requests that agents abandoned: the next rollout needs an idle engine.
            self._engine.abort()
            self._over.set()

    # -- the thread that drives the engine ---------------------------------------------------------

    def _start(self) -> None:
        """Begin episodes in free slots whose environment is of their family."""
        families = self._runner.slot_families
        for _ in range(len(self._queue)):
            trajectory = self._queue.popleft()
            slot = next((s for s in reversed(self._free) if families[s] == trajectory.family), None)
            if slot is None:
                self._queue.append(trajectory)
                continue
            self._free.remove(slot)
            runner = self._runner
            log = CallLog(runner.chat, runner.budget, self._seed, trajectory.number)
            live = _Live(
                trajectory, slot, log, self._envs.server.address(),
                time.monotonic() + runner.rules.seconds,
            )  # fmt: skip
            env = self._envs.env(slot)
            self._live[slot] = live
            name = f"agentgym-agent-{trajectory.number}"
            # A daemon: an agent that hangs must not keep the interpreter alive.
            threading.Thread(target=self._episode, args=(live, env), name=name, daemon=True).start()

    def _hear(self) -> None:
        """Take calls to the engine, and episodes that have ended to their trajectories."""
        start = time.perf_counter()
        requests = []
        wait = 0.0 if self._engine.running else IDLE_SECONDS
        while True:
            try:
                event = self._events.get(timeout=wait) if wait else self._events.get_nowait()
            except Empty:
                break
            wait = 0.0
            if isinstance(event, _Live):
                if self._live.get(event.slot) is event:
                    self._envs.server.shut(event.address)
                    self._finish(event)
            elif self._live.get(event.episode.slot) is event.episode:
                requests.append(self._request(event))
            else:
                event.future.cancel()
        now = time.perf_counter()
        self._runner.stats.env_seconds += now - start
        if requests:
            self._engine.submit(requests, self._sampling)

    def _request(self, pending: _PendingCall) -> Request:
        """Return a call as a request; concurrent calls have distinct keys."""
        live, call = pending.episode, pending.call
        # Not within bounds: the engine may still be at calls of the episode before in this slot.
        key = next(key for key in count(live.slot * AT_ONCE) if key not in self._pending)
        self._pending[key] = pending
        return Request(
            key=key,
            prompt=tuple(call.prompt),
            max_tokens=call.max_tokens,
            seed=call.seed,
            group=live.trajectory.group,
        )

    def _generate(self) -> None:
        """Let the engine work, for a moment."""
        if not self._engine.running:
            return
        start = time.perf_counter()
        for key, out in self._engine.advance(IDLE_SECONDS):
            pending = self._pending.pop(key)
            if not pending.future.cancelled():
                # The version is stored here: when the thread wakes, the weights may have changed.
                pending.future.set_result((out, self._engine.version))
        self._runner.stats.engine_seconds += time.perf_counter() - start

    def _watch(self) -> None:
        """End the episodes of agents that have taken too long."""
        now = time.monotonic()
        late = [live for live in self._live.values() if now > live.deadline]
        for live in late:
            words = f"the agent was not done after {self._runner.rules.seconds:g} s"
            self._abandon(live, words)
            self._finish(live)

    def _abandon(self, live: _Live, words: str) -> None:
        """Leave an agent to itself: its token opens nothing, and its environment is another's."""
        with live.lock:
            live.words = words
        self._envs.server.shut(live.address)
        env = self._envs.give_up(live.slot)
        for waiting in self._pending.values():
            if waiting.episode is live:
                waiting.future.cancel()
        if live.episode is None:  # its thread closes the environment when the reset has returned
            return
        session, end_event = live.episode.session, threading.Event()

        def end() -> None:
            session.end(StopReason.STOPPED.value, words)
            end_event.set()
            env.close()

        # The session may be held by a turn that hangs.
        threading.Thread(target=end, daemon=True).start()
        end_event.wait(END_SECONDS)

    def _finish(self, live: _Live) -> None:
        """Write an episode down, and free its slot."""
        del self._live[live.slot]
        self._free.append(live.slot)
        trajectory, episode = live.trajectory, live.episode
        if episode is not None and episode.session.over:
            fill(trajectory, episode.session, live.log.answered, self._runner.chat)
        elif not trajectory.stop_reason:
            trajectory.stop_reason = StopReason.ERROR.value
            trajectory.error = f"the environment did not answer: {live.words}"
        self._on_episode()
        new_trajectories = [added for part in self._parts for added in part.end(trajectory)]
        self.added += new_trajectories
        self._queue += new_trajectories

    # -- the thread of an episode ------------------------------------------------------------------

    def _episode(self, live: _Live, env: gymnasium.Env[str, str]) -> None:
        """Let the agent play an episode, from its reset to its end."""
        trajectory = live.trajectory
        try:
            streak = InvalidStreak(self._runner.end_after_invalid)
            session = Session(
                env, seed=trajectory.seed, options=dict(trajectory.options), model=live.address,
                any_grammar=True, end_when=streak.end_when,
            )  # fmt: skip
            first = session.moments[0]
            complete = partial(self._complete, live)
            answers = PolicyAnswers(live.log, session, self._runner.chat, complete)
            with live.lock:
                if live.words:
                    return
                begin(trajectory, first.observation, first.info)
                live.episode = AgentEpisode(session, answers, self._runner.rules.calls)
                self._envs.server.open(live.address, live.episode)
            run_agent(self._runner.agent, session)
        except EnvFailure as failure:
            self._fail(live, str(failure))
        except BaseException as error:  # such as an environment that tells less than it should
            logger.warning("an episode of an agent could not be played", exc_info=error)
            self._fail(live, f"{type(error).__name__}: {error}")
        finally:
            if live.words and live.episode is None:
                env.close()
            self._events.put(live)

    def _fail(self, live: _Live, error: str) -> None:
        """Write down why an episode could not be played."""
        with live.lock:
            if not live.words:
                live.trajectory.stop_reason = StopReason.ERROR.value
                live.trajectory.error = error

    def _complete(self, live: _Live, call: LoggedCall) -> tuple[Completion, int]:
        """Wait for the engine to answer a call, as long as anybody drives it.

        Raises:
            Refused: The episode is over.
        """
        pending = _PendingCall(live, call)
        self._events.put(pending)
        while not self._over.is_set():
            try:
                return pending.future.result(timeout=WAIT_SECONDS)
            except Timeout:
                continue
            except CancelledError:
                break
        raise Refused(410, "the episode is over")


def run_agent(agent: Agent, session: Session) -> None:
    """Let an agent play in a session, and end that, whatever the agent raises.

    Args:
        agent: The agent.
        session: The session.
    """
    try:
        returned = agent(session)
        if inspect.iscoroutine(returned):
            shared_event_loop().run_episode(returned)
    except BaseException as error:  # also SystemExit and the like, which here end only the episode
        problem = error if isinstance(error, Exception) else RuntimeError(repr(error))
        session.fail(policy_end(problem, "the agent"))
    session.end()
