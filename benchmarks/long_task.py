"""Play a task of 60 turns in 2,048 tokens: cut short, with a window, notes, or summaries.

Kitchens of ALFWorld with 48 places, and two things to find. A player that looks at random finds
both after about 60 turns, if it remembers where it has looked. The player is no model but a program
that is given the ids of its prompt and nothing else. Its answers are split into smaller tokens than
SmolLM2's tokenizer would choose, as models sometimes sample them.

For each episode the ids of the training rows are compared with those that the player read and
wrote: everything before each answer, and the trained ids in their order.

Usage: ``python benchmarks/long_task.py``. Prints JSON.

Smallest run: ``--tasks 1 --seeds 0``
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from statistics import fmean
from typing import Any, cast

import gymnasium
from provenance import to_json
from token_exactness import Recorder, Writer, decode, load_tokenizer, name_of

import agentgym  # noqa: F401 - registers the environments
from agentgym.conversation import BARE, Prompt
from agentgym.core.summaries import DEMAND, SUMMARISE
from agentgym.support.random_stream import Stream
from agentgym.vector import TextVectorEnv
from trainers.output.seed_summary import spread
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import GenerationEngine, Request
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import Trajectory, to_rows

WINDOW, UNBOUNDED = 2048, 32_768
"""Maximum tokens of a prompt with its answer."""
HORIZON, PLACES, SLOTS = 100, 48, 10
TURN_TOKENS, MIN_TURN_TOKENS = 400, 24
"""Maximum tokens of an answer, as a summary needs them, and the minimum, as an action does."""
HOUSES = {"task_types": ["two"], "rooms": ["Kitchen"], "receptacles": PLACES}
SYSTEM = "You are in a house. Answer with one command."

MESSAGE = re.compile(r"<\|im_start\|>(\w+)\n(.*?)(?:<\|im_end\|>|$)", re.DOTALL)
GOAL = re.compile(r"(?:put|find) two (\w+) (?:in|and put them in) (\w+)")
ITEM = re.compile(r"\ban? (\w+ \d+)")
CLOSED = re.compile(r"The (\w+ \d+) is closed\.")
CONTENTS = re.compile(r"(?:On the|The) (\w+ \d+)(?: is open\. In it)?, you see ([^.]*)\.")
PLACE = re.compile(r"You arrive at (\w+ \d+)\.")
MOVED = re.compile(r"You (pick up|move) the (\w+ \d+) (?:from|to) the (\w+ \d+)")
SEARCHED = re.compile(r"searched ([^;]*);")
SEEN = re.compile(r"(\w+ \d+) in (hand|\w+ \d+)")
HAND = "hand"
"""Where an item is that the player carries, in its own words."""


@dataclass(frozen=True)
class Arm:
    """What the player can read again, and how."""

    context: int = WINDOW
    """Maximum tokens of a prompt with its answer."""
    window: int | None = None
    """Turns that a prompt shows besides the first observation; None: all."""
    extensions: Mapping[str, int] = field(default_factory=dict)
    """Arguments of the environment."""
    note_after: int | None = None
    """Turns after which the player writes a note and reads it; None: never."""
    summarise_from: int | None = None
    """Tokens of a prompt from which the player summarises on its own; None: if it has to."""


ARMS = {
    "all turns, 32,768 tokens": Arm(UNBOUNDED),
    "all turns": Arm(),
    "`--window 30`": Arm(window=30),
    "`--window 15`": Arm(window=15),
    # Before the window drops the last note.
    "`--window 15`, `notes=1`": Arm(window=15, extensions={"notes": 1}, note_after=12),
    "`summary_every=15`": Arm(extensions={"summary_every": 15}),
    # Which the loop demands only after more turns than there are.
    "own summaries": Arm(extensions={"summary_every": HORIZON + 1}, summarise_from=1500),
}
"""Name on the page -> arm."""


def main() -> None:
    """Play each arm with each seed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=30, help="tasks, from the test split")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    tokenizer = load_tokenizer("smollm2", None)
    tasks = large_houses(options.tasks)
    arms = {name: measure(arm, tokenizer, tasks, options.seeds) for name, arm in ARMS.items()}
    fixed = {"horizon": HORIZON, "window_tokens": WINDOW, "places": PLACES}
    print(to_json({"seeds": options.seeds, "tasks": len(tasks), **fixed, "arms": arms}))


