"""Measure what a sandbox costs, and check that it leaves nothing behind.

    python benchmarks/sandbox.py [--sandboxes namespace docker] [--commands 500] [--resets 1000]
                                 [--boxes 16] [--seconds 5]

Times are wall time, because most of the work happens in other processes: they are upper bounds if
other jobs run on the machine, whose load is reported. A sandbox holds a folder of 30 small files.
``met`` compares with the bars; the exit code is 1 if one is missed.

Smallest run: ``--commands 50 --resets 10 --seconds 1``
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from provenance import to_json
from stopwatch import wall

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentgym.sandbox import Sandbox, SandboxConfig, open_sandbox, probe

BARS: dict[str, dict[str, tuple[str, float]]] = {
    "namespace": {
        "exec_milliseconds_median": ("<=", 5.0),
        "exec_milliseconds_p95": ("<=", 15.0),
        "reset_milliseconds_median": ("<=", 120.0),
        "parallel_commands_per_second": (">=", 300.0),
        "process_1_megabytes": ("<=", 12.0),
    },
    "docker": {
        "exec_milliseconds_median": ("<=", 10.0),
        "reset_milliseconds_median": ("<=", 600.0),
    },
}
NOTHING_LEFT = {
    "left_processes_after_resets": ("<=", 0.0),
    "left_mounts_after_resets": ("<=", 0.0),
    "left_folders_after_resets": ("<=", 0.0),
    "left_descriptors_after_resets": ("<=", 0.0),
    "left_processes_after_kill": ("<=", 0.0),
    "left_mounts_after_kill": ("<=", 0.0),
    "left_folders_after_kill": ("<=", 0.0),
}
OWNER = """
import sys, threading
from pathlib import Path
from agentgym.sandbox import SandboxConfig, open_sandbox
boxes = [open_sandbox(SandboxConfig(tree=Path(sys.argv[2])), sys.argv[1]).start() for _ in "1234"]
for box in boxes:
    threading.Thread(target=box.exec, args=("sleep " + sys.argv[3],), daemon=True).start()
print("started", flush=True)
threading.Event().wait()
"""
MARKER = f"97531.{os.getpid()}"


def milliseconds(times: list[float], name: str) -> dict[str, float]:
    """Return the median and the 95th percentile of times in seconds."""
    ordered = sorted(1000 * seconds for seconds in times)
    return {
        f"{name}_milliseconds_median": round(statistics.median(ordered), 2),
        f"{name}_milliseconds_p95": round(ordered[int(0.95 * (len(ordered) - 1))], 2),
    }


def measure_commands(box: Sandbox, count: int) -> dict[str, float]:
    """Time the smallest command."""
    box.exec("true")
    return milliseconds([wall(lambda: box.exec("true")) for _ in range(count)], "exec")


def measure_parallel(backend: str, tree: Path, boxes: int, seconds: float) -> dict[str, float]:
    """Count the commands of many sandboxes at once, each in a thread."""
    counts = [0] * boxes
    begin = threading.Barrier(boxes + 1)
    deadline = [0.0]

    def play(number: int) -> None:
        with open_sandbox(SandboxConfig(tree=tree), backend) as box:
            begin.wait()
            while time.perf_counter() < deadline[0]:
                box.exec("true")
                counts[number] += 1

    threads = [threading.Thread(target=play, args=(number,)) for number in range(boxes)]
    for thread in threads:
        thread.start()
    deadline[0] = float("inf")
    begin.wait()
    started = time.perf_counter()
    deadline[0] = started + seconds
    for thread in threads:
        thread.join()
    return {"parallel_commands_per_second": round(sum(counts) / seconds, 1)}


def measure_memory() -> dict[str, float]:
    """Return the resident memory of process 1 in this process's newest sandbox."""
    resident = [
        int(line.split()[1]) / 1024
        for pid in descendants(os.getpid())
        for line in status(pid)
        if line.startswith("VmRSS") and "NSpid:\t" + str(pid) + "\t1\n" in status(pid)
    ]
    return {"process_1_megabytes": round(max(resident), 2)} if resident else {}


def measure_resets(box: Sandbox, count: int) -> dict[str, float]:
    """Time resets, each after a command that leaves files and processes behind."""
    old_traces, times = traces(os.getpid()), []
    for _ in range(count):
        box.exec("echo 1 > new; rm file_1.py; sleep 100 & setsid sleep 100 &")
        times.append(wall(box.reset))
    leftovers = compare(old_traces, traces(os.getpid()), "resets")
    return {**milliseconds(times, "reset"), **leftovers}


