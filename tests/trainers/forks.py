"""Processes of a run that are forked from one that has imported torch and TRL.

An interpreter of its own imports for seven CPU seconds before a toy run, which takes two. The
server (``fork_server.py``) does so once; what it forks has arguments, an environment, a working
folder, files, a death and an exit code of its own. Only what libraries read as they are imported is
the server's, so that a test of such a variable, or of what imports say, starts an interpreter.

A connection to the server is a process: the client says what to run and hands over its files, may
send signals meanwhile, hears how it ended, and takes it along when it goes.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[2]
UNFORKED = "AGENTGYM_TEST_INTERPRETER"
"""Environment variable that names the one process of a launcher that is not forked, by its rank."""
SERVER = "AGENTGYM_TEST_FORKS"
"""Environment variable that tells workers and the processes of a launcher where it listens."""


class Forked:
    """A process of the server's.

    Args:
        server: Where the server listens.
        module: What ``python -m`` would run.
        argv: Its arguments.
        environment: Its environment variables.
        files: Its standard input, output and error.
    """

    def __init__(
        self,
        server: str,
        module: str,
        argv: Sequence[str],
        environment: Mapping[str, str],
        files: Sequence[int],
    ) -> None:
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.connection.connect(server)
        request = json.dumps([module, list(argv), dict(environment), os.getcwd()])
        socket.send_fds(self.connection, [request.encode()], files)

    def send_signal(self, number: int) -> None:
        """Send a signal to the process."""
        self.connection.send(str(int(number)).encode())

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code; a negative one is the signal that the process died of."""
        self.connection.settimeout(timeout)
        return int(self.connection.recv(16))

    def close(self) -> None:
        """Kill the process if it still runs."""
        self.connection.close()


class Started:
    """A forked process whose output is collected, as ``subprocess.Popen`` would with pipes."""

    def __init__(self, module: str, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        self.args = [module, *argv]
        self.files = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115
        full_environment = {**environment, SERVER: server()}
        numbers = [file.fileno() for file in self.files]
        self.process = Forked(full_environment[SERVER], module, argv, full_environment, numbers)

    def communicate(self, timeout: float) -> subprocess.CompletedProcess[str]:
        """Wait for the end of the process."""
        code = self.process.wait(timeout)
        outputs = [os.pread(file.fileno(), 1 << 30, 0).decode() for file in self.files[1:]]
        return subprocess.CompletedProcess(self.args, code, *outputs)

    def terminate(self) -> None:
        """End the process if it still runs, and give its files back."""
        self.process.close()
        for file in self.files:
            file.close()


class ForkedRun:
    """A run that is played beside others, for who waits for it as for a ``multiprocessing`` one.

    Args:
        main: Carries out ``agentgym-train``; the process has its own.
        arguments: Arguments of the run.
        log: File to which goes what it prints.
        threads: Most threads with which it computes.
    """

    exitcode: int | None = None

    def __init__(self, main: object, arguments: Sequence[str], log: Path, threads: int = 1) -> None:
        argv = ["alive", *arguments]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        with open(os.devnull) as nothing, log.open("ab") as log_file:
            files = [file.fileno() for file in (nothing, log_file, log_file)]
            self._process = Forked(server(), "tests.trainers.toy_runs", argv, environment, files)
        self.sentinel = self._process.connection.fileno()

    def join(self) -> None:
        """Wait for its end."""
        self.exitcode = self._process.wait()
        self._process.close()

    def kill(self) -> None:
        """Kill it."""
        self._process.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """End it."""
        self._process.close()


@cache
def server() -> str:
    """Return where the server listens: it is started once, by pytest for all of its workers."""
    if SERVER in os.environ:
        return os.environ[SERVER]
    folder = tempfile.TemporaryDirectory(prefix="forks")
    place = f"{folder.name}/server"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(place)
        listener.listen()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.trainers.fork_server", str(listener.fileno())],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
        )

    @atexit.register
    def stop() -> None:
        process.communicate()
        folder.cleanup()

    return place


def ledger_of(environment: Mapping[str, str]) -> str:
    """Return the name of the file, beside the server, of what was used for a worker of pytest."""
    return "cpu-" + environment.get("PYTEST_XDIST_WORKER", "")


def used() -> float:
    """CPU seconds of what has ended of the processes that one server for all forked for this one.

    Those of a server of its own are those of a child.
    """
    if SERVER not in os.environ:
        return 0.0
    ledger = Path(os.environ[SERVER]).parent / ledger_of(os.environ)
    return sum(map(float, ledger.read_text().split())) if ledger.exists() else 0.0


def stand_in(module: str) -> int:
    """Be a process of a launcher: have it forked, pass signals on, end as it ends."""
    process = Forked(os.environ[SERVER], module, sys.argv[1:], os.environ, range(3))

    def pass_on(number: int, frame: FrameType | None) -> None:
        process.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    code = process.wait()
    if code < 0:
        if -code in (signal.SIGINT, signal.SIGTERM):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    program = "tests.trainers.toy_runs"
    if os.environ.get(UNFORKED, "none") == os.environ.get("RANK"):
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    sys.exit(stand_in(program))
