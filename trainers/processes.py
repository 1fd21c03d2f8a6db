"""The processes of a distributed run: ranks, barriers and broadcasts.

A launcher such as ``accelerate launch`` starts the same command several times. All processes play
and learn; the first, the main process, writes the run's folder and prints. It broadcasts values
that only one process can decide on, such as the time or the content of the folder.

A single process is the main process, and everything here is a no-op.
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
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

from agentgym.errors import AgentGymError

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup, Store

__all__ = [
    "ProcessLost",
    "barrier",
    "broadcast",
    "first_to_speak",
    "gather",
    "is_main",
    "leave",
    "load_whole",
    "losses_explained",
    "main_only",
    "main_speaks",
    "meet",
    "on_cpu",
    "on_main",
    "rank",
    "sharded",
    "share",
    "start",
    "states_sharded",
    "stop",
    "trainer_arguments",
    "world",
]

T = TypeVar("T")
P = ParamSpec("P")

MAIN_ALONE = timedelta(days=7)
"""Maximum wait for work of the main process alone, such as playing the baselines. The death of a
process is noticed at once anyway: its connections close, and the launcher ends the others."""
RESUME = "the folder is intact: repeat the command with --resume to continue"
"""Advice after the loss of a process."""
LINGER = 10.0
"""Maximum seconds that a process waits for another to report the error before it exits."""
SPOKEN = "agentgym/spoken"
"""Key of the processes' store: how many of them reported at their end."""
PLACE = "agentgym/place/{}"
"""Key of the same store: the number of meetings that a process, by rank, has reached, and the
last."""
POLL = 0.25
"""Maximum seconds between two polls of the other processes' places."""
COLLECTIVE = ("gloo", "nccl", "ProcessGroup", "TCPStore", "peer", "DistBackend")
"""Words that identify errors of a collective."""

_control: ProcessGroup | None = None
"""Process group for Python objects: on the CPU, separate from the training's tensors."""
_patience = 0.0
"""Seconds that a process waits for the others."""
_meetings = 0
"""Meetings that this process has reached."""


class ProcessLost(AgentGymError, RuntimeError):
    """Another process of the run has ended, or the launcher ends this one."""


def rank() -> int:
    """Return the index of this process."""
    return int(os.environ.get("RANK", "0")) if _control is None else _dist().get_rank()


def world() -> int:
    """Return the number of processes."""
    return int(os.environ.get("WORLD_SIZE", "1")) if _control is None else _dist().get_world_size()


