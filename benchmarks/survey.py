"""Certify public environments of other projects, each project in an environment of its own.

Versions are pinned; packages come from the package index, and nothing else is fetched. A row has
the verdicts and, for each check that failed, what that means in words: no text that an environment
pays or stumbles over is stored. The time of an environment is short, so that all of them take less
than half an hour; a check that does not fit is counted as not run.

Usage:
    python -m benchmarks.survey --rows ROWS.jsonl [--projects gem textarena] [--venvs FOLDER]
        [--seconds 60]

Rows that are in the file are not made again, so the command resumes. Smallest run:
``--projects gymnasium``
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from agentgym.certification import CHECKS, Status
from agentgym.support.growing_file import append_line, drop_cut_line
from benchmarks.provenance import ROOT, to_json

PORT = 8765
"""Port of the server of OpenEnv's template."""
ECHO = "echo"
"""Name of that environment."""
LEFT_OUT = ("training_signal", "immutable_version", "cross_host", "other_python", "openenv")
"""Checks that take minutes, or need more than the environment and its package."""


@dataclass(frozen=True)
class Project:
    """A project and the environments of it that are certified."""

    package: str
    """Its package on the index."""
    version: str
    """Version of the package."""
    envs: tuple[str, ...]
    """Names of the environments."""
    more: tuple[str, ...] = ()
    """Further requirements."""
    tasks: int = 24
    """Number of tasks."""
    kwargs: tuple[str, ...] = ()
    """Arguments of its environments."""


def _project(package: str, version: str, prefix: str, *names: str, **more: Any) -> Project:
    return Project(package, version, tuple(f"{prefix}{name}" for name in names), **more)


PROJECTS: Mapping[str, Project] = {
    "gymnasium": _project(
        "gymnasium", "1.4.0", "gymnasium:", "FrozenLake-v1", "Blackjack-v1", "CliffWalking-v1"
    ),
    "popgym": _project(
        "popgym", "1.0.7", "gymnasium:popgym:popgym-",
        "RepeatFirstEasy-v0", "MultiarmedBanditEasy-v0", "HigherLowerEasy-v0",
    ),
    "gem": _project(
        "gem-llm", "0.1.0", "gem:game:", "GuessTheNumber-v0-easy", "Mastermind-v0-easy",
        "FifteenPuzzle-v0-easy", "Sudoku-v0-easy", tasks=12,
    ),
    "textarena": _project(
        "textarena", "0.7.4", "textarena:", "GuessTheNumber-v0", "TowerOfHanoi-v0",
        "FrozenLake-v0", "Minesweeper-v0", "Secretary-v0", tasks=12,
    ),
    "reasoning-gym": _project(
        "reasoning-gym", "0.1.25", "reasoning-gym:", "leg_counting", "knights_knaves",
        "ransom_note", "game_of_life_halting", "spell_backward",
    ),
    "skyrl": _project(
        "skyrl-gym", "0.4.0", "benchmarks.skyrl_questions:skyrl/",
        "gsm8k-v0", "gsm8k_multi_turn-v0", "aime-v0",
    ),
    "inspect": _project(
        "inspect-ai", "0.3.285", "inspect:benchmarks/inspect_sample.py@", "popularity",
        kwargs=("deal=true",),
    ),
    "openenv": _project(
        "openenv", "0.10.0", "openenv:", f"http://127.0.0.1:{PORT}", more=("websockets",)
    ),
    "scienceworld": _project(
        "scienceworld", "1.2.3", "scienceworld:", "find-animal", tasks=3,
        kwargs=("list_actions=false",),
    ),
}  # fmt: skip
"""The projects, by their prefix."""
WORDS: Mapping[str, str] = {
    "unique_ids": "ids name several tasks",
    "disjoint_splits": "tasks of two splits are equal",
    "near_duplicates": "tasks of two splits are nearly equal",
    "seed_control": "seeds do not decide how an episode begins",
    "expert": "its own solution is not always paid in full",
    "idle": "doing nothing is paid or fails",
    "again": "an episode changes when it is played again",
    "other_order": "earlier episodes change an episode",
    "interleaved": "two environments of a process change each other",
    "abandoned": "an unfinished episode changes the next",
    "other_randomness": "global random numbers change an episode",
    "process": "an episode changes in another process",
    "hash_seed": "Python's hash seed changes an episode",
    "replays": "records do not replay exactly",
    "rescores": "rewards change when they are computed again",
    "forks": "forks change an episode",
    "worthless_answers": "texts that answer nothing are paid",
    "unbroken": "texts raise errors",
    "bounded_memory": "memory grows with episodes",
    "closed": "closing leaves threads, processes or files",
    "timing": "the time of an answer tells whether it is right",
    "transcriber": "copying words of the task solves more than a quarter",
    "task_ids": "choosing by the id solves more than a quarter",
    "blind": "a policy that reads nothing solves more than a quarter",
    "adversarial_floor": "a policy that does not do the task solves more than a quarter",
    "gameability_gap": "such a policy comes near to the solution",
    "headroom": "weak policies leave little room",
    "reward_reachability": "no policy but the expert met a reward",
    "difficulty_separation": "three strengths are not told apart",
    "reward_variance": "returns hardly vary within a task",
    "http": "an episode changes through HTTP",
    "mcp": "an episode changes through MCP",
}
"""What a failed check means, in words."""