def make_house(arguments: Mapping[str, Any]) -> gymnasium.Env[str, str]:
    """Return an environment of large kitchens."""
    return gymnasium.make("agentgym/ALFWorld-v0", difficulty=HOUSES, horizon=HORIZON, **arguments)


def large_houses(count: int) -> list[dict[str, Any]]:
    """Return the first tasks of the test split whose kitchen has all places."""
    env, tasks = make_house({}), []
    for index in range(env.unwrapped.tasks.size("test")):  # type: ignore[attr-defined]
        task = {"split": "test", "index": index}
        if len(ITEM.findall(env.reset(options=task)[0])) >= PLACES:
            tasks.append(task)
        if len(tasks) == count:
            break
    env.close()
    return tasks


# -- the player ------------------------------------------------------------------------------------


class Memory:
    """What the text of a prompt says: nothing else is known.

    Args:
        prompt: The text, in the template of SmolLM2.
    """

    def __init__(self, prompt: str) -> None:
        messages = [(role, text) for role, text in MESSAGE.findall(prompt) if role != "system"]
        opening = messages[0][1]
        self.places = ITEM.findall(opening)
        self.wanted, kind = GOAL.findall(opening)[0]
        self.destination = next(place for place in self.places if place.split()[0] == kind)
        self.searched: dict[str, None] = {}
        self.seen: dict[str, str] = {}
        self.closed: set[str] = set()
        self.held, self.place, self.newest = "", "", opening
        self.turns_since_notes = 0
        for role, text in messages[1:]:
            if role == "assistant":
                self.turns_since_notes += 1
                if text.startswith(SUMMARISE):
                    self._remember(text)
            else:
                self._read(text)

    def _read(self, text: str) -> None:
        """Read an observation."""
        self.newest = text
        if text.startswith("your notes:"):
            self.turns_since_notes = 0
            self._remember(text)
        for place in PLACE.findall(text):
            self.place = place
        self.closed.update(CLOSED.findall(text))
        for place, items in CONTENTS.findall(text):
            self.closed.discard(place)
            self.place, self.searched[place] = place, None
            self.seen.update(dict.fromkeys(self._wanted_in(items), place))
        for verb, item, place in MOVED.findall(text):
            self.place = place
            self.held = item if verb == "pick up" else ""
            self.seen[item] = HAND if self.held else place

    def _wanted_in(self, items: str) -> list[str]:
        """Return the wanted ones of some items."""
        return [item for item in ITEM.findall(items) if item.split()[0] == self.wanted]

    def _remember(self, words: str) -> None:
        """Read words that `words` wrote."""
        for groups in SEARCHED.findall(words):
            for group in groups.split(", "):
                kind, *numbers = group.split()
                self.searched.update({f"{kind} {number}": None for number in numbers})
        self.seen.update(SEEN.findall(words))
        self.held = next((item for item, place in self.seen.items() if place == HAND), "")

    def words(self) -> str:
        """Return all of it in few words."""
        numbers: dict[str, list[str]] = {}
        for place in self.searched:
            kind, number = place.split()
            numbers.setdefault(kind, []).append(number)
        groups = ", ".join(" ".join([kind, *counted]) for kind, counted in numbers.items())
        sightings = ", ".join(f"{item} in {place}" for item, place in self.seen.items())
        return f"searched {groups}; {sightings}"

    def next_action(self, stream: Stream) -> str:
        """Return what to do in the house."""
        is_closed = self.place in self.closed
        elsewhere = [
            item for item, place in self.seen.items() if place not in (HAND, self.destination)
        ]
        if self.held:
            goal, action = self.destination, f"move {self.held} to {self.destination}"
        elif elsewhere:
            goal = self.seen[elsewhere[0]]
            action = f"take {elsewhere[0]} from {goal}"
        elif is_closed:
            goal, action = self.place, ""
        else:
            unknown = [place for place in self.places if place not in self.searched]
            goal, action = stream.choice(unknown or self.places), ""
        if self.place != goal or not (is_closed or action):
            return f"go to {goal}"
        return f"open {goal}" if is_closed else action


