"""The base class of every environment: :class:`TextEnv`.

A family implements `FamilyContract`; this class does seeding, the choice of the task, the turn
budget, the info dict, reward hooks and snapshots.

``step`` runs millions of times in a training, and a fast family's turn takes microseconds. Where
the code below inlines a check or skips a call, that is the reason.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, Generic, TypeVar

from gymnasium.error import ResetNeeded

from agentgym.core.delegation import Delegation
from agentgym.core.expert_answers import ExpertAnswers
from agentgym.core.extension import TurnAnswers
from agentgym.core.extensions import ExtendedLanguage, Extensions
from agentgym.core.family_contract import refuse_private_names
from agentgym.core.fingerprint import fingerprint
from agentgym.core.hooks import TASK_TERM, HookRunner, TurnReward
from agentgym.core.info import ENTRIES, FIRST_ENTRIES, Info, Source, shuffled
from agentgym.core.language import Language, checked_language
from agentgym.core.later import MaybeLater
from agentgym.core.options import (
    check_arguments,
    check_render_mode,
    check_reset,
    check_seed,
    integer,
)
from agentgym.core.outcome import (
    OBSERVATION_LENGTH,
    Outcome,
    StopReason,
    bounded,
    stop_reason,
    total,
    well_formed,
)
from agentgym.core.returned_values import (
    checked_details,
    checked_outcome,
    checked_terms,
    checked_text,
)
from agentgym.core.reward_functions import read_hooks
from agentgym.core.snapshots import Snapshot, fitting_task
from agentgym.core.spaces import UnicodeText
from agentgym.core.tasks import Task, TaskSet

_BEGUN = Outcome("")
"""The outcome that stands for a reset in `TextEnv._info`."""
_RUNS_ON = StopReason.NONE
"""Looked up once, because member access of an enumeration is slow and every turn needs it."""
Session = TypeVar("Session")
"""The game of a family's episode; :meth:`TextEnv._start` stores it in ``_session``."""


