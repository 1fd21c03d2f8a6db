"""Blind baselines: policies that read neither the task nor the observations.

They use only the list of admissible actions: positions in it, the length or the alphabetical order
of its entries, or their verbs. Their success measures what a family's tasks give away, so a policy
must exceed it to show that it reads; random actions alone set this bar too low.

Two are fitted on the expert's actions in other tasks: the one text that ended most of them
(``blind-constant``), and a ranking of verbs (``blind-verbs``), which puts a verb ``v`` at

    share(v) = turns in which the expert used v / turns in which v was admissible,

where actions used earlier in the episode do not count as admissible. As no observation enters, the
ranking is the same in every task.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from agentgym.errors import ConfigurationError
from agentgym.policies.transcriber import TRANSCRIBERS

Choose = Callable[[Sequence[str], np.random.Generator], str]
"""Chooses one of at least one actions, possibly at random."""
Turn = tuple[Sequence[str], str]
"""The admissible actions of a turn, and the action taken."""

RULES: Mapping[str, Choose] = {
    "first": lambda actions, rng: actions[0],
    "last": lambda actions, rng: actions[-1],
    "shortest": lambda actions, rng: min(actions, key=len),
    "longest": lambda actions, rng: max(actions, key=len),
    "alphabet-first": lambda actions, rng: min(actions),
    "alphabet-last": lambda actions, rng: max(actions),
    "random": lambda actions, rng: actions[int(rng.integers(len(actions)))],
}
"""Choice rules by name. Of equally long actions the first in the list is chosen."""

UNFITTED: tuple[str, ...] = (
    *(f"blind-{name}" for name in RULES if name != "random"),
    *(f"blind-{name}-new" for name in RULES),
)
"""Blind policies without a fit. ``-new`` avoids actions that it took before in the episode, while
there are others. ``blind-random`` would be the policy ``random``."""
FITTED: tuple[str, ...] = ("blind-constant", "blind-verbs")
"""Blind policies that are fitted on the expert's episodes."""
BLIND: tuple[str, ...] = (*UNFITTED, *FITTED)
"""Names of the blind policies that play every family; a family may add more."""

_BLIND_NAME = re.compile(r"blind-[a-z]+(-[a-z]+)*")
_VERB = re.compile(r"[^\W\d_]+")


class BlindPolicy:
    """Choose among the admissible actions, using no other information.

    Args:
        choose: Chooses one of the admissible actions.
        may_repeat: Whether actions taken earlier in the episode may be chosen.
        seed: Seed of the draws. The draws of an episode depend on this seed, the id of the task and
            the seed of the episode, if any: they are independent of the order of the tasks, and
            differ between samples of a task.
    """

    def __init__(self, choose: Choose, *, may_repeat: bool = True, seed: int = 0) -> None:
        self._choose = choose
        self._repeat = may_repeat
        self._seed = seed
        self._seeds = [seed]
        self._typed: set[str] = set()
        self._rng = np.random.Generator(np.random.PCG64(seed))

    def seed(self, seed: int) -> None:
        """Take the seed of the next episode."""
        self._seeds = [self._seed, seed]

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        """Clear the actions of the previous episode."""
        self._typed.clear()
        task = info["task_id"].encode("utf-8", "surrogatepass")
        self._rng = np.random.Generator(np.random.PCG64([*self._seeds, *task]))

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Choose an action; empty if none is admissible."""
        offered = list(info["admissible_actions"])
        if not self._repeat:
            offered = [action for action in offered if action not in self._typed] or offered
        action = str(self._choose(offered, self._rng)) if offered else ""
        self._typed.add(action)
        return action


class ConstantPolicy:
    """Always return one text.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the text."""
        return self._text


def is_reference_policy(name: object) -> bool:
    """Return whether a name is a reference policy: random, blind, a transcriber or an expert."""
    return name in ("random", "oracle", "demonstrator", *TRANSCRIBERS) or (
        isinstance(name, str) and _BLIND_NAME.fullmatch(name) is not None
    )


def blind_policy(name: str, seed: int = 0) -> BlindPolicy:
    """Make a blind policy that needs no fitting.

    Args:
        name: One of `UNFITTED`.
        seed: Seed of its draws.

    Raises:
        ConfigurationError: There is no such policy.
    """
    if name not in UNFITTED:
        raise ConfigurationError(f"expected one of {', '.join(UNFITTED)}; got {name!r}")
    rule = name.removeprefix("blind-")
    return BlindPolicy(
        RULES[rule.removesuffix("-new")], may_repeat=not rule.endswith("-new"), seed=seed
    )


def fit_blind(name: str, episodes: Iterable[Sequence[Turn]]) -> BlindPolicy | ConstantPolicy:
    """Fit a blind policy on episodes of an expert.

    Args:
        name: One of `FITTED`.
        episodes: The turns of each episode.

    Raises:
        ConfigurationError: There is no such policy.
    """
    if name not in FITTED:
        raise ConfigurationError(f"expected one of {', '.join(FITTED)}; got {name!r}")
    if name == "blind-constant":
        return ConstantPolicy(_commonest_end(episodes))
    # Verbs that never occurred in the demonstrations come last.
    places = {word: place for place, word in enumerate(rank_verbs(episodes))}
    return BlindPolicy(
        lambda actions, rng: min(actions, key=lambda a: places.get(verb(a), len(places))),
        may_repeat=False,
    )


def rank_verbs(episodes: Iterable[Sequence[Turn]]) -> list[str]:
    """Rank verbs by how often they were used among the turns in which they were admissible.

    Ties are in alphabetical order.
    """
    offered, uses = Counter[str](), Counter[str]()
    for episode in episodes:
        typed = set[str]()
        for actions, action in episode:
            offered.update({verb(entry) for entry in actions if entry not in typed})
            uses[verb(action)] += 1
            typed.add(action)
    return sorted(offered, key=lambda word: (-uses[word] / offered[word], word))


def verb(action: str) -> str:
    """Return the first word of an action.

    Grammars other than the native one begin all actions with the same words, so their actions share
    one verb.
    """
    match = _VERB.search(action)
    return match[0].lower() if match else ""


def _commonest_end(episodes: Iterable[Sequence[Turn]]) -> str:
    """Return the action that ended most episodes; ties are broken alphabetically."""
    ends = Counter(episode[-1][1] for episode in episodes if episode)
    return min(ends, key=lambda action: (-ends[action], action), default="")
