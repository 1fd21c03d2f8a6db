"""Generation engines behind the protocol in ``base``, and the table of available engines.

A new engine is a module with a class like ``hf.HFEngine``, and a row of the table.

To add one of these, touch these files:

- a generation engine: ``trainers/rollouts/engines/<engine>.py``, a row in ``ENGINES`` of
  ``__init__.py`` beside it, its name in ``EngineName`` of ``trainers/config/sections.py``; its own
  settings are a section there, which reaches it as ``EngineSettings.options``. If it can hold a
  stale policy, too, it is a ``PoolEngine`` (``base.py`` there)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from agentgym.core.options import import_own
from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    from torch import nn

    from trainers.rollouts.engines.base import EngineSettings, GenerationEngine

__all__ = ["ENGINES", "Engine", "acting_engine", "check_installed", "engine_maker"]


class Engine(NamedTuple):
    """Location of an engine; names are ``MODULE:NAME`` within this package."""

    made_by: str
    """Class with a ``for_run(model, settings)``."""
    checked_by: str | None = None
    """Function that raises ``DependencyNotInstalled`` if the engine cannot run."""
    pooled_by: str | None = None
    """Class used instead if a stale policy plays, too; None: the same."""


ENGINES: Mapping[str, Engine] = MappingProxyType(
    {
        "hf": Engine("hf:HFEngine", pooled_by="hf_pool:HFPoolEngine"),
        "hf-copy": Engine("hf_copy:HFCopyEngine", pooled_by="hf_pool:HFCopyPoolEngine"),
        "vllm": Engine("vllm_colocate:VLLMColocateEngine", "vllm_process:check_vllm"),
        "vllm-server": Engine("vllm_server:VLLMServerEngine"),
        "sglang-server": Engine("sglang_server:SGLangServerEngine"),
    }
)
"""Every engine that a run can choose, by name."""


def acting_engine(name: str, *, ahead: bool, sharded: bool) -> str:
    """Return the engine that replaces a requested one.

    With sharded weights, or when generating ahead of training, a process cannot generate with the
    weights being trained: then ``hf`` means ``hf-copy``.
    """
    return "hf-copy" if name == "hf" and (ahead or sharded) else name


def check_installed(name: str, pool: bool = False) -> None:
    """Check before a run that the engine's package or custom class is usable.

    Args:
        name: Name of the engine.
        pool: Whether it must hold a stale policy.

    Raises:
        DependencyNotInstalled: A required package is absent; names the install commands.
        ConfigurationError: A custom class cannot be loaded, or is not an engine, or not one for a
            stale policy.
    """
    if name not in ENGINES:
        if pool and not hasattr(_engine(name), "sync_stale"):
            raise ConfigurationError(
                "expected --engine with a place for a stale policy (sync_stale, see PoolEngine of "
                f"trainers.rollouts.engines.base), got {name!r}; choose hf, or "
                "--cross-policy.share 0"
            )
        _engine(name)
    elif (check := ENGINES[name].checked_by) is not None:
        _load(check)()


def engine_maker(name: str, settings: EngineSettings) -> Callable[[nn.Module], GenerationEngine]:
    """Return a factory of a named engine (of the table, or ``MODULE:CLASS``) for a model."""
    return partial(_make, name, settings)


def _make(name: str, settings: EngineSettings, model: nn.Module) -> GenerationEngine:
    """Import the engine, which may take seconds, and make it."""
    engine: GenerationEngine = _engine(name, settings.pool).for_run(model, settings)
    return engine


def _engine(name: str, pool: bool = False) -> Any:
    """Return the class of an engine, with a stale policy if needed."""
    if name in ENGINES:
        engine = ENGINES[name]
        return _load((pool and engine.pooled_by) or engine.made_by)
    description = "a generation engine: a class with for_run(model, settings)"
    return import_own(
        name,
        "--engine MODULE:CLASS",
        description,
        lambda candidate: callable(getattr(candidate, "for_run", 0)),
    )


def _load(path: str) -> Any:
    """Import a name from a module of this package."""
    module, _, name = path.partition(":")
    return getattr(import_module(f"{__name__}.{module}"), name)
