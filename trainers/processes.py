"""The processes of one run: which of them this is, and how they agree.

A launcher such as ``accelerate launch`` starts the same command several times. All processes play
and learn; the first, the main process, writes the run's folder and speaks to the user. What only
one of them can know, such as the time or what lies in the folder, it tells the others.

Alone, a process is the main one, and everything here costs nothing.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

from agentgym.errors import AgentGymError

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

__all__ = [
    "ProcessLost", "barrier", "broadcast", "explain_loss", "first_to_speak", "gather", "is_main",
    "main_only", "on_main", "rank", "share", "start", "stop", "wait_for_the_end", "world",
]  # fmt: skip

T = TypeVar("T")
P = ParamSpec("P")

WAIT = timedelta(hours=1)
"""Longest wait of a collective of the training: for the slowest process's episodes of a step."""
MAIN_ALONE = timedelta(days=7)
"""Longest wait for what the main process does alone, such as playing the baselines. A process that
dies is noticed at once, whatever the wait: its connections close, and the launcher ends the rest."""
LINGER = 30.0
"""Seconds in which the launcher ends a process that leaves it to another to say what is wrong."""
SPOKEN = "agentgym/spoken"
"""Key of the processes' store: how many of them had something to say at their end."""
COLLECTIVE = ("gloo", "nccl", "ProcessGroup", "TCPStore", "peer", "DistBackend")
"""Words by which errors of a collective are known."""

_control: ProcessGroup | None = None
"""Group for Python objects: on the CPU, apart from the tensors of the training."""


class ProcessLost(AgentGymError, RuntimeError):
    """Another process of the run has ended, or the launcher ends this one."""


def rank() -> int:
    """Return the index of this process."""
    return int(os.environ.get("RANK", "0")) if _control is None else _dist().get_rank()


def world() -> int:
    """Return the number of processes."""
    return int(os.environ.get("WORLD_SIZE", "1")) if _control is None else _dist().get_world_size()


def is_main() -> bool:
    """Return whether this process writes the folder and speaks to the user."""
    return rank() == 0


def start() -> None:
    """Connect the processes that the launcher started; does nothing for a single one.

    From here on SIGTERM, with which a launcher ends the rest when one process has ended, raises
    :class:`ProcessLost`.
    """
    global _control
    if world() == 1 or _control is not None:
        return
    import torch
    from accelerate import PartialState

    PartialState(cpu=not torch.cuda.is_available(), timeout=WAIT)
    _control = _dist().new_group(backend="gloo", timeout=MAIN_ALONE)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminated)


def stop() -> None:
    """Wait for all processes and disconnect them."""
    global _control
    if _control is not None:
        barrier()
        _control = None
        _dist().destroy_process_group()


# -- agreeing --------------------------------------------------------------------------------------


def barrier() -> None:
    """Wait until every process is here."""
    if _control is not None:
        with _collective():
            _dist().barrier(group=_control)


def broadcast(value: T) -> T:
    """Return the main process's value in every process."""
    if _control is None:
        return value
    box = [value]
    with _collective():
        _dist().broadcast_object_list(box, src=0, group=_control)
    return box[0]


def gather(values: Sequence[T]) -> list[T]:
    """Return the values of all processes, in their order, in every process."""
    if _control is None:
        return list(values)
    parts: list[Any] = [None] * world()
    with _collective():
        _dist().all_gather_object(parts, list(values), group=_control)
    return [value for part in parts for value in part]


def on_main(function: Callable[[], T]) -> T:
    """Let the main process do something alone; what it returns is returned in every process.

    An error is raised there, which ends the others, too.
    """
    done: tuple[T] | None = None
    if is_main():
        done = (function(),)
    done = broadcast(done)
    assert done is not None  # an error in the main process ends the wait with one of its own
    return done[0]


def share(count: int) -> range:
    """Return the indices among ``count`` that fall to this process: runs of like length."""
    of, at = world(), rank()
    return range(count * at // of, count * (at + 1) // of)


def main_only(function: Callable[P, None]) -> Callable[P, None]:
    """Make a function, such as one that writes a file, do nothing outside the main process."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> None:
        if is_main():
            function(*args, **kwargs)

    return called


# -- the end ---------------------------------------------------------------------------------------


def explain_loss(error: BaseException) -> ProcessLost | None:
    """Return what an error of torch's means if another process is its cause, else None."""
    if isinstance(error, ProcessLost):
        return error
    text = f"{type(error).__name__} {error}".lower()
    if world() > 1 and isinstance(error, RuntimeError):
        if any(word.lower() in text for word in COLLECTIVE):
            return ProcessLost(_lost())
    return None


def first_to_speak() -> bool:
    """Return whether no process of the run has said yet why it ends; asked once, at the end."""
    if world() == 1:
        return True
    if _control is None:
        return is_main()
    from torch.distributed.distributed_c10d import _get_default_store

    try:
        return int(_get_default_store().add(SPOKEN, 1)) == 1
    except RuntimeError:  # the store went with the process that held it
        return True


def wait_for_the_end() -> None:
    """Give the main process time to say what is wrong: a launcher ends all once one has ended."""
    if _control is None and not is_main():
        time.sleep(LINGER)


def _terminated(*_: Any) -> NoReturn:
    """Take SIGTERM for the end of another process."""
    raise ProcessLost(_lost())


def _lost() -> str:
    """Say that the run cannot go on."""
    return (
        f"expected all {world()} processes to work until the end, but another one ended, or the "
        "launcher was stopped; the folder is intact: repeat the command with --resume to continue"
    )


@contextlib.contextmanager
def _collective() -> Iterator[None]:
    """Say clearly that another process is gone."""
    try:
        yield
    except RuntimeError as error:
        raise explain_loss(error) or error from error


def _dist() -> Any:
    """Return torch's module; importing it takes seconds that a single process need not spend."""
    import torch.distributed

    return torch.distributed
