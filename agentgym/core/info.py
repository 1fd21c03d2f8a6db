"""The info dict of a turn, whose values are computed when they are read.

:class:`Info` is the dict; :data:`ENTRIES` lists the values and the functions that compute them.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache, wraps
from operator import itemgetter
from typing import Any

from agentgym.core.language import Language
from agentgym.core.later import MaybeLater, read
from agentgym.core.outcome import StopReason
from agentgym.core.tasks import Task
from agentgym.errors import EnvFailure

WHOLE = (
    "__delitem__", "__eq__", "__iter__", "__len__", "__ne__", "__or__", "__repr__", "__reversed__",
    "__ror__", "clear", "copy", "items", "keys", "pop", "popitem", "setdefault", "values",
)  # fmt: skip
"""Methods of dict that need all values or keys, so `Info` first computes those still missing."""


class Info(dict[str, Any]):
    """A dict that computes some of its values when they are first read.

    A loop that reads only the reward computes nothing else. In all other respects it behaves like
    the dict of all values: length, equality, iteration, merging and encoding. A copy or a pickle of
    it is a plain dict. Construct it by :meth:`of`.
    """

    __slots__ = ("_later", "_source")
    _later: Mapping[str, Callable[[Any], Any]]
    _source: Any

    @staticmethod
    def of(
        values: Mapping[str, Any], later: Mapping[str, Callable[[Any], Any]], source: Any
    ) -> Info:
        """Return the info of a turn.

        Used instead of ``__init__``, which would slow down every turn.

        Args:
            values: Values that are already computed.
            later: For each further key, the function that computes its value from ``source``.
            source: Argument of these functions; must not change, so that values do not depend on
                when they are computed.
        """
        info = Info(values)
        info._later, info._source = later, source
        return info

    def __missing__(self, key: str) -> Any:
        """Compute a value when it is first read."""
        value = self[key] = self._later[key](self._source)
        return value

    def __contains__(self, key: object) -> bool:
        """Return whether there is a value, computed or not."""
        return dict.__contains__(self, key) or key in self._later

    def get(self, key: str, default: Any = None) -> Any:
        """Return one value without computing others."""
        return self[key] if key in self else default  # noqa: SIM401

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the plain dict."""
        return dict, (self.copy(),)

    def names(self) -> Collection[str]:
        """Return the keys in any order, possibly repeated, without computing a value."""
        return *dict.keys(self), *self._later

    def settle(self) -> None:
        """Compute all remaining values; the order of keys is independent of earlier reads."""
        later, self._later = self._later, {}
        for key, compute in later.items():
            # dict.pop, because this class's own pop calls settle. Removing and setting the key
            # puts it in its fixed place in the order, even if it was read early.
            present = dict.__contains__(self, key)
            self[key] = dict.pop(self, key) if present else compute(self._source)


def _settled(name: str) -> Callable[..., Any]:
    """Return a method of dict that first computes the missing values."""
    method = getattr(dict, name)

    @wraps(method)
    def of_all(self: Info, *args: Any, **kwargs: Any) -> Any:
        for argument in (self, *args):  # in a comparison, the other Info may be incomplete, too
            if isinstance(argument, Info) and argument._later:
                argument.settle()
        return method(self, *args, **kwargs)

    return of_all


for _name in WHOLE:
    setattr(Info, _name, _settled(_name))


class Ranks(dict[str, bytes]):
    """The position of each action in ``info["admissible_actions"]``, cached for one task.

    Engines list actions in a systematic order (by object, by verb, as in a game file), which can
    give solutions away. Here actions are ordered by a hash of the task and the action: the order is
    the same on every machine, differs between tasks and reveals nothing.
    """

    SIZE = 4096
    """Maximum number of cached actions."""

    def __init__(self, task_id: str) -> None:
        self._seed = zlib.crc32(task_id.encode("utf-8", "surrogatepass"))

    def __missing__(self, action: str) -> bytes:
        """Compute and cache the sort key of an action; the text after the hash breaks ties."""
        if len(self) >= self.SIZE:
            self.clear()
        text = action.encode("utf-8", "surrogatepass")
        rank = self[action] = zlib.crc32(text, self._seed).to_bytes(4, "big") + text
        return rank


ranks = lru_cache(maxsize=256)(Ranks)
"""The ranks of a task, shared by all environments that play it."""


def shuffled(actions: Iterable[str], task_id: str) -> list[str]:
    """Return the actions of a task in the order of ``info["admissible_actions"]``."""
    return sorted(actions, key=ranks(task_id).__getitem__)


