"""Work on many items in several processes; the results come in the order of the items."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from agentgym.errors import EnvFailure

Item = TypeVar("Item")
Result = TypeVar("Result")
AHEAD = 4
"""Items of each process that are handed out before their results are asked for."""

_work: Callable[[Any], Any] | None = None
"""Function that a worker process applies to each item."""


def in_order(
    make: Callable[[], AbstractContextManager[Callable[[Item], Result]]],
    items: Iterable[Item],
    workers: int,
) -> Iterator[tuple[Item, Result]]:
    """Yield each item with its result.

    Args:
        make: Makes what is called with an item, once in every process; it, the items and the
            results must be picklable if there are several.
        items: The items, of which only some are read ahead.
        workers: Processes. With one the work is done in this one.

    Raises:
        EnvFailure: A process died.
    """
    if workers == 1:
        with make() as work:
            for item in items:
                yield item, work(item)
        return
    earlier = {*multiprocessing.active_children()}
    # Fresh processes: copies of this one could hold locks of threads that they do not have.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(make,))
    try:
        yield from _ahead(pool, items, AHEAD * workers)
    except BaseException as error:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in {*multiprocessing.active_children()} - earlier:
            child.terminate()  # its current item may take minutes
        if isinstance(error, BrokenProcessPool):
            raise EnvFailure(
                f"expected {workers} processes to keep running, but one died, perhaps for lack of "
                "memory: use fewer `workers`; with one, the error is shown"
            ) from error
        raise
    pool.shutdown()


def _ahead(
    pool: ProcessPoolExecutor, items: Iterable[Item], limit: int
) -> Iterator[tuple[Item, Any]]:
    """Yield items with their results; limits the number of items in progress."""
    waiting: deque[tuple[Item, Future[Any]]] = deque()
    for item in items:
        with _ignoring_interrupts():  # submit() may start a process
            waiting.append((item, pool.submit(_do, item)))
        if len(waiting) >= limit:
            first, result = waiting.popleft()
            yield first, result.result()
    for first, result in waiting:
        yield first, result.result()


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Let processes started in the block ignore Ctrl-C; this process handles it and ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)


def _begin(make: Callable[[], AbstractContextManager[Callable[[Any], Any]]]) -> None:
    """Make ready to work; the work is never left, because the process ends with it."""
    global _work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _work = make().__enter__()


def _do(item: Any) -> Any:
    assert _work is not None
    return _work(item)
