"""A person's visits: one environment for each tab of the browser."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentgym.core.options import integer
from agentgym.core.outcome import total
from agentgym.envs.webshop.browser.page_parts import PagePart, other_names, page_parts
from agentgym.envs.webshop.browser.recorded_visits import Demonstrations
from agentgym.envs.webshop.engine.shop import plain_query
from agentgym.envs.webshop.env import WebShopEnv
from agentgym.episodes import Episode, Recorder
from agentgym.episodes.recorder import invalid_reason
from agentgym.errors import ConfigurationError, TaskNotFound
from agentgym.support.http_server import Refused

POLICY = "human"
"""Name of the policy in records."""
MOST = 32
"""Maximum number of visits; a further one closes the longest idle one."""
IDLE = 3600.0
"""Seconds after which an unused visit is closed."""
LONGEST_TEXT = 8192
"""Maximum length of a query or a typed action, in characters."""


class Visit:
    """One tab: an environment and the history of its episode.

    Args:
        env: The environment; the visit closes it.
    """

    def __init__(self, env: WebShopEnv) -> None:
        self._env = env
        self._recorder = Recorder(env, None, policy=POLICY)
        self._turns: list[dict[str, Any]] = []
        self._observation = ""
        self._info: dict[str, Any] = {}
        self._goal = ""
        self._seed = 0

    def start(self, seed: int, options: dict[str, Any]) -> None:
        """Begin the episode.

        Raises:
            ConfigurationError: The seed or an option is wrong.
            TaskNotFound: The task does not exist.
        """
        self._observation, self._info = self._recorder.reset(seed=seed, options=options)
        self._goal, self._turns, self._seed = self._info["goal"], [], seed

    def act(self, action: str) -> Episode | None:
        """Take a turn; return the episode if it has ended.

        Raises:
            Refused: The episode was already over.
        """
        if self._info["stop_reason"]:
            raise Refused(409, "the episode is over: start it again or choose another task")
        self._observation, reward, _, _, self._info = self._recorder.step(action)
        self._turns.append(
            {
                "action": action,
                "valid": self._info["action_valid"],
                "reward": reward,
                "terms": self._info["reward_terms"],
                "reason": invalid_reason(self._env, action, self._info),
            }
        )
        return self._recorder.last if self._info["stop_reason"] else None

    def search(self, words: str) -> str:
        """Write a search in the grammar of the environment.

        Raises:
            Refused: The query contains no words.
        """
        query = plain_query(words)
        if not query:
            raise Refused(400, "expected some words to search for")
        return self._env.language.write(f"search[{query}]")

    @property
    def turn(self) -> int:
        """Turns taken."""
        return len(self._turns)

    def state(self) -> dict[str, Any]:
        """Return the state for the page: the shop's page, the observation and the score."""
        env, info = self._env, self._info
        parts = page_parts(env)
        page = "".join(part.full_text for part in parts)
        message, state_text = _split_off_message(self._observation, page)
        task, place = env.task, env.session.state
        actions = {action for action in info["admissible_actions"] if isinstance(action, str)}
        return {
            "task": {"id": task.id, "split": task.split, "index": task.index, "seed": self._seed},
            "goal": self._goal,
            "splits": {name: env.tasks.len(name) for name in env.tasks.splits},
            "mode": env.observation_mode,
            "grammar": env.language.grammar,
            "kind": place.page,
            "query": place.query or "",
            "number": place.number,
            "product": place.asin or "",
            "sub": place.sub or "",
            "said": message,
            "now": state_text,
            "page": [self._describe_part(part, actions) for part in parts],
            "others": [
                description
                for name in other_names(env, parts)
                if (
                    description := self._describe_part(PagePart("button", name, name=name), actions)
                )["action"]
            ],
            "observation": self._observation,
            "admissible": info["admissible_actions"],
            "prompt": env.action_prompt(),
            "turn": info["turn"],
            "horizon": info["horizon"],
            "turns": self._turns,
            "reward": total(turn["reward"] for turn in self._turns),
            "terms": _sums(self._turns),
            "stop_reason": info["stop_reason"],
            "success": info["success"],
            "score": info["score"],
            "details": info["details"],
        }

    def close(self) -> None:
        """Close the environment."""
        self._recorder.close()

    def _describe_part(self, part: PagePart, actions: set[str]) -> dict[str, Any]:
        """Return a part with the action that a click on it takes, if the agent could take it."""
        action = None
        if part.name is not None:
            command = self._env.language.write(f"click[{part.name}]")
            action = command if command in actions else None
        description = part._asdict()
        del description["name"]
        return {**description, "action": action}


