"""Measure peak memory, on a GPU or a CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

__all__ = ["held_bytes", "peak_bytes"]


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the peak growth of tensor memory while a function runs.

    On a GPU torch's allocator counts it. On a CPU the profiler records every allocation and
    release, also inside operations, which takes several times as long.
    """
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        old_bytes = torch.cuda.memory_allocated()
        work()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - old_bytes
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=cpu, profile_memory=True) as profile:
        work()
    # Only the raw events hold sizes one by one; the public tables have their sums.
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    current = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        current += event.nbytes()
        peak = max(peak, current)
    return peak


def held_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """Return the bytes of some tensors; shared storage counts once."""
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(storages.values())