class TextEnv(ExpertAnswers, Generic[Session]):
    """A Gymnasium environment whose observations and actions are text.

    Args:
        tasks: The task set.
        horizon: Turn budget of an episode, unless the reset option of this name sets another.
        split: Split from which ``reset`` draws if no task is named; None: ``train``, or the first
            split of tasks without it (official data, your own files).
        grammar: How actions are written: ``native``, ``xml``, ``react``, ``tool_call`` or
            ``action_tag`` (a native action between ``<action>`` tags).
        reward_hooks: Turn-level rewards added to the family's own: hooks, or reward functions of
            TRL, verl or verifiers (`agentgym.core.reward_functions`).
        expose_oracle: Whether ``info["oracle_action"]`` contains the solver's next action.
        worker_turns: Turns of a worker, including its report, to which the policy may delegate a
            part of the task (`agentgym.core.delegation`); 0: no workers.
        notes: Maximum number of notes that the policy can write (`agentgym.core.notes`); 0: none.
        tries: Number of tries per episode (`agentgym.core.tries`); ``horizon`` is the turn budget
            of one try.
        summary_every: Turns after which the policy has to replace them by a summary
            (`agentgym.core.summaries`); 0: no summaries.
        render_mode: ``"ansi"`` or None.
        **unknown: Arguments that no class of the family accepts; families pass their ``**kwargs``
            through, so that mistyped names are rejected here.

    Raises:
        ConfigurationError: A name is unknown (the message lists the known ones), or a value is out
            of range (the message names it).

    Attributes:
        spoken: The language in which policies act: the family's `language`, plus the actions that
            extensions add.
        extensions: The extensions of the environment (`agentgym.core.extension`).
        horizon: Turn budget of the running episode.
        default_horizon: Turn budget of episodes without the reset option ``horizon``.

    ``gymnasium.make(..., max_episode_steps=n)`` and wrappers such as ``TimeLimit`` truncate an
    episode from outside: they set ``truncated``, but ``info`` does not reflect it.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012
    __configuration: str
    # State of np_random at the start of the episode, for further tries; only with extensions.
    __dice: Mapping[str, Any] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Reject a family that overrides private methods of this class by accident.

        Private state is safe without this check, because names with a double underscore are
        mangled; the exceptions ``_session`` and ``_running`` are set by families.
        """
        super().__init_subclass__(**kwargs)
        refuse_private_names(cls, TextEnv)

    def __new__(cls, *args: Any, **kwargs: Any) -> TextEnv:
        """Record the arguments of the constructor, whatever its signature in the family."""
        env = super().__new__(cls)
        # Only __new__ sees the caller's arguments: constructors fill in defaults and change them.
        env.__configuration = fingerprint(cls, args, kwargs)
        return env

    def __init__(
        self,
        tasks: TaskSet,
        *,
        horizon: int,
        split: str | None = None,
        grammar: str = "native",
        reward_hooks: Sequence[TurnReward | Callable[..., Any]] = (),
        expose_oracle: bool = False,
        worker_turns: int = 0,
        notes: int = 0,
        tries: int = 1,
        summary_every: int = 0,
        render_mode: str | None = None,
        **unknown: Any,
    ) -> None:
        check_arguments(type(self), unknown)
        self.extensions = Extensions.of(worker_turns, notes, tries, summary_every)
        self.language = Language(self.action_specs, grammar, self.action_length)
        self.tasks = tasks
        self.default_horizon = self.extensions.horizon(integer(horizon, "horizon", 1))
        default = "train" if "train" in tasks.splits else tasks.splits[0]
        self.split = tasks.check(default if split is None else split)
        self.expose_oracle = expose_oracle
        self.render_mode = check_render_mode(render_mode, self.metadata["render_modes"])
        self.observation_space = UnicodeText(OBSERVATION_LENGTH)
        self.action_space = UnicodeText(self.action_length)
        self.hooks = HookRunner(read_hooks(reward_hooks), self.reported_details())
        self.turn, self.horizon = 0, self.default_horizon
        self._session: Session | None = None
        self.__task: Task | None = None
        self.__digest: str | None = None
        self._running = self.__hooked = False
        self.__observation = ""
        self.__last_action: str | None = None
        self.__score = 0.0
        self._expert_answers = {}

    # -- the Gymnasium interface ----------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Seeds ``np_random``, from which the task is drawn if none is named.
            options: ``{"split", "index"}`` or ``{"task_id"}`` choose the task; ``"horizon"`` is
                this episode's turn budget; ``"training_step"`` is read by scheduled hooks;
                ``"reward_hooks"`` False disables them, leaving the family's own reward;
                ``"prices"`` are the prices of costs (`agentgym.rewards.costs`). None means the
                default.

        Returns:
            The first observation and the info dict, here with ``goal`` and ``tools``.

        Raises:
            ConfigurationError: An option is unknown, of the wrong type or out of range, or
                contradicts another; or the seed is not a natural number.
            TaskNotFound: The named task does not exist.
        """
        self._running = False
        self._expert_answers = {}
        # Before anything is drawn: a refused reset leaves the generator as it was.
        settings = check_reset(options, self.reset_options)
        super().reset(seed=check_seed(seed))
        # Before the engine starts: both draw from np_random, and this order is part of the seed's
        # meaning: changing it would change every seeded episode.
        task = self.tasks.choose(settings, self.np_random, self.split)
        self.horizon = settings.get("horizon", self.default_horizon)
        self.turn, self.__score, self.__last_action = 0, 0.0, None
        self._begin(task)
        goal = well_formed(task.goal)
        if self.extensions.parts:
            self.__dice = copy.deepcopy(self.np_random.bit_generator.state)
            self.extensions.begin(goal, self.horizon)
        self.__observation = self.extensions.open(self._opening(task))
        self._running = True
        info = self._info(_BEGUN, {TASK_TERM: 0.0}, _RUNS_ON, "", FIRST_ENTRIES)
        info["goal"] = goal
        self.__hooked = bool(self.hooks) and settings.get("reward_hooks", True)
        if self.__hooked:
            state = self.hooks.state(self.__observation, info, self.potential)
            step, prices = settings.get("training_step", 0), settings.get("prices")
            self.hooks.reset(state, step, goal, prices, task)
        return self.__observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn; any ``str`` is a legal action.

        Args:
            action: Text of the policy. Thinking is stripped and overlong text is cut; text without
                a valid action changes nothing, and the observation gives the reason.

        Returns:
            Observation, reward, terminated, truncated and info.

        Raises:
            ResetNeeded: The episode has ended or has not begun.
            ConfigurationError: The action is not a ``str``.
        """
        if not self._running:
            raise ResetNeeded("expected a running episode: call env.reset() before env.step()")
        text, trailing, problem = self.spoken.understand(action)
        self._running = False  # if the engine raises, the episode is over
        # Most turns have none, and testing is cheaper than a new dict.
        if self._expert_answers:
            self._expert_answers = {}
        # Tested here, because going through an empty `Extensions` would make a turn 20% slower.
        if self.extensions.parts:
            outcome = self._play_extended(action, text, problem)
        else:
            outcome = self._misread(action, problem) if problem else self._act(text)
        self.turn += 1
        # What was not understood is kept as it was typed.
        self.__last_action = text or action[: self.action_length]
        # Inline checks, cheap and without function calls, accept a valid outcome. Anything else
        # goes to `checked_outcome`, which repairs it or raises with a message.
        try:
            score, observation = outcome.score, outcome.observation
            is_plain = (
                type(observation) is str
                and len(observation) <= OBSERVATION_LENGTH
                and observation.isascii()
            )
            self.__observation = observation if is_plain else self._text(observation)
            reward = 0.0 + outcome.reward  # converts to float, and -0.0 to 0.0
            sound = not reward or -inf < reward < inf
            sound = sound and (score is None or 0.0 <= score <= 1.0)
        except (AttributeError, TypeError):
            sound = False
        if not sound:
            score = checked_outcome(self, outcome).score
        terminated = bool(outcome.terminated)
        if score is not None:
            self.__score = score
        # Without a score of its own a solved task counts in full.
        elif terminated and outcome.success:
            self.__score = 1.0
        # An episode that ends by itself in its last turn is terminated alone.
        truncated = not terminated and (self.turn >= self.horizon or bool(outcome.truncated))
        self._running = not (terminated or truncated)
        reason = _RUNS_ON if self._running else stop_reason(outcome, truncated)
        terms = checked_terms(self, outcome.terms) if outcome.terms else {TASK_TERM: reward}
        info = self._info(outcome, terms, reason, trailing)
        if self.__hooked:
            terms = info["reward_terms"] = self.hooks.terms(
                self.__last_action,
                self.hooks.state(self.__observation, info, self.potential),
                terms,
                valid=outcome.valid,
                done=not self._running,
                success=outcome.success,
                details=info["details"],
                response=action,
            )
            # Key by key, as update would compute what nobody has read.
            for key, values in self.hooks.reports().items():
                info[key] = values
        if self.__hooked or outcome.terms:
            reward = total(terms.values())
        return self.__observation, reward, terminated, truncated, info

    def render(self) -> str | None:
        """Return the last turn as text in render mode ``"ansi"``."""
        if self.render_mode != "ansi":
            return None
        if self.__last_action is None:
            return self.__observation
        return f"> {self.__last_action}\n{self.__observation}"

    # -- beyond Gymnasium -----------------------------------------------------------------------

    @property
    def task(self) -> Task:
        """The task of the running episode.

        Raises:
            ResetNeeded: No episode has begun.
        """
        if self.__task is None:
            raise ResetNeeded("expected a task: call env.reset() first")
        return self.__task

    @property
    def session(self) -> Session:
        """The running game of the family, for tools that inspect its state.

        Raises:
            ResetNeeded: No episode has begun.
        """
        if self._session is None:
            raise ResetNeeded("expected a running episode: call env.reset() first")
        return self._session

    @property
    def language(self) -> Language:
        """The family's language; a constructor may replace it."""
        return self.__language

    @language.setter
    def language(self, language: Language) -> None:
        self.__language = checked_language(language)
        # An attribute and not a property, because every turn reads it twice.
        extended = self.extensions.specs
        self.spoken = ExtendedLanguage(language, self.extensions) if extended else language

    @property
    def delegation(self) -> Delegation | None:
        """The extension of planner and workers; None without workers."""
        return self.extensions.delegation

    @property
    def turns_left(self) -> int:
        """Number of turns left in this try, including the current one."""
        return self.extensions.turns_left(self.horizon - self.turn)

    @property
    def last_action(self) -> str | None:
        """The last action in the native grammar; None before the first turn."""
        return self.__last_action

    @property
    def configuration(self) -> str:
        """Fingerprint of the environment's arguments: snapshots require the same one."""
        return self.__configuration

    def snapshot(self) -> Snapshot:
        """Return the picklable state of the running episode, without the state of wrappers.

        Raises:
            NotSupported: The family's engine cannot do it.
        """
        # Hash only now and only once: a task may be large, and few episodes are forked.
        if self.__digest is None:
            self.__digest = self.task.digest()
        return Snapshot(
            self.task.id,
            self.__digest,
            self.__configuration,
            {
                "turn": self.turn,
                "horizon": self.horizon,
                "running": self._running,
                "hooked": self.__hooked,
                "observation": self.__observation,
                "last_action": self.__last_action,
                "score": self.__score,
                "extensions": self.extensions.snapshot(),
                "dice": self.__dice,
            },
            self.hooks.snapshot(),
            self._snapshot(),
            copy.deepcopy(dict(self.np_random.bit_generator.state)),
        )

    def restore(self, state: Snapshot) -> None:
        """Continue from a state taken by :meth:`snapshot`, here or in an equal environment.

        On an error the environment is unchanged.

        Raises:
            ConfigurationError: The state is not a snapshot, or it is from an environment with other
                arguments (reward hooks, observation mode, engine, ...), or the content of its task
                has changed.
            NotSupported: The family's engine cannot do it.
            TaskNotFound: The snapshot is from another task set.
        """
        current = None if self.__task is None else (self.__task, self.__digest)
        family = type(self).__name__
        task, digest = fitting_task(state, family, self.__configuration, self.tasks, current)
        try:
            snapshot = None if self.__task is None else self.snapshot()
        except Exception:  # after a failure of the engine there is no state to go back to
            snapshot = None
        old = self.__task
        try:
            self._put(task, digest, state)
        except BaseException:
            if snapshot is None or old is None:
                self._running = False
            else:
                self._put(old, snapshot.task_digest, snapshot)
            raise

    def action_prompt(self) -> str:
        """Return the paragraph that explains to a language model how to write actions."""
        return self.spoken.prompt()

    # -- helpers --------------------------------------------------------------------------------

    def _play_extended(self, action: str, text: str, problem: str) -> Outcome:
        """Take a turn through the extensions."""
        answer = partial(self._misread, action, problem) if problem else partial(self._acted, text)
        return self.extensions.play(text, TurnAnswers(answer, self._idle, self._begin_anew))

    def _begin_anew(self) -> str:
        """Restart the task with the random numbers that the episode began with."""
        self.np_random.bit_generator.state = copy.deepcopy(self.__dice)
        return self._opening(self.task)

    def _opening(self, task: Task) -> str:
        """Begin a task; return the first observation, well-formed and bounded."""
        return self._text(checked_text(self, "_start", self._start(task, self.np_random)))

    def _acted(self, text: str) -> Outcome:
        """Carry out an action and validate its outcome, which extensions read."""
        return checked_outcome(self, self._act(text))

    def _begin(self, task: Task, digest: str | None = None) -> None:
        """Make ``task`` the task of the episode."""
        # By identity: large tasks would be slow to compare, and an equal one only costs a hash.
        if task is not self.__task:
            self.__task, self.__digest = task, None
        self.__digest = digest or self.__digest

    def _put(self, task: Task, digest: str, state: Snapshot) -> None:
        """Set the state of the episode from a snapshot that fits."""
        self._begin(task, digest)
        self._restore(state.engine)
        episode = state.episode
        self.turn, self.horizon = episode["turn"], episode["horizon"]
        self._running, self.__score = episode["running"], episode["score"]
        self.__hooked = episode["hooked"]
        self.__observation = episode["observation"]
        self.__last_action = episode["last_action"]
        self._expert_answers = {}
        self.extensions.restore(episode["extensions"])
        self.__dice = episode["dice"]
        self.hooks.restore(state.hooks)
        self.np_random.bit_generator.state = copy.deepcopy(state.rng)

    def _state(self) -> str:
        """Return the observation: the default for families without a better key of a state."""
        return self.__observation

    def _text(self, text: str) -> str:
        """Return an observation well-formed and of bounded length."""
        if not isinstance(text, str):
            raise TypeError(type(text).__name__)
        return bounded(well_formed(text), OBSERVATION_LENGTH)

    def _shuffled(self, actions: Iterable[str]) -> list[str]:
        """Return actions in the order of ``info["admissible_actions"]``, which reveals nothing.

        A family that also lists actions in its observations should use the same order.
        """
        return shuffled(actions, self.task.id)

    def _info(
        self,
        outcome: Outcome,
        terms: dict[str, float],
        reason: StopReason,
        trailing: str,
        entries: Mapping[str, Callable[[Source], Any]] = ENTRIES,
    ) -> Info:
        """Assemble the info dict: the same keys at every step, fresh objects, JSON-safe."""
        assert self.__task is not None
        # Never empty: `json.dumps` writes an empty dict as {} and would not compute the values.
        values: dict[str, Any] = {"reward_terms": terms}
        state: MaybeLater[str] = self._state()
        turns_left = self._oracle_turns()
        if self.extensions.parts:
            state, turns_left = self.extensions.describe(state, turns_left)
            values |= self.extensions.info
        if self.expose_oracle:
            values["oracle_action"] = self.oracle_action() if self._running else None
        details = checked_details(self, outcome.details) if outcome.details else {}
        admissible = self._admissible() if self._running else ()
        source: Source = (
            self.__task, self.turn, self.horizon, outcome.valid, outcome.success, self.__score,
            reason, turns_left, details, trailing, self.spoken, admissible, state,
        )  # fmt: skip
        return Info.of(values, entries, source)
