"""A ladder of SWE policies that know more and more, as JSON: do the tasks tell them apart?

* ``idle`` submits at once;
* ``blind-mutation`` searches for a token and never reads the issue;
* ``developer`` and ``oracle`` know the solution; the first also runs the tests and looks.

They play a random sample of the bundled tasks as they are (the tests that decide held back), the
same tasks with these tests in sight, and the tasks of one token each. Each is counted in all, by
difficulty and by kind. The search depends on how fast the machine is: every command has 30 s.

Every episode is written to ``--log`` as it ends, and a run that was cut off goes on there.

Usage:
    python benchmarks/swe_ladder.py --log ladder.jsonl [--n 60] [--sets default in-sight tokens]
        [--policies idle blind-mutation developer oracle] [--turns 6]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from provenance import to_json

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentgym.envs.swe.env import SWEEnv
from agentgym.evaluation.policy_names import load_policy
from agentgym.policies import ConstantPolicy
from agentgym.support.random_stream import Stream
from agentgym.support.statistics import wilson_ci95

SETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "in-sight": {"hidden_tests": False},
    "tokens": {"data": "bundled-tokens"},
}
"""Name of a set -> arguments of ``gym.make``."""
POLICIES = ("idle", "blind-mutation", "developer", "oracle")
SEED = 0
BEST_SHARE = 0.10
"""What a blind search may win of the tasks as they are."""
Row = Mapping[str, Any]


def chosen(env: SWEEnv, n: int, name: str) -> list[tuple[str, int]]:
    """Draw tasks of all splits."""
    tasks = env.tasks
    every = [(split, index) for split in tasks.splits for index in range(tasks.len(split))]
    drawn = "bundled" if name != "tokens" else name  # the same tasks hidden and in sight
    return Stream("swe ladder", drawn, SEED).sample(every, min(n, len(every)))


def play(env: SWEEnv, policy: str, split: str, index: int, turns: int | None) -> dict[str, Any]:
    """Play an episode."""
    made: Any = ConstantPolicy("```submit\n```")
    if policy == "blind-mutation":
        made = load_policy(policy, env)(env)
    options = {"split": split, "index": index, **({"horizon": turns} if turns else {})}
    observation, info = env.reset(options=options)
    while not info["stop_reason"]:
        known = policy in ("developer", "oracle")
        action = env.oracle_action() if known else made.act(observation, info)
        observation, _, _, _, info = env.step(str(action))
    facts = env.session.instance.details
    return {
        "task": env.session.instance.id,
        "kind": facts["kind"] if "difficulty" in facts else "one token",
        "difficulty": facts.get("difficulty", ""),
        "success": bool(info["success"]),
        "turns": info["turn"],
        "stop_reason": info["stop_reason"],
    }


def counted(rows: Sequence[Row]) -> dict[str, Any]:
    """Count what was solved."""
    solved = sum(row["success"] for row in rows)
    share, low, high = wilson_ci95(solved, len(rows))
    return {"n": len(rows), "solved": solved, "success": share, "success_ci95": [low, high]}


def by(rows: Sequence[Row], key: str) -> dict[str, Any]:
    """Count what was solved of each difficulty, or of each kind."""
    return {
        value: counted([row for row in rows if row[key] == value])
        for value in sorted({row[key] for row in rows} - {""})
    }


def measure(arguments: argparse.Namespace) -> Iterable[Row]:
    """Play what is missing in the log; return all of it."""
    log: Path = arguments.log
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    known = {(row["set"], row["policy"], row["task"]) for row in rows}
    for name in arguments.sets:
        for policy in arguments.policies:
            expert = policy if policy in ("developer", "oracle") else "oracle"
            env = SWEEnv(**SETS[name], expert=expert)
            for split, index in chosen(env, arguments.n, name):
                task = env.tasks.instances.instance(split, index).id
                if (name, policy, task) not in known:
                    row = play(env, policy, split, index, arguments.turns)
                    rows.append({"set": name, "policy": policy, **row})
                    with log.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(rows[-1]) + "\n")
            env.close()
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--turns", type=int)
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=tuple(SETS))
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=POLICIES)
    rows = [*measure(parser.parse_args())]
    result: dict[str, Any] = {"seed": SEED}
    for name in SETS:
        mine = {p: [r for r in rows if (r["set"], r["policy"]) == (name, p)] for p in POLICIES}
        result[name] = {
            policy: {
                **counted(played),
                "difficulty": by(played, "difficulty"),
                "kind": by(played, "kind"),
            }
            for policy, played in mine.items()
            if played
        }
    print(to_json(result))
    blind = result["default"].get("blind-mutation")
    if blind and blind["success"] > BEST_SHARE:
        sys.exit(f"the bar is missed: a blind search wins {blind['success']:.2f}")


if __name__ == "__main__":
    main()