def certify_all(options: argparse.Namespace, folder: Path) -> None:
    """Certify what has no row yet, one environment after the other."""
    done = {row["env"] for row in read_rows(options.rows)}
    for prefix in options.projects:
        project = PROJECTS[prefix]
        if missing := [env for env in project.envs if env not in done]:
            python = install(folder / prefix, project)
            with served(python, folder) if prefix == "openenv" else nullcontext():
                for env in missing:
                    row = certify(python, env, project, options.seconds)
                    append_line(options.rows, json.dumps(row) + "\n")
                    print(env, row["counts"], *row["failed"], file=sys.stderr, flush=True)


def install(place: Path, project: Project) -> str:
    """Return the Python of a virtual environment with the project and this checkout."""
    python = str(place / "bin" / "python")
    if not Path(python).exists():
        venv.create(place, with_pip=True)
    wanted = [f"{project.package}=={project.version}", *project.more, "-e", f"{ROOT}[serve]"]
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *wanted], check=True, stdout=sys.stderr)
    return python


def certify(python: str, env: str, project: Project, seconds: float) -> dict[str, Any]:
    """Certify an environment; return what is stored of it."""
    checks = [name for name in CHECKS if name not in LEFT_OUT]
    arguments = ["--num-tasks", f"{project.tasks}", "--seconds", f"{seconds}", "--json"]
    arguments += ["--env-kwargs", *project.kwargs] if project.kwargs else []
    start = time.monotonic()
    process = subprocess.run(
        [python, "-m", "agentgym", "certify", env, *arguments, "--checks", *checks],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    if process.returncode not in (0, 1):
        raise SystemExit(f"{env} was not certified: {process.stderr[-2000:]}")
    certificate = json.loads(process.stdout)
    by_status = {
        status.value: {r["check"]: r["n"] for r in certificate["results"] if r["status"] == status}
        for status in Status
    }
    return {
        "project": project.package,
        "version": project.version,
        "env": env,
        "tasks": sum(certificate["settings"]["counts"].values()),
        "panel_sha256": certificate["panel_sha256"],
        "counts": {status: len(checks) for status, checks in by_status.items()},
        "failed": {
            name: {"n": n, "words": WORDS[name]} for name, n in by_status[Status.FAIL.value].items()
        },
        "not_applicable": [*by_status[Status.NOT_APPLICABLE.value]],
        "not_run": [*by_status[Status.NOT_RUN.value]],
        "seconds": round(time.monotonic() - start),
    }


@contextmanager
def served(python: str, folder: Path) -> Iterator[None]:
    """Serve the environment that ``openenv init`` writes, which is its example."""
    if not (folder / ECHO).exists():
        command = [str(Path(python).with_name("openenv")), "init", ECHO, "--output-dir", "."]
        subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)
    serve = [python, "-m", "uvicorn", "server.app:app", "--port", f"{PORT}", "--log-level", "error"]
    with subprocess.Popen(
        serve, cwd=folder / ECHO, stdout=sys.stderr, env={**os.environ, "PYTHONPATH": "."}
    ) as server:
        try:
            for _ in range(600):
                try:
                    urlopen(f"http://127.0.0.1:{PORT}/health", timeout=5).close()
                    break
                except URLError:
                    time.sleep(0.1)
            yield
        finally:
            server.terminate()


def read_rows(file: Path) -> list[dict[str, Any]]:
    """Return the finished rows."""
    drop_cut_line(file)
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def main() -> None:
    """Print the result as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=Path, default=Path("survey.jsonl"), help="finished rows")
    parser.add_argument("--projects", nargs="+", default=[*PROJECTS], choices=[*PROJECTS])
    parser.add_argument("--venvs", type=Path, help="folder that keeps the virtual environments")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each environment")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.venvs or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        certify_all(options, folder)
    rows = read_rows(options.rows)
    checks = Counter(name for row in rows for name in row["failed"])
    print(to_json({"seed": 0, "rows": rows, "failed_by_check": dict(checks)}))


if __name__ == "__main__":
    main()