def measure_kill(backend: str, tree: Path) -> dict[str, float]:
    """Kill a process with four busy sandboxes, and count what is left of them."""
    old_traces = traces(os.getpid())
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, backend, str(tree), MARKER], stdout=subprocess.PIPE
    )
    assert owner.stdout is not None
    with owner:
        owner.stdout.readline()
        time.sleep(2)
        born = descendants(owner.pid)
        owner.kill()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(map(lives, born)):
        time.sleep(0.05)
    # The next process to start a sandbox removes the folders of dead ones.
    code = OWNER.partition("for box")[0]
    subprocess.run([sys.executable, "-c", code, backend, str(tree)], check=True)
    leftovers = compare(old_traces, traces(os.getpid()), "kill")
    leftovers["left_processes_after_kill"] = sum(map(lives, born)) + marked()
    return leftovers


def traces(pid: int) -> dict[str, int]:
    """Count everything that a sandbox of this benchmark could leave behind."""
    groups = Path("/sys/fs/cgroup").glob("**/agentgym-*")
    temporary = Path(tempfile.gettempdir()).glob("agentgym-box-*")
    return {
        "processes": len(descendants(pid)),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "folders": sum(not belongs_to_others(path) for path in (*groups, *temporary)),
        "descriptors": len(os.listdir("/proc/self/fd")),
    }


def belongs_to_others(path: Path) -> bool:
    """Return whether a folder belongs to another living process."""
    try:
        parts = (path / "owner").read_text().split("/")
    except OSError:
        parts = path.name.split(":")
    owner = parts[2] if len(parts) > 3 else ""
    return owner.isdigit() and int(owner) != os.getpid() and lives(int(owner))


def compare(old_traces: dict[str, int], new_traces: dict[str, int], name: str) -> dict[str, float]:
    """Return the increase of each count."""
    return {f"left_{kind}_after_{name}": new_traces[kind] - old_traces[kind] for kind in old_traces}


def status(pid: int) -> list[str]:
    """Return the lines of a process's status."""
    try:
        return Path(f"/proc/{pid}/status").read_text().splitlines(keepends=True)
    except OSError:
        return []


def lives(pid: int) -> bool:
    """Return whether a process runs."""
    return any(line.startswith("State:") and line.split()[1] not in "ZX" for line in status(pid))


def descendants(pid: int) -> list[int]:
    """Return the processes below one."""
    pids: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in path.read_text().split()]
        except OSError:
            continue
        for child in children:
            pids += [child, *descendants(child)]
    return pids


def marked() -> int:
    """Count the still running commands of a killed owner."""
    count = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            count += path.read_bytes() == b"sleep\0" + MARKER.encode() + b"\0"
        except OSError:
            continue
    return count


def measure(backend: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one back end."""
    reason = probe(backend)
    if reason:
        return {"failed": reason}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for number in range(30):
            (tree / f"file_{number}.py").write_text("x = 1\n" * 200)
        box = open_sandbox(SandboxConfig(tree=tree), backend)
        figures = {"start_milliseconds": round(1000 * wall(box.start), 2)}
        with box:
            figures.update(measure_commands(box, options.commands))
            figures.update(measure_memory())
            figures.update(measure_resets(box, options.resets))
        figures.update(measure_parallel(backend, tree, options.boxes, options.seconds))
        figures.update(measure_kill(backend, tree))
    bars = {**BARS.get(backend, {}), **NOTHING_LEFT}
    within_bars = {
        name: figures[name] <= bar if sign == "<=" else figures[name] >= bar
        for name, (sign, bar) in bars.items()
        if name in figures
    }
    bar_texts = {name: f"{sign} {bar:g}" for name, (sign, bar) in bars.items() if name in figures}
    return {"figures": figures, "bars": bar_texts, "met": within_bars}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sandboxes", nargs="+", default=["namespace"])
    parser.add_argument("--commands", type=int, default=500)
    parser.add_argument("--resets", type=int, default=1000)
    parser.add_argument("--boxes", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=5.0, help="of the commands at once")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    results = {backend: measure(backend, options) for backend in options.sandboxes}
    print(to_json({**results, "load_before": round(load, 2), "user": os.geteuid()}))
    sys.exit(
        any(
            not all(backend_results.get("met", {"": False}).values())
            for backend_results in results.values()
        )
    )


if __name__ == "__main__":
    main()
