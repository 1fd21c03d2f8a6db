"""Measure sandboxes with a container image and no daemon, beside others, Docker and bubblewrap.

    python benchmarks/image_boxes.py [--kinds image plain docker bubblewrap] [--starts 100]
                                     [--boxes 50] [--forks 40] [--pause 0.5]

The image is built here from this machine's programs and Python. Times are wall time, because other
processes do the work: upper bounds if other jobs run, so the load and the shortest time are
reported, too. ``forks`` are snapshots of an SWE episode and returns to them, once with a pause
before each, like a thinking policy's, and once without.

Smallest run: ``--kinds image --starts 5 --boxes 4 --forks 5``
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from provenance import to_json
from stopwatch import make, wall

from agentgym.sandbox import Sandbox, SandboxConfig, SandboxLimits, open_sandbox, probe
from agentgym.sandbox.namespace.box import own_store
from tests.sandbox.images import ALL_TOOLS, root_archive
from tests.sandbox.layouts import write_saved

IMAGE = "agentgym-benchmark/programs:1"
LIMITS = SandboxLimits(disk=1 << 30, processes=64)
WRITTEN = "for i in $(seq 20); do echo $i > file_$i; done; echo x >> /root/notes"
"""The files in a snapshot."""
BAR = 20.0
"""Maximum milliseconds for a snapshot, and for a return to it."""


def spread(times: list[float], name: str) -> dict[str, float]:
    """Return the median, the 99th percentile and the shortest of times in seconds."""
    ordered = sorted(1000 * seconds for seconds in times)
    last = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return {
        f"{name}_milliseconds_p50": round(statistics.median(ordered), 2),
        f"{name}_milliseconds_p99": round(last, 2),
        f"{name}_milliseconds_best": round(ordered[0], 2),
    }


@contextmanager
def opener(kind: str, archive: bytes, scratch: Path) -> Iterator[Callable[[], Sandbox]]:
    """Yield a factory of sandboxes of a kind."""
    if kind == "plain":
        yield lambda: open_sandbox(SandboxConfig(limits=LIMITS), "namespace")
        return
    config = SandboxConfig(image=IMAGE, limits=LIMITS)
    if kind == "image":
        yield lambda: open_sandbox(config, "namespace", store=scratch / "store", pull="never")
        return
    from agentgym.sandbox.docker.engine import find_engine

    engine = find_engine()
    repository, _, tag = IMAGE.partition(":")
    engine.api.import_image_from_data(archive, repository=repository, tag=tag)
    try:
        yield lambda: open_sandbox(config, "docker", pull="never")
    finally:
        engine.api.remove_image(IMAGE, force=True)


def measure(new: Callable[[], Sandbox], options: argparse.Namespace) -> dict[str, Any]:
    """Measure one kind of sandbox."""
    starts, commands, closes = [], [], []
    for _ in range(options.starts):
        box = new()
        starts.append(wall(box.start))
        commands += [wall(lambda box=box: box.exec("true")) for _ in range(3)]
        closes.append(wall(box.close))
    figures: dict[str, Any] = {
        **spread(starts, "start"), **spread(commands, "exec"), **spread(closes, "close")
    }  # fmt: skip
    with new() as box:
        resets = [wall(box.reset) for _ in range(max(5, options.starts // 3))]
        figures.update(spread(resets, "reset"))
        box.exec(WRITTEN)
        if "snapshot" in box.capabilities:
            figures["snapshot_bytes"] = len(box.snapshot())
            figures.update(spread([wall(box.snapshot) for _ in range(20)], "snapshot"))
    return {**figures, **at_once(new, options.boxes)}


def at_once(new: Callable[[], Sandbox], count: int) -> dict[str, Any]:
    """Start many sandboxes at once, and measure their memory."""
    free_before, boxes = available(), [new() for _ in range(count)]
    with ThreadPoolExecutor(8) as pool:
        up = wall(lambda: list(pool.map(lambda box: box.start(), boxes)))
        weight = [proportional(pid) for pid in born()]
        used = free_before - available()
        down = wall(lambda: list(pool.map(lambda box: box.close(), boxes)))
    figures = {
        "boxes_at_once": count,
        "all_up_seconds": round(up, 2),
        "all_closed_seconds": round(down, 2),
        "machine_megabytes_a_box": round(used / count, 2),
    }
    if weight:
        figures["own_processes_megabytes_a_box"] = round(sum(weight) / count, 2)
    return figures


def available() -> float:
    """Return the machine's available memory, in megabytes."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("MemAvailable"))