class Visits:
    """All visits; thread-safe, as a lock serializes all calls.

    Args:
        make: Makes an environment.
        split: Default split of a visit.
        seed: Default seed of a visit.
        record: File to which finished episodes are appended; None records nothing.
        limit: Maximum number of concurrent visits.
        idle: Seconds after which an unused visit is closed.
        clock: Returns the time in seconds.

    Raises:
        ConfigurationError: The file cannot be written, or the split or seed is wrong.
    """

    def __init__(
        self,
        make: Callable[[], WebShopEnv],
        *,
        split: str = "train",
        seed: int = 0,
        record: Path | None = None,
        limit: int = MOST,
        idle: float = IDLE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make, self._split, self._seed = make, split, integer(seed, "seed", 0)
        self._limit, self._idle, self._clock = limit, idle, clock
        self._lock = threading.Lock()
        self._open_visits: dict[str, tuple[Visit, float]] = {}
        first = Visit(make())  # fail on bad arguments before the first visit
        try:
            first.start(seed, {"split": split})
        except TaskNotFound as error:
            raise ConfigurationError(str(error)) from error
        finally:
            first.close()
        self.demonstrations = Demonstrations(record)

    def begin(self, session: str, request: dict[str, Any]) -> dict[str, Any]:
        """Begin an episode in an open visit or in a new one.

        Args:
            session: Id of a visit; if it is empty or closed, a new visit is opened.
            request: ``seed``, and ``split`` and ``index`` or ``task_id``; all are optional.

        Raises:
            ConfigurationError: The seed or an option is wrong.
            TaskNotFound: The task does not exist.
        """
        seed = integer(request.pop("seed", self._seed), "the seed", 0)
        options = request or {"split": self._split}
        with self._lock:
            self._close_idle()
            # A new environment, so that a task that does not exist ends no episode.
            visit = Visit(self._make())
            try:
                visit.start(seed, options)
            except BaseException:
                visit.close()
                raise
            if session in self._open_visits:
                self._close(session)
            else:
                session = secrets.token_urlsafe(16)
            while len(self._open_visits) >= self._limit:
                self._close(next(iter(self._open_visits)))
            return self._answer(session, visit)

    def look(self, session: str) -> dict[str, Any]:
        """Return the state of a visit.

        Raises:
            Refused: The visit does not exist.
        """
        with self._lock:
            return self._answer(session, self._find(session))

    def act(self, session: str, turn: int, text: str, *, search: bool) -> dict[str, Any]:
        """Take a turn.

        Args:
            session: Id of the visit.
            turn: The turn that the page displays; an outdated page has no effect.
            text: An action, or words to search for.
            search: Whether ``text`` is words to search for.

        Raises:
            Refused: The visit does not exist, its episode is over, or it is in another turn.
        """
        if len(text) > LONGEST_TEXT:
            raise Refused(413, f"expected at most {LONGEST_TEXT:,} characters, got {len(text):,}")
        with self._lock:
            visit = self._find(session)
            if turn != visit.turn:
                raise Refused(409, f"the visit is in turn {visit.turn}, not in {turn}")
            demonstration = visit.act(visit.search(text) if search else text)
            if demonstration is not None:
                self.demonstrations.add(demonstration)
            return self._answer(session, visit)

    def close(self) -> None:
        """Close all visits and write pending episodes."""
        with self._lock:
            self.demonstrations.save()
            for session in list(self._open_visits):
                self._close(session)

    def __len__(self) -> int:
        """Return the number of visits."""
        return len(self._open_visits)

    def _answer(self, session: str, visit: Visit) -> dict[str, Any]:
        """Return the state of a visit, which becomes the one used last."""
        self._open_visits.pop(session, None)
        self._open_visits[session] = (visit, self._clock())
        return {**visit.state(), "session": session, "record": self.demonstrations.facts()}

    def _find(self, session: str) -> Visit:
        self._close_idle()
        if session not in self._open_visits:
            raise Refused(410, "this visit was closed; the page opens another")
        return self._open_visits[session][0]

    def _close_idle(self) -> None:
        late = self._clock() - self._idle
        for session in [name for name, (_, used) in self._open_visits.items() if used < late]:
            self._close(session)

    def _close(self, session: str) -> None:
        self._open_visits.pop(session)[0].close()


def _split_off_message(observation: str, page: str) -> tuple[str | None, bool]:
    """Split an observation into message and page.

    Returns:
        The message before or in place of the page (None: none), and whether the page is part of the
        observation.
    """
    if observation == page:
        return None, True
    message = observation.removesuffix(f"\n{page}")
    return message, message != observation


def _sums(turns: list[dict[str, Any]]) -> dict[str, float]:
    """Add up the reward terms of an episode."""
    names = dict.fromkeys(name for turn in turns for name in turn["terms"])
    return {name: total(turn["terms"].get(name, 0.0) for turn in turns) for name in names}
