"""agentgym: Gymnasium environments of text tasks for language-model agents.

Importing the package registers every id, so that ``gymnasium.make("agentgym/WebShop-v0")`` works.
The names below are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from agentgym.registration import register_all

if TYPE_CHECKING:
    from agentgym.evaluation import Limits, Prices, Report, compare, evaluate, read_report
    from agentgym.making import list_envs, make, make_vec

__version__ = "0.1.0"
__all__ = [
    "Limits",
    "Prices",
    "Report",
    "__version__",
    "compare",
    "evaluate",
    "list_envs",
    "make",
    "make_vec",
    "read_report",
]

_MAKING = ("list_envs", "make", "make_vec")


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = "making" if name in _MAKING else "evaluation"
    value = getattr(importlib.import_module(f"agentgym.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_all()
