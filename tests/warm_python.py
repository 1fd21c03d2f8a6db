"""Programs in forks of a Python that has imported what all commands import.

Half of the CPU seconds of a short command go into numpy, gymnasium and rich. A fork of a
process that has them begins and ends as a new process does: with arguments, streams, environment
and path of its own, and with the flush of what was printed. agentgym is not imported ahead.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

from tests.disk import force_nothing
from tests.garbage import collect_seldom, spare
from tests.processes import renumber, run_to_its_end

ROOT = Path(__file__).parent.parent
AHEAD = (
    "asyncio", "filelock", "gymnasium", "importlib.metadata", "numpy.random",
    "packaging.requirements", "rich.console", "rich.markup", "rich.progress", "rich.table",
    "yaml",
)  # fmt: skip
AGENTGYM = "import sys; from agentgym.cli import main; sys.exit(main())"
MOST = 1 << 17
"""Bytes of a request."""
STREAMS = (("stdin", "r", "strict"), ("stdout", "w", "strict"), ("stderr", "w", "backslashreplace"))


def run_warm(
    argv: Sequence[str],
    program: str = AGENTGYM,
    stdout: IO[Any] | int | None = None,
    stderr: IO[Any] | int | None = None,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run a program in a fork, and wait for its end.

    Args:
        argv: Its arguments.
        program: Text of the program; the command ``agentgym`` by default.
        stdout: Where its output goes; kept for the result by default.
        stderr: Where its messages go; kept for the result by default.
        variables: Environment, beside that of this process.
    """
    request = {"argv": list(argv), "program": program, "environment": {**os.environ, **variables}}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with open(os.devnull) as nothing:
            files = [nothing, out if stdout is None else stdout, err if stderr is None else stderr]
            places = [file if isinstance(file, int) else file.fileno() for file in files]
            link = _server()
            socket.send_fds(link, [json.dumps(request).encode()], places)
            code = os.waitstatus_to_exitcode(int(link.recv(MOST)))
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return subprocess.CompletedProcess(list(argv), code, *texts)


@cache
def _server() -> socket.socket:
    """Start the process that forks; it ends with this one, as nothing more can be asked."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with far:
        program = f"from tests.warm_python import serve; serve({far.fileno()})"
        subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=ROOT,
            pass_fds=[far.fileno()],
            stdin=subprocess.DEVNULL,
        )
    return near


def serve(link_number: int) -> None:
    """Fork at every request; a fork returns from here when its program has ended."""
    force_nothing()
    collect_seldom()
    for name in AHEAD:
        importlib.import_module(name)
    spare()
    with socket.socket(fileno=link_number) as link:
        while True:
            text, files, _, _ = socket.recv_fds(link, MOST, len(STREAMS))
            if not text:
                return
            child = os.fork()
            if not child:
                break
            for file in files:
                os.close(file)
            link.send(str(os.waitpid(child, 0)[1]).encode())
    request = json.loads(text)
    _become(request["argv"], request["environment"], files)
    program = compile(request["program"], "<program>", "exec")
    run_to_its_end(lambda: exec(program, {"__name__": "__main__"}))


def _become(argv: list[str], environment: Mapping[str, str], files: Sequence[int]) -> None:
    """Take over what Python reads when it starts."""
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *argv]
    sys.path[1:1] = environment.get("PYTHONPATH", "").split(os.pathsep)
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    renumber(files, range(len(STREAMS)))
    for number, (name, mode, errors) in enumerate(STREAMS):
        stream = open(number, mode, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
