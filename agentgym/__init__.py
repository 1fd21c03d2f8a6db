"""agentgym: Gymnasium environments of text tasks for language-model agents.

Importing the package registers every id, so that ``gymnasium.make("agentgym/WebShop-v0")`` works.
The names below are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from agentgym.registration import register_all

if TYPE_CHECKING:
    from agentgym.agents import Session, play_agent
    from agentgym.authoring import register_tools
    from agentgym.certification import Certificate, certify
    from agentgym.episodes import replay_file, rescore_file
    from agentgym.evaluation import (
        Leaderboard,
        Limits,
        Prices,
        Report,
        SuiteResult,
        compare,
        compare_trainings,
        evaluate,
        evaluate_all,
        read_report,
    )
    from agentgym.evaluation.policy_names import load_policy
    from agentgym.registration.making import list_envs, make, make_vec

__version__ = "0.1.0"
__all__ = [
    "Certificate",
    "Leaderboard",
    "Limits",
    "Prices",
    "Report",
    "Session",
    "SuiteResult",
    "__version__",
    "certify",
    "compare",
    "compare_trainings",
    "evaluate",
    "evaluate_all",
    "list_envs",
    "load_policy",
    "make",
    "make_vec",
    "play_agent",
    "read_report",
    "register_tools",
    "replay_file",
    "rescore_file",
]

_ELSEWHERE = {
    **dict.fromkeys(("list_envs", "make", "make_vec"), "registration.making"),
    **dict.fromkeys(("Session", "play_agent"), "agents"),
    **dict.fromkeys(("replay_file", "rescore_file"), "episodes"),
    **dict.fromkeys(("Certificate", "certify"), "certification"),
    "load_policy": "evaluation.policy_names",
    "register_tools": "authoring",
}
"""Public name -> its module, for the names that are not in ``agentgym.evaluation``."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import agentgym`` stays fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = f"agentgym.{_ELSEWHERE.get(name, 'evaluation')}"
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_all()