def hashed(state: str) -> str:
    """Hash an engine's state to the 16 hexadecimal digits of ``info["state_key"]``.

    Raises:
        EnvFailure: The state is not text.
    """
    if not isinstance(state, str):
        raise EnvFailure(f"expected _state of the environment to return a str, got {state!r:.80}")
    # surrogatepass: states that differ only in a lone surrogate must get different keys.
    return hashlib.blake2b(state.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


UNKNOWN = -1
"""``info["oracle_turns"]`` where nobody knows it. An int like all others: Gymnasium's vector
environments make an array of each entry, whose type is that of the first value."""
Source = tuple[
    Task, int, int, bool, bool, float, StopReason, MaybeLater[int | None],
    dict[str, Any], str, Language, MaybeLater[Sequence[str]], MaybeLater[str],
]  # fmt: skip
"""The facts of a turn from which its info dict is computed: the task, turns taken, turn budget,
whether the action was valid, whether the task is solved, score, stop reason, remaining turns of the
demonstrator, details, trailing text, language, admissible actions in the native grammar, state.

A plain tuple, because every turn makes one: a NamedTuple takes as long as the rest of `Info.of`.
"""


def _offered(source: Source) -> list[str]:
    """List the admissible actions in the grammar."""
    task, language, admissible = source[0], source[10], read(source[11])
    try:
        actions = shuffled(admissible, task.id)
    except (AttributeError, TypeError):
        raise EnvFailure(
            "expected _admissible of the environment to return a list of actions, each a str, got "
            f"{admissible!r:.80}"
        ) from None
    return actions if language.native else [*map(language.write, actions)]


ENTRIES: Mapping[str, Callable[[Source], Any]] = {
    "task_id": lambda source: source[0].id,
    "split": lambda source: source[0].split,
    "turn": itemgetter(1),
    "horizon": itemgetter(2),
    "action_valid": itemgetter(3),
    "success": itemgetter(4),
    "score": itemgetter(5),
    "stop_reason": lambda source: source[6].value,
    "oracle_turns": lambda source: UNKNOWN if (left := read(source[7])) is None else left,
    "details": itemgetter(8),
    "trailing_text": itemgetter(9),
    "admissible_actions": _offered,
    "state_key": lambda source: hashed(read(source[12])),
}
"""The functions that compute the values of an info dict when they are read. Most loops read few of
them, and filling a dict of fourteen takes a fifth of a turn's time."""
FIRST_ENTRIES: Mapping[str, Callable[[Source], Any]] = {
    **ENTRIES,
    "tools": lambda source: source[10].tools(),
}
"""The values of the info dict of a reset."""

KEYS: Mapping[str, str] = {
    "task_id": "Id of the task, the same on every machine.",
    "split": "Split of the task.",
    "turn": "Turns taken so far; 0 after a reset.",
    "horizon": "Turn budget of the episode.",
    "action_valid": "Whether the last action was parsed and admissible.",
    "admissible_actions": "Actions that would be valid now, in an order that reveals nothing.",
    "trailing_text": "Text after the first complete action of the last answer.",
    "success": "Whether the task is solved.",
    "score": "Progress in [0, 1]; 1 if the task is solved.",
    "stop_reason": (
        "Why the episode ended (success, failure, answer, horizon, error, ...); empty until then."
    ),
    "details": (
        "Facts of the family about the turn, those that are known; `reason` is why an action was "
        "invalid."
    ),
    "reward_terms": "Named parts of the reward, which sum to it.",
    "state_key": "Hash of the state, by which GiGPO groups equal states.",
    "oracle_turns": f"Turns that the demonstrator still needs; {UNKNOWN} if unknown.",
    "oracle_action": "The solver's next action; with `expose_oracle=True`.",
    "goal": "The instruction; at a reset only.",
    "tools": "The actions as OpenAI tools; at a reset only.",
    "agent": "The agent that acts next, `planner` or `worker 1`; with `worker_turns=`.",
    "agent_task": "The task of that agent in words; with `worker_turns=`.",
    "forgets": "Whether the last action was a summary that replaces all turns before it; with "
    "`summary_every=`.",
    "try": "Number of the current try; with `tries=`.",
    "costs": "Costs of the turn and their limits per episode; with hooks that count costs.",
    "verdicts": "Verdicts of judges, or why one is missing; with hooks that ask a model.",
}
"""Every key of ``info``, with its description."""


def known_turns(info: Mapping[str, Any]) -> int | None:
    """Return ``info["oracle_turns"]``, or None where it is not known."""
    turns: int = info["oracle_turns"]
    return None if turns == UNKNOWN else turns
