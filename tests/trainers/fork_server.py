"""The process that has imported torch and TRL, and forks; see ``forks.py``.

It imports them when it is first asked for a process, so that it costs nothing where nobody asks.
It has also made what is made once in a process: the command's parser and the templates of pages. It
stays a single thread and calls nothing of torch, so that what it forks is as good as new. Each
process is watched by one of its own, between it and the client.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import random
import runpy
import select
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

from tests.disk import force_nothing
from tests.garbage import collect_seldom, spare
from tests.processes import renumber, run_to_its_end
from tests.trainers.forks import ledger_of

WANTED = (
    "accelerate.commands.launch", "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg", "torch.distributed.run", "tests.trainers.toy_runs",
    "tests.trainers.pictures", "tests.trainers.words", "transformers.models.qwen3.modeling_qwen3",
)  # fmt: skip
"""What runs and their launcher import, besides the trainer itself."""


def serve(listener: socket.socket) -> None:
    """Fork for every connection, until standard input ends.

    What is forked returns from here, too, so that an interpreter ends as interpreters do.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest, which ends this.
    if sys.stdin in select.select([listener, sys.stdin], [], [])[0]:
        return
    make_ready()
    watchers = 0
    while sys.stdin not in (ready := select.select([listener, sys.stdin], [], [], 0.1)[0]):
        while watchers and os.waitpid(-1, os.WNOHANG) != (0, 0):
            watchers -= 1
        if not ready:
            continue
        connection, _ = listener.accept()
        watchers += 1
        if os.fork() == 0:
            ledgers = Path(listener.getsockname()).parent
            listener.close()
            return watch(connection, ledgers)
        connection.close()


def watch(connection: socket.socket, ledgers: Path) -> None:
    """Fork the process that a client asks for, and stay between the two until one ends."""
    message, files, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    request = json.loads(message)
    process = os.fork()
    if process == 0:
        connection.close()
        return become(*request, files)
    for file in files:
        os.close(file)
    descriptor = os.pidfd_open(process)
    while descriptor not in select.select([descriptor, connection], [], [])[0]:
        signal_number = connection.recv(16)
        os.kill(process, int(signal_number or signal.SIGKILL))
        if not signal_number:
            break
    _, status, used = os.wait4(process, 0)
    with (ledgers / ledger_of(request[2])).open("a") as ledger:
        print(used.ru_utime + used.ru_stime, file=ledger)
    with suppress(BrokenPipeError):  # The client has gone.
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def become(
    module: str, argv: list[str], environment: dict[str, str], folder: str, files: list[int]
) -> None:
    """Go on as ``python -m module`` would."""
    renumber(files, range(len(files)))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    random.seed()
    sys.modules["numpy"].random.seed()
    sys.argv[1:] = argv
    sys.modules.pop(module, None)  # Found there, it would not be what was asked for.
    run_to_its_end(lambda: runpy.run_module(module, run_name="__main__", alter_sys=True))


def import_all() -> None:
    """Import what a run imports, and the modules that it imports only when it comes to them."""
    import trainers

    for module in pkgutil.walk_packages(trainers.__path__, "trainers."):
        if "vllm" not in module.name:
            importlib.import_module(module.name)
    for name in WANTED:
        importlib.import_module(name)


def make_all() -> None:
    """Make what a run makes when it comes to it, and never again."""
    from tests.trainers import toy_runs, words
    from trainers.config.resolve import resolve
    from trainers.output.page_templates import templates

    for changes in ({}, {"horizon": "3", "horizon_every": None}):
        words.remember(resolve(toy_runs.config(Path("run"), **changes)))
    for escape, end in ((True, ".html.j2"), (False, ".md.j2")):
        environment = templates(escape)
        for name in environment.list_templates(
            filter_func=lambda name, end=end: name.endswith(end)
        ):
            environment.get_template(name)


def make_ready() -> None:
    """Import and make what every process will need."""
    from trainers.models.torch_setup import quiet_libraries

    force_nothing()
    collect_seldom()
    quiet_libraries()
    import_all()
    make_all()
    spare()  # What a collection looks at is copied.


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