def local_world() -> int:
    """Return the number of processes on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", world()))


def is_main() -> bool:
    """Return whether this process writes the folder and prints."""
    return rank() == 0


def sharded() -> bool:
    """Return whether the launcher shards the weights over processes."""
    return _is_set("ACCELERATE_USE_FSDP") or _zero_stage() == 3


def states_sharded() -> bool:
    """Return whether the launcher shards gradients and optimiser states."""
    return _is_set("ACCELERATE_USE_FSDP") or _zero_stage() >= 2


def start(patience: float = 1800.0) -> None:
    """Connect the processes that the launcher started; does nothing for a single process.

    Afterwards SIGTERM, which a launcher sends to the others when one process ends, raises
    :class:`ProcessLost`.

    Args:
        patience: Maximum seconds that processes wait for the slowest in :func:`meet` and in
            collectives of the training.
    """
    global _control, _patience, _meetings
    if world() == 1 or _control is not None:
        return
    import torch
    from accelerate import DistributedType, PartialState

    state = PartialState(cpu=on_cpu(), timeout=timedelta(seconds=patience))
    if state.device.type == "cpu":
        state.device = torch.device("cpu")  # torch.load does not accept cpu:0.
    if state.distributed_type == DistributedType.MULTI_CPU and sharded():
        # Accelerate shards where it sees accelerators; torch does on the CPU as well.
        state.distributed_type = DistributedType.MULTI_GPU
    if state.distributed_type == DistributedType.DEEPSPEED and state.backend is None:
        # DeepSpeed has connected them on the CPU, where accelerate assumes a single process.
        state.backend = _dist().get_backend()
        state.process_index, state.num_processes = _dist().get_rank(), _dist().get_world_size()
        state.local_process_index = int(os.environ["LOCAL_RANK"])
    # A separate gloo group: objects need no GPU, and others may wait long for the main process.
    _control = _dist().new_group(backend="gloo", timeout=MAIN_ALONE)
    _patience, _meetings = patience, 0
    _note_place("its start")
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminated)


def on_cpu() -> bool:
    """Return whether libraries must be told that there is no accelerator.

    DeepSpeed detects this itself, and would not run if they were told.
    """
    import torch

    return not (torch.cuda.is_available() or _is_set("ACCELERATE_USE_DEEPSPEED"))


def trainer_arguments() -> dict[str, Any]:
    """Return the arguments with which a transformers trainer keeps the processes connected."""
    arguments: dict[str, Any] = {"use_cpu": on_cpu()}
    if _control is not None:
        from accelerate.state import AcceleratorState

        # State of an earlier trainer of this run, which wrapped its model differently.
        AcceleratorState._reset_state(reset_partial_state=False)
        arguments["accelerator_config"] = {"use_configured_state": True}
    return arguments


def load_whole() -> None:
    """Let models load whole, since transformers partitions them once ZeRO-3 is configured."""
    if _control is not None and _is_set("ACCELERATE_USE_DEEPSPEED"):
        from transformers.integrations.deepspeed import unset_hf_deepspeed_config

        unset_hf_deepspeed_config()


def stop() -> None:
    """Wait for all processes and disconnect them."""
    global _control
    if _control is not None:
        barrier()  # A process that left earlier would count as lost.
        _control = None
        _dist().destroy_process_group()


# -- agreeing --------------------------------------------------------------------------------------


def barrier() -> None:
    """Wait until every process is here."""
    if _control is not None:
        with losses_explained():
            _dist().barrier(group=_control)


def broadcast(value: T) -> T:
    """Return the main process's value in every process."""
    if _control is None:
        return value
    box = [value]
    with losses_explained():
        _dist().broadcast_object_list(box, src=0, group=_control)
    return box[0]


def meet(place: str) -> None:
    """Wait until every process reaches this point, up to the run's time limit.

    A process that hangs is detected and named here; torch's collectives only report a timeout.

    Args:
        place: Name of the point, as in "the episodes of step 3".

    Raises:
        ProcessLost: A process did not arrive.
    """
    global _meetings
    if _control is None:
        return
    _meetings += 1
    start = time.monotonic()
    with losses_explained():
        _note_place(place)
        while missing := [
            f"process {rank} (last seen at {location})"
            for rank, (meetings, location) in enumerate(_places())
            if meetings < _meetings
        ]:
            waited = time.monotonic() - start
            if waited > _patience:
                raise ProcessLost(
                    f"expected all {world()} processes to reach {place} within {_patience:g} s of "
                    f"each other, but {' and '.join(missing)} did not; raise "
                    f"--rollout.rank-timeout if they were only slow; {RESUME}"
                )
            # Poll often at first, as most arrive at once, then less and less, to spare the store.
            time.sleep(min(POLL, 0.001 + waited / 10))


def gather(values: Sequence[T], place: str = "a gathering") -> list[T]:
    """Return the values of all processes, by rank, in every process, after they :func:`meet`."""
    if _control is None:
        return list(values)
    meet(place)
    parts: list[list[T]] = [[]] * world()
    with losses_explained():
        _dist().all_gather_object(parts, list(values), group=_control)
    return [value for part in parts for value in part]


