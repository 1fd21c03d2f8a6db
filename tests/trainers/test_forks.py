"""What is forked from the process that has imported torch is a process like any other."""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.processes import alive
from tests.trainers import forks

pytestmark = pytest.mark.slow


def started(*argv: str, **environment: str) -> forks.Started:
    """Have this file run as a program."""
    return forks.Started(__name__, argv, {**os.environ, **environment})


def test_arguments_environment_folder_and_files_are_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLOUR", "blue")
    reports = []
    for colour in ("red", "green"):
        process = started("tell", colour, COLOUR=colour).communicate(60)
        assert (process.returncode, process.stderr) == (0, "said\n")
        reports.append(json.loads(process.stdout))
    pids = {report.pop("pid") for report in reports}
    draws = {report.pop("draw") for report in reports}
    assert reports == [
        {"argv": ["tell", colour], "colour": colour, "folder": str(tmp_path)}
        for colour in ("red", "green")
    ]
    assert len(pids) == len(draws) == 2 and os.getpid() not in pids


def test_an_exit_code_and_an_error_are_told():
    process = started("exit").communicate(60)
    assert (process.returncode, process.stdout) == (3, "thread\natexit\n")
    process = started("fail").communicate(60)
    assert process.returncode == 1 and process.stderr.endswith("ZeroDivisionError: on request\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it(number):
    process = started("wait")
    asleep(process)
    process.process.send_signal(number)
    ended = process.communicate(60)
    # What transformers 5.24 does at the end of a process makes Python's exit code after Ctrl-C 1.
    is_interrupted = number == signal.SIGINT and ended.stderr.endswith("KeyboardInterrupt\n")
    assert ended.returncode == -number or (ended.returncode == 1 and is_interrupted)


def test_it_goes_with_its_client():
    process = started("wait")
    pid = asleep(process)
    assert alive(pid)
    process.terminate()
    for _ in range(1000):
        if not alive(pid):
            return
        time.sleep(0.01)
    pytest.fail("it still runs")


def asleep(process: forks.Started) -> int:
    """Wait until the program waits; its process."""
    while not (output := os.pread(process.files[1].fileno(), 100, 0)):
        time.sleep(0.01)
    return int(output)


def program(command: str) -> None:
    """What is run."""
    import random

    if command == "exit":
        atexit.register(print, "atexit")
        threading.Timer(0.1, print, ["thread"]).start()
        sys.exit(3)
    if command == "fail":
        raise ZeroDivisionError("on request")
    if command == "wait":
        print(os.getpid(), flush=True)
        time.sleep(600)
    facts = {"argv": sys.argv[1:], "colour": os.environ["COLOUR"], "folder": str(Path.cwd())}
    print(json.dumps({**facts, "pid": os.getpid(), "draw": random.random()}))
    print("said", file=sys.stderr)


if __name__ == "__main__":
    program(sys.argv[1])