@dataclass
class Player(Writer):
    """Answers what the text of the prompt, decoded from its ids, makes it answer."""

    arm: Arm = field(default_factory=Arm)

    def text(self, request: Request, stream: Stream) -> str:
        """Return the answer to a prompt."""
        memory = Memory(decode(self.tokenizer, request.prompt))
        longest, turns = self.arm.summarise_from, self.arm.note_after
        if DEMAND in memory.newest or (longest is not None and len(request.prompt) >= longest):
            return f"{SUMMARISE} {memory.words()}"
        if memory.newest.startswith("noted:"):
            return "recall"
        if turns is not None and memory.turns_since_notes >= turns:
            return f"note {memory.words()}"
        return memory.next_action(stream)


# -- measuring -------------------------------------------------------------------------------------


def measure(
    arm: Arm, tokenizer: Any, tasks: Sequence[Mapping[str, Any]], seeds: Sequence[int]
) -> dict[str, Any]:
    """Return the success of an arm over seeds, what it took, and how many ids differ."""
    engine = Recorder(Player(tokenizer, split=True, arm=arm))
    envs = TextVectorEnv([partial(make_house, arm.extensions)] * min(SLOTS, len(tasks)))
    runner = RolloutRunner(
        envs, TurnTokenizer(tokenizer), cast("GenerationEngine", engine),
        TokenBudget(TURN_TOKENS, UNBOUNDED, arm.context, MIN_TURN_TOKENS),
        prompt=Prompt(BARE, instructions=SYSTEM).windowed(arm.window),
    )  # fmt: skip
    success: dict[int, list[bool]] = {seed: [] for seed in seeds}
    rows: list[dict[str, Any]] = []
    for seed in seeds:
        for episode, prompts in play(runner, engine, tasks, seed):
            success[seed].append(episode.success)
            rows.append(describe(episode, prompts))
    envs.close()
    return {
        "success": spread([fmean(solved) for solved in success.values()], (0.0, 1.0)),
        **{name: fmean(row[name] for row in rows) for name in ("turns", "rows", "row_tokens")},
        "longest_prompt": max(row["longest_prompt"] for row in rows),
        "stop_reasons": dict(sorted(Counter(row["stop_reason"] for row in rows).items())),
        **{name: sum(row[name] for row in rows) for name in ("turns_compared", "ids_differing")},
    }


def play(
    runner: RolloutRunner, engine: Recorder, tasks: Sequence[Mapping[str, Any]], seed: int
) -> Iterator[tuple[Trajectory, list[list[int]]]]:
    """Yield each episode with the prompts that the engine was given."""
    slots = runner.envs.num_envs
    for first in range(0, len(tasks), slots):
        engine.turns.clear()  # a slot plays one episode a call
        episodes = runner.run(tasks[first : first + slots], seed=seed, first_episode=first)
        by_name = {name_of(turns): turns for turns in engine.turns.values()}
        for episode in episodes:
            opening = episode.turns[0].context
            name = (*opening, *(token for turn in episode.turns for token in turn.ids))
            yield episode, [prompt for prompt, _ in by_name[name]]


def describe(episode: Trajectory, prompts: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the figures of an episode, and how many ids of its rows nobody read or sampled."""
    rows = to_rows([episode])
    read_and_sampled = [
        [*prompt, *turn.ids] for prompt, turn in zip(prompts, episode.turns, strict=True)
    ]
    differing, number = 0, -1
    for turn, ids in zip(episode.turns, read_and_sampled, strict=True):
        number += turn.fresh
        differing += count_differing(rows[number].ids[: len(ids)], ids)
    trained = [i for row in rows for i, mask in zip(row.ids, row.mask, strict=True) if mask]
    differing += count_differing(trained, [i for turn in episode.turns for i in turn.ids])
    return {
        "turns": len(episode.turns),
        "rows": len(rows),
        "row_tokens": sum(len(row.ids) for row in rows),
        "longest_prompt": max(map(len, prompts)),
        "stop_reason": episode.stop_reason,
        "turns_compared": len(prompts),
        "ids_differing": differing,
    }


def count_differing(ids: Sequence[int], others: Sequence[int]) -> int:
    """Return the number of places at which two lists of ids differ."""
    return sum(left != right for left, right in zip_longest(ids, others))


if __name__ == "__main__":
    main()