def on_main(function: Callable[[], T]) -> T:
    """Run a function in the main process only, and return its result in every process.

    An error in the main process ends the others as well.
    """
    result: tuple[T] | None = None  # In a tuple, because the result itself may be None.
    if is_main():
        result = (function(),)
    result = broadcast(result)
    assert result is not None  # an error in the main process ends the wait with one of its own
    return result[0]


def share(count: int) -> range:
    """Return this process's indices among ``count``: contiguous parts of nearly equal length."""
    of, index = world(), rank()
    return range(count * index // of, count * (index + 1) // of)


def main_only(function: Callable[P, None]) -> Callable[P, None]:
    """Decorate a function, such as a file's writer, to do nothing outside the main process."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> None:
        if is_main():
            function(*args, **kwargs)

    return called


@contextlib.contextmanager
def main_speaks() -> Iterator[None]:
    """Let only the main process print."""
    if is_main():
        yield
        return
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield


# -- the end ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def losses_explained() -> Iterator[None]:
    """Raise :class:`ProcessLost` in place of torch's errors after the loss of a process."""
    try:
        yield
    except RuntimeError as error:
        text = f"{type(error).__name__} {error}".lower()
        is_collective = any(word.lower() in text for word in COLLECTIVE)
        if world() == 1 or isinstance(error, AgentGymError) or not is_collective:
            raise
        late = "timed out" in text or "timeout" in text
        raise ProcessLost(_stuck() if late else _describe_loss()) from error


def first_to_speak() -> bool:
    """Return whether this process should report why the run ends; call it once, at the end.

    All processes find wrong arguments before they are connected, and the main process reports them.
    Later the first caller reports.
    """
    if world() == 1 or _control is None:
        return is_main()
    try:
        first = int(_store().add(SPOKEN, 1)) == 1
    except RuntimeError:  # the store went with the process that held it
        first = True
    if first and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return first


def leave() -> NoReturn:
    """Exit silently after the reporting process had time to print.

    The launcher ends this process as soon as that one has ended.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    time.sleep(LINGER)
    os._exit(1)  # A regular exit would wait for processes that are gone.


def _zero_stage() -> int:
    """Return DeepSpeed's ZeRO stage; 0 without it."""
    stage = os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE", "2")
    return int(stage) if _is_set("ACCELERATE_USE_DEEPSPEED") else 0


def _is_set(variable: str) -> bool:
    """Return whether the launcher has set a switch."""
    return os.environ.get(variable, "").lower() in ("true", "1")


def _terminated(*_: object) -> NoReturn:
    """Treat SIGTERM as the end of another process."""
    raise ProcessLost(_describe_loss())


def _describe_loss() -> str:
    """Return the error that the run cannot continue."""
    return (
        f"expected all {world()} processes to run until the end, but another one ended, or the "
        f"launcher was stopped; {RESUME}"
    )


def _stuck() -> str:
    """Return the error that a collective waited too long, and where each process was."""
    try:
        places = ", ".join(
            f"process {rank} at {location}" for rank, (_, location) in enumerate(_places())
        )
    except RuntimeError:  # the store went with the process that held it
        return _describe_loss()
    return (
        f"expected all {world()} processes to train together, but one made the others wait for "
        f"more than {_patience:g} s (--rollout.rank-timeout); last seen: {places}; {RESUME}"
    )


def _note_place(place: str) -> None:
    """Publish the place of this process."""
    _store().set(PLACE.format(rank()), f"{_meetings} {place}")


def _places() -> list[tuple[int, str]]:
    """Return, for every process, its number of meetings and its last place."""
    entries = _store().multi_get([PLACE.format(rank) for rank in range(world())])
    pairs = [value.decode().partition(" ") for value in entries]
    return [(int(meetings), place) for meetings, _, place in pairs]


def _store() -> Store:
    """Return the store through which the processes found each other."""
    from torch.distributed.distributed_c10d import _get_default_store

    return _get_default_store()


def _dist() -> ModuleType:
    """Return torch's module; importing it takes seconds that a single process need not spend."""
    import torch.distributed

    return torch.distributed
