"""Blind baselines: policies that read neither the task nor what the environment answers.

They look at nothing but the list of admissible actions: at places in it, at the length or the
alphabet of its entries, or at their verbs. What they solve is what a family's tasks give away, so
it is the floor for whoever claims that a policy reads; random actions alone set it too low.

Two are fitted on what the expert typed in other tasks: the one text that ended most of them
(``blind-constant``), and a ranking of verbs (``blind-verbs``), which puts a verb ``v`` at

    share(v) = turns in which the expert typed v / turns in which v was on offer,

where what was typed before in the episode is not on offer. As no observation enters, the ranking is
the same in every task.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from agentgym.errors import ConfigurationError

Choose = Callable[[Sequence[str], np.random.Generator], str]
"""Chooses one of some actions, at least one; it may draw."""
Turn = tuple[Sequence[str], str]
"""The admissible actions of a turn, and what was typed."""

RULES: Mapping[str, Choose] = {
    "first": lambda actions, rng: actions[0],
    "last": lambda actions, rng: actions[-1],
    "shortest": lambda actions, rng: min(actions, key=len),
    "longest": lambda actions, rng: max(actions, key=len),
    "alphabet-first": lambda actions, rng: min(actions),
    "alphabet-last": lambda actions, rng: max(actions),
    "random": lambda actions, rng: actions[int(rng.integers(len(actions)))],
}
"""What is chosen, by name. Of equally long actions the first in the list is."""

UNFITTED: tuple[str, ...] = (
    *(f"blind-{name}" for name in RULES if name != "random"),
    *(f"blind-{name}-new" for name in RULES),
)
"""Blind policies that need nothing to be made. ``-new`` avoids what it typed before in the
episode, as long as anything else is on offer. ``blind-random`` would be the policy ``random``."""
FITTED: tuple[str, ...] = ("blind-constant", "blind-verbs")
"""Blind policies that are fitted on the expert's episodes."""
BLIND: tuple[str, ...] = (*UNFITTED, *FITTED)
"""Names of the blind policies that play every family; a family may bring more of its own."""

_BLIND_NAME = re.compile(r"blind-[a-z]+(-[a-z]+)*")
_VERB = re.compile(r"[^\W\d_]+")


class BlindPolicy:
    """Choose among the admissible actions without reading anything else.

    Args:
        choose: Chooses one of them.
        again: Whether what was typed before in the episode may be chosen.
        seed: Seed of the draws. An episode's depend on it, on the id of the task and on the
            episode's own seed where it has one, so that they are the same in whatever order tasks
            are played, and others in each sample of a task.
    """

    def __init__(self, choose: Choose, *, again: bool = True, seed: int = 0) -> None:
        self._choose = choose
        self._again = again
        self._seed = seed
        self._seeds = [seed]
        self._typed: set[str] = set()
        self._rng = np.random.Generator(np.random.PCG64(seed))

    def seed(self, seed: int) -> None:
        """Take the seed of the next episode."""
        self._seeds = [self._seed, seed]

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        """Forget what was typed in the episode before."""
        self._typed.clear()
        task = info["task_id"].encode("utf-8", "surrogatepass")
        self._rng = np.random.Generator(np.random.PCG64([*self._seeds, *task]))

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Choose an action; nothing where none is on offer."""
        offered = list(info["admissible_actions"])
        if not self._again:
            offered = [action for action in offered if action not in self._typed] or offered
        action = str(self._choose(offered, self._rng)) if offered else ""
        self._typed.add(action)
        return action


class ConstantPolicy:
    """Type one text, whatever happens.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the text."""
        return self._text


def is_yardstick(name: object) -> bool:
    """Return whether a name is that of a floor or a ceiling: random, a blind policy, the expert."""
    return name in ("random", "oracle", "demonstrator") or (
        isinstance(name, str) and _BLIND_NAME.fullmatch(name) is not None
    )


def blind_policy(name: str, seed: int = 0) -> BlindPolicy:
    """Make a blind policy that needs no fit.

    Args:
        name: One of `UNFITTED`.
        seed: Seed of what it draws.

    Raises:
        ConfigurationError: There is no such policy.
    """
    if name not in UNFITTED:
        raise ConfigurationError(f"expected one of {', '.join(UNFITTED)}; got {name!r}")
    rule = name.removeprefix("blind-")
    return BlindPolicy(RULES[rule.removesuffix("-new")], again=not rule.endswith("-new"), seed=seed)


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
    # Verbs that were never on offer stand behind all that were.
    places = {word: place for place, word in enumerate(rank_verbs(episodes))}
    return BlindPolicy(
        lambda actions, rng: min(actions, key=lambda a: places.get(verb(a), len(places))),
        again=False,
    )


def rank_verbs(episodes: Iterable[Sequence[Turn]]) -> list[str]:
    """Rank the verbs of episodes by how often they were typed when they were on offer.

    Verbs that were typed equally often stand by the alphabet.
    """
    offered, chosen = Counter[str](), Counter[str]()
    for episode in episodes:
        typed = set[str]()
        for actions, action in episode:
            offered.update({verb(entry) for entry in actions if entry not in typed})
            chosen[verb(action)] += 1
            typed.add(action)
    return sorted(offered, key=lambda word: (-chosen[word] / offered[word], word))


def verb(action: str) -> str:
    """Return the first word of an action.

    Other grammars than the native one put words of their own before it; all their actions have the
    same verb.
    """
    found = _VERB.search(action)
    return found[0].lower() if found else ""


def _commonest_end(episodes: Iterable[Sequence[Turn]]) -> str:
    """Return the action that ended most episodes; of equally frequent ones the alphabet's first."""
    ends = Counter(episode[-1][1] for episode in episodes if episode)
    return min(ends, key=lambda action: (-ends[action], action), default="")
