"""Check that an evaluation that is killed again and again ends as an undisturbed one, and in time.

    python -m benchmarks.killed_evaluation

`agentgym eval --policy chat` plays one-turn and two-turn episodes of Database against a scripted
endpoint, for each back end twice: undisturbed, and killed by SIGKILL after seeded numbers of
episodes and started again by the same command. A tenth of the requests fail: an error, a hang that
the time limit cuts off, half a body (all three pass when they are sent again), an unreadable
action, a content filter, and an error that never passes. The two reports of a back end have to
hold equal rows, and no actor may outlive the evaluation that was killed.

The slowest path is what no schedule can beat: the sum of the seconds that the endpoint takes for
the requests of the undisturbed evaluation, divided by the number of episodes in flight. Waits
before retries, starts and lost work are not part of it, but of the times that are compared with it.
All evaluations run at the same time; those of Ray join a
cluster that lives on.

Smallest run: ``--episodes 200 --kills 2 --latency 0.05`` (misses the bar)
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agentgym.evaluation import EpisodeResult, read_report
from agentgym.support.random_stream import Stream
from benchmarks.endpoints import Reply, completion, serving
from benchmarks.provenance import to_json

BAR = 1.2
"""Maximum time of the killed evaluation, as a multiple of the slowest path."""
TIME_LIMIT = 2.0
"""Seconds after which a request is cut off."""
IN_FLIGHT = 4
MEAN = sum(2.0 ** (step / 10) for step in range(40)) / 40
MARK = "AGENTGYM_KILLED_EVALUATION"
"""Variable by which the processes of an evaluation are known, whoever their parent is."""
FAULTS = ("error", "hang", "half", "garbage", "filter", "lost")
"""Kinds of failures; the first three pass."""
RETRY = b'{"error": {"message": "overloaded"}}'
FILTER = b'{"error": {"message": "flagged", "code": "content_filter"}}'


class Script:
    """Answers a request by what it says, and a failure that passes by whether it came before.

    Args:
        latency: Mean of the seconds of an answer.
    """

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._lock = threading.Lock()
        self._failed: set[bytes] = set()
        self.seconds = 0.0
        """Sum of the seconds of all requests."""
        self.faults = Counter[str]()

    def __call__(self, body: bytes) -> Reply:
        """Wait, and answer."""
        key = hashlib.sha256(body).digest()
        draw = Stream("killed-evaluation", key.hex())
        # Log-uniform: from a fifth of the mean to three times as long.
        seconds = self._latency * 2.0 ** (draw.below(40) / 10) / MEAN
        fault = FAULTS[draw.below(len(FAULTS))] if draw.percent(10) else ""
        with self._lock:
            if fault in FAULTS[:3] and key in self._failed:
                fault = ""
            self._failed.add(key)
            self.faults[fault or "answer"] += 1
            self.seconds += TIME_LIMIT if fault == "hang" else seconds
        time.sleep(TIME_LIMIT * 1.5 if fault == "hang" else seconds)
        if fault in ("error", "lost"):
            return 500, RETRY
        if fault == "filter":
            return 400, FILTER
        status, text = completion(self._action(body, draw) if fault != "garbage" else "%$ 42 [[")
        return status, text[: len(text) // 2] if fault == "half" else text

    @staticmethod
    def _action(body: bytes, draw: Stream) -> str:
        """Look at the schema in a third of the episodes, then guess a number."""
        looks = draw.below(3) == 0 and b'"assistant"' not in body
        return "schema" if looks else f"answer[{1 + draw.below(4)}]"


def play(
    backend: str, places: list[int], environment: Mapping[str, str], options: argparse.Namespace
) -> tuple[list[EpisodeResult], dict[str, Any]]:
    """Evaluate; kill the process after each of these numbers of episodes, and start it again.

    Returns:
        The rows of the report without the endpoint's address, and the figures.
    """
    script, kills, codes = Script(options.latency), 0, []
    with tempfile.TemporaryDirectory() as folder, serving(script) as server:
        out = Path(folder)
        command = [sys.executable, "-m", "agentgym", "eval", "database", "--policy", "chat"]
        command += ["--model", "script", "--base-url", server.url, "--split", "all", "--no-scale"]
        command += ["--num-tasks", str(options.episodes), "--horizon", "2", "--retries", "2"]
        command += ["--timeout", str(TIME_LIMIT), "--concurrency", str(IN_FLIGHT)]
        command += ["--backend", backend, "--out", str(out)]
        started = time.perf_counter()
        for place in [*places, None]:
            process = subprocess.Popen(
                command, stdout=sys.stderr, env={**os.environ, **environment}
            )
            if place is not None and wait_for(out / "episodes.jsonl", place, process):
                process.kill()
                kills += 1
            codes.append(process.wait())
        seconds = time.perf_counter() - started
        report = read_report(out)
        rows = [replace(row, error=row.error.replace(server.url, "URL")) for row in report.rows]
    return rows, {
        "kills": kills,
        "exit_codes": codes,
        "seconds": seconds,
        "endpoint_seconds": script.seconds,
        "requests": sum(script.faults.values()),
        "failures": {kind: script.faults[kind] for kind in FAULTS},
    }


def wait_for(file: Path, lines: int, process: subprocess.Popen[bytes]) -> bool:
    """Return whether the file has so many lines before the process ends."""
    position = count = 0
    while count < lines:
        time.sleep(0.05)
        if process.poll() is not None:
            return False
        if file.exists():
            with file.open("rb") as stream:
                stream.seek(position)
                count += stream.read().count(b"\n")
                position = stream.tell()
    return True


@contextmanager
def cluster(backend: str) -> Iterator[dict[str, str]]:
    """Keep a Ray cluster; yield the variables by which an evaluation joins it."""
    if backend != "ray":
        yield {}
        return
    import ray

    os.environ.update({MARK: str(os.getpid()), "RAY_worker_niceness": "0"})
    ray.init("local", include_dashboard=False, log_to_driver=False)
    try:
        yield {"RAY_ADDRESS": ray.get_runtime_context().gcs_address}
    finally:
        ray.shutdown()


def count_actors(patience: float = 20.0) -> int:
    """Return how many actors of the cluster are left after some seconds."""
    until = time.monotonic() + patience
    while (actors := list_actors()) and time.monotonic() < until:
        time.sleep(0.5)
    return len(actors)


def list_actors() -> list[str]:
    """Return the processes of the cluster that are actors."""
    mark, actors = f"{MARK}={os.getpid()}".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                actors += [process.name] * (b"EnvActor" in (process / "cmdline").read_bytes())
    return actors


def compare(backend: str, options: argparse.Namespace) -> dict[str, Any]:
    """Evaluate with one back end, undisturbed and killed, at the same time."""
    places = Stream("killed-evaluation", backend).sample(range(1, options.episodes), options.kills)
    with cluster(backend) as environment, ThreadPoolExecutor(2) as pool:
        undisturbed_run = pool.submit(play, backend, [], environment, options)
        killed_run = pool.submit(play, backend, sorted(places), environment, options)
        (rows, undisturbed), (killed_rows, killed) = undisturbed_run.result(), killed_run.result()
        # The processes of this script share a mark: those of another back end may be at work.
        actors_left = count_actors() if backend == "ray" else 0
    path = undisturbed["endpoint_seconds"] / IN_FLIGHT
    for figures in (undisturbed, killed):
        figures["times_the_slowest_path"] = figures["seconds"] / path
    return {
        "episodes": len(rows),
        "solved": sum(row.success for row in rows),
        "broken": sum(not row.valid for row in rows),
        "stop_reasons": dict(sorted(Counter(row.stop_reason for row in rows).items())),
        "equal": rows == killed_rows and len(rows) == options.episodes,
        "actors_left": actors_left,
        "slowest_path_seconds": path,
        "undisturbed": undisturbed,
        "killed": killed,
        "killed_beside_undisturbed": killed["seconds"] / undisturbed["seconds"],
    }


def main() -> None:
    """Print the figures as JSON; exit with 1 if rows differ or the bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--latency", type=float, default=0.45, help="mean seconds of a request")
    parser.add_argument("--backends", nargs="+", default=["sync", "ray"])
    options = parser.parse_args()
    with ThreadPoolExecutor(len(options.backends)) as pool:
        compared = pool.map(partial(compare, options=options), options.backends)
        backends = dict(zip(options.backends, compared, strict=True))
    met = all(
        figures["equal"]
        and not figures["actors_left"]
        and figures["killed"]["times_the_slowest_path"] <= BAR
        for figures in backends.values()
    )
    settings = {"env": "agentgym/Database-v0", "in_flight": IN_FLIGHT, "latency": options.latency}
    print(to_json({**settings, "backends": backends, "bar": BAR, "met": met}))
    sys.exit(not met)


if __name__ == "__main__":
    main()