def born(pid: int | None = None) -> list[int]:
    """Return this process's descendants: for sandboxes, their keepers and processes 1."""
    pids: list[int] = []
    for path in Path(f"/proc/{pid or os.getpid()}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            pids += [child, *born(child)]
    return pids


def proportional(pid: int) -> float:
    """Return the proportional memory of a process (PSS), in megabytes."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def bubblewrap(root: Path, count: int) -> dict[str, Any]:
    """Time a command in bubblewrap, which starts anew for each and writes nowhere."""
    program = shutil.which("bwrap")
    if program is None:
        return {"failed": "expected the program bwrap, got none; install the package bubblewrap"}
    binds = [
        part
        for name in sorted(os.listdir(root))
        for part in ("--ro-bind", f"{root}/{name}", f"/{name}")
    ]
    apart = ("--proc", "/proc", "--dev", "/dev", "--unshare-all", "--die-with-parent")
    command = [program, *binds, *apart, "/bin/bash", "-c", "true"]
    times = [wall(lambda: subprocess.run(command, check=True)) for _ in range(count)]
    return spread(times, "start_and_exec")


def forks(count: int, pause: float) -> dict[str, float]:
    """Take snapshots of an episode, and return to them until the next command could run."""
    env = make("agentgym/SWE-v0")
    unwrapped = env.unwrapped
    env.reset(options={"split": "train", "index": 0})
    env.step("```bash\nfor i in $(seq 10); do echo $i >> notes; done\n```")
    session, snapshot_times, returned = unwrapped.session, list[float](), list[float]()

    def back(state: Any) -> None:
        session.restore(state)
        _ = session.box  # restores the files

    for _ in range(count):
        session._files = None  # otherwise it is the previous one
        snapshot_times.append(wall(session.snapshot))
        state = session.snapshot()
        time.sleep(pause)
        returned.append(wall(lambda state=state: back(state)))
    env.close()
    return {**spread(snapshot_times, "take"), **spread(returned, "return")}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = ["image", "plain", "docker", "bubblewrap"]
    parser.add_argument("--kinds", nargs="+", default=kinds, choices=kinds)
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--boxes", type=int, default=50)
    parser.add_argument("--forks", type=int, default=40)
    parser.add_argument("--pause", type=float, default=0.5)
    options = parser.parse_args()
    load, results = os.getloadavg(), {}
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        archive = root_archive({"etc/motd": b"hello\n"}, python=True, tools=ALL_TOOLS)
        saved, store = write_saved(scratch / "image.tar", [archive], name=IMAGE), own_store(
            scratch / "store"
        )  # fmt: skip
        took = wall(lambda: store.load(saved))
        results["unpacking"] = {
            "seconds": round(took, 2),
            "megabytes": round(len(archive) / 1e6, 1),
        }
        image = store.images()[0]
        for kind in options.kinds:
            reason = probe("docker" if kind == "docker" else "namespace")
            if reason:
                results[kind] = {"failed": reason}
            elif kind == "bubblewrap":
                results[kind] = bubblewrap(image.layers[0], options.starts)
            else:
                with opener(kind, archive, scratch) as new:
                    results[kind] = measure(new, options)
    results["forks"] = {
        "bar_milliseconds": BAR,
        "with_pause": forks(options.forks, options.pause),
        "back_to_back": forks(options.forks, 0.0),
    }
    loads = {"before": round(load[0], 2), "after": round(os.getloadavg()[0], 2)}
    counts = {"n_starts": options.starts, "n_forks": options.forks, "pause_seconds": options.pause}
    print(to_json({**results, "loads": loads, **counts, "user": os.geteuid(), "nice": os.nice(0)}))


if __name__ == "__main__":
    main()
