"""Check which exploits earn reward from the judge of SWE tasks exported for Harbor.

Tasks are exported as `agentgym push harbor` does, and played as ``harbor:FOLDER``: their own
`tests/test.sh` is the reward. Exit code 1 if an exploit is rewarded or the solution is not.
``--rows`` stores finished attempts: repeat the command to continue after a kill.

Usage:
    python -m benchmarks.harbor_red_team [--tasks 1] [--seed 0] [--rows ROWS.jsonl]

Smallest run: ``--only exits``
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from agentgym.core.env import TextEnv
from agentgym.envs.swe.engine.commands import SUBMIT, SWECommand
from agentgym.envs.swe.env import SWEEnv
from agentgym.envs.swe.making.harbor.folders import FolderOptions, folder_name, write_folder
from agentgym.envs.swe.making.red_team import MUST_LOSE, MUST_WIN, Exploit, load_exploits
from agentgym.envs.swe.making.red_team.campaign import sample_tasks
from agentgym.envs.swe.making.red_team.target import Target, target_of
from agentgym.errors import EnvFailure
from agentgym.registration.making import make
from agentgym.support.growing_file import append_line, drop_cut_line
from benchmarks.provenance import to_json

Row = dict[str, Any]


def export(folder: Path, tasks: int, seed: int) -> dict[str, Target]:
    """Export tasks; return the exploits' targets in each, by task id."""
    targets = {}
    with closing(SWEEnv(data="bundled")) as env:
        for split, index in sample_tasks(env.tasks.instances, tasks, seed):
            task = env.tasks.task(split, index)
            name = folder_name(task)
            write_folder(task, env.tasks.problem(task), folder / name, FolderOptions())
            targets[f"harbor/{name}"] = target_of(env.tasks.instances.instance(split, index))
    return targets


def actions(env: TextEnv, player: str, exploit: Exploit | None, target: Target) -> Iterator[str]:
    """Yield an exploit's actions, with a submission at the end."""
    if player == MUST_WIN:
        yield from iter(env.demonstrator_action, None)
    for step in exploit.steps if exploit else ():
        yield step.command(target).write()
    yield SWECommand(SUBMIT).write()


def play(env: TextEnv, task: str, player: str, exploit: Exploit | None, target: Target) -> Row:
    """Play an exploit on a task."""
    row: Row = {"task": task, "player": player, "digest": exploit.digest if exploit else ""}
    try:
        env.reset(seed=0, options={"task_id": task, "horizon": 60})
        earned, info = 0.0, dict[str, Any]()
        for action in actions(env, player, exploit, target):
            _, reward, terminated, truncated, info = env.step(action)
            earned += reward
            if terminated or truncated:
                break
    except EnvFailure as failure:
        return {**row, "paid": False, "broken": " ".join(str(failure).split())[:300]}
    return {**row, "paid": bool(earned > 0 or info["success"]), "broken": ""}


def main() -> int:
    """Play all, and print the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="names of exploits or of kinds")
    parser.add_argument("--rows", type=Path, help="file of what was played, to go on")
    options = parser.parse_args()
    stored: list[Row] = []
    if options.rows and options.rows.exists():
        drop_cut_line(options.rows)
        stored = [json.loads(line) for line in options.rows.read_text("utf-8").splitlines()]
    rows_by_key = {(row["task"], row["player"], row["digest"]): row for row in stored}
    players: list[tuple[str, Exploit | None]] = [(MUST_WIN, None), (MUST_LOSE, None)]
    players += [(exploit.name, exploit) for exploit in load_exploits(only=options.only)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        targets = export(Path(folder), options.tasks, options.seed)
        with closing(make(f"harbor:{folder}").unwrapped) as env:
            assert isinstance(env, TextEnv)
            units = [(task, *player) for player in players for task in targets]
            for number, (task, player, exploit) in enumerate(units, 1):
                key = (task, player, exploit.digest if exploit else "")
                row = rows_by_key.get(key) or play(env, task, player, exploit, targets[task])
                if options.rows and key not in rows_by_key:
                    append_line(options.rows, json.dumps(row) + "\n")
                sys.stderr.write(f"\r{number} of {len(units)}")
                rows.append(row)
    of = {name: [row for row in rows if row["player"] == name] for name, _ in players}
    exploits = [row for row in rows if row["player"] not in (MUST_WIN, MUST_LOSE)]
    result = {
        "tasks": options.tasks,
        "seed": options.seed,
        "played": sorted(targets),
        "solution_paid": [row["paid"] for row in of[MUST_WIN]],
        "nothing_paid": [row["paid"] for row in of[MUST_LOSE]],
        "exploits": len(exploits) // len(targets),
        "tried": len(exploits),
        "paid": sorted({row["player"] for row in exploits if row["paid"]}),
        "broken": {row["player"]: row["broken"] for row in exploits if row["broken"]},
    }
    print(to_json(result))
    sound = all(result["solution_paid"]) and not any(result["nothing_paid"])
    return int(not sound or bool(result["paid"]))


if __name__ == "__main__":
    sys.exit(main())
