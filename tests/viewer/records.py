"""Episodes for the viewer: a plain one, any number of them, and one made of hostile text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentgym.episodes import Episode, RecordedState, Turn

HOSTILE = (
    "<script>window.owned = 1</script>",
    "</script><script>window.owned = 1</script>",
    "<!--<script>",
    "--> ]]> <![CDATA[",
    "<img src=x onerror='window.owned = 1'>",
    '"><svg onload=window.owned=1>',
    "javascript:window.owned=1",
    "<a href='javascript:window.owned=1'>click</a>",
    "{{data}} {{script}} ${window.owned = 1} `window.owned`",
    "line\u2028separator\u2029end",
    "lone \ud800 and \udfff surrogates",
    "bidi \u202e override \u2066 isolate",
    "NUL \x00 bell \x07 escape \x1b[31m",
    "tags \U000e0041\U000e0042, zero\u200bwidth, 😀",
    "&lt;b&gt; &amp; \\u003cscript\\u003e \\",
    "__proto__",
)


def turn(number: int, **changes: Any) -> Turn:
    base = Turn(
        action=f"go {number}",
        executed=f"go {number}",
        after=RecordedState(
            f"This is room {number}.", min(1.0, number / 4), number / 10, f"k{number}", 3
        ),
        reward=0.25,
        reward_terms={"task": 0.3, "turn_cost": -0.05},
        action_valid=True,
        success=False,
        terminated=False,
        truncated=False,
        prompt_tokens=100 + number,
        completion_tokens=10,
    )  # fmt: skip
    return replace(base, **changes)


def episode(task: str = "toy/1", turns: int | Iterable[Turn] = 3, **changes: Any) -> Episode:
    all_turns = (
        tuple(turn(i) for i in range(1, turns + 1)) if isinstance(turns, int) else tuple(turns)
    )  # fmt: skip
    base = Episode(
        env_id="agentgym/Toy-v0",
        env_kwargs={"difficulty": "easy"},
        task_id=task,
        split="test",
        goal=f"find the way of {task}",
        seed=1,
        rng=None,
        options={"task_id": task},
        start=RecordedState("You are at the door.", 0.0, 0.0, "k0", 4),
        turns=all_turns,
        stop_reason="horizon",
        policy="chat",
        packages={"python": "3.11"},
    )
    return replace(base, **changes)


def hostile() -> Episode:
    """Return an episode in which every text of a record is hostile."""
    turns = [
        turn(
            i, action=bad, executed=bad, raw_text=f"<think>{bad}</think>{bad}", reasoning=bad,
            after=RecordedState(bad, 0.5, 0.0, bad, None), reward_terms={bad: 0.25},
            finish_reason=bad, reason=bad,
        )
        for i, bad in enumerate(HOSTILE, 1)
    ]  # fmt: skip
    everything = "\n".join(HOSTILE)
    return episode(
        everything, turns, env_id=everything, goal=everything, split=everything, policy=everything,
        stop_reason="error", start=RecordedState(everything, 0.0, 0.0, everything, None),
        details={bad: {bad: bad} for bad in HOSTILE} | {"error": everything},
        options={"task_id": everything}, extra={everything: everything},
    )  # fmt: skip


def make_episodes(count: int, turns: int = 6) -> Iterable[Episode]:
    """Yield episodes of different ends and lengths."""
    ends = ("success", "horizon", "failure", "error")
    for i in range(count):
        solved = ends[i % 4] == "success"
        length = 1 + i % turns
        earlier = [turn(k, action_valid=(i + k) % 5 > 0) for k in range(1, length)]
        last = turn(length, success=solved, terminated=solved)
        yield episode(f"toy/{i}", [*earlier, last], stop_reason=ends[i % 4], seed=i)


def write(path: Path, episodes: Iterable[Episode]) -> Path:
    with path.open("w") as file:
        file.writelines(record.to_line() for record in episodes)
    return path
