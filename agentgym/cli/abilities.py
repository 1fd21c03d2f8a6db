"""Abilities of this machine: environments, engines, models, servers, training."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from agentgym.errors import AgentGymError
from agentgym.registration import EnvFamily, families
from agentgym.sandbox import SandboxConfig, open_sandbox

COMPILERS = ("g++", "cmake", "make")
"""Tools that build the original engines."""
COMPILE = "apt-get install build-essential cmake"
"""Command that installs them on Debian."""


@dataclass(frozen=True)
class Ability:
    """Something that this machine can or cannot do."""

    group: str
    """``environment``, ``engine``, ``model``, ``server`` or ``training``."""
    name: str
    """What it is."""
    problem: str = ""
    """Why it is impossible; empty if it is possible."""
    extra: str = ""
    """Extra of the distribution that installs it; empty if there is none."""
    commands: tuple[str, ...] = ()
    """Further install commands besides the extra, in order."""

    @property
    def ok(self) -> bool:
        """Whether it is possible."""
        return not self.problem


@dataclass(frozen=True)
class Part:
    """A feature that needs optional packages."""

    group: str
    """See `Ability`."""
    name: str
    """Its name, and the argument that enables it."""
    packages: tuple[str, ...]
    """Import names of the packages that it needs."""
    extra: str
    """Extra of the distribution that installs them."""
    compiled: bool = False
    """Whether they are built from source."""


PARTS: tuple[Part, ...] = (
    Part("engine", "alfworld engine=alfworld (the original)", ("alfworld",), "alfworld", True),
    Part("engine", "textworld engine=inform7 (the original)", ("textworld",), "textworld", True),
    Part("engine", "mathpython data=FILE (sympy compares answers)", ("sympy",), "math"),
    Part("engine", "search with tantivy", ("tantivy",), "search"),
    Part("engine", "search with dense vectors", ("usearch", "torch"), "search"),
    Part("engine", "swe: published sets", ("datasets", "pyarrow"), "swe"),
    Part("model", "--policy chat: models behind endpoints", ("openai",), "chat"),
    Part("model", "--policy hf:PATH: local models", ("torch", "transformers", "trl"), "train"),
    Part("server", "agentgym serve", ("starlette", "uvicorn"), "serve"),
    Part("training", "agentgym train", ("torch", "transformers", "trl", "peft"), "train"),
    Part("training", "charts and notebooks", ("matplotlib", "nbclient"), "notebooks"),
    Part("training", "--engine vllm", ("vllm",), "vllm"),
    Part("training", "--memory.quantize (QLoRA)", ("bitsandbytes",), "memory"),
    Part("training", "--backend ray", ("ray",), "ray"),
    Part("model", "--otel (OpenTelemetry)", ("opentelemetry",), "otel"),
    Part("training", "--report-to dashboards", ("wandb", "tensorboard"), "dashboards"),
)
"""Features of optional packages, in the order of the list."""


def abilities(sandbox: bool) -> Iterator[Ability]:
    """Examine every family and optional feature; nothing is played.

    Args:
        sandbox: Whether a sandbox can run here.
    """
    for family in families():
        yield _environment(family, sandbox)
    for part in PARTS:
        yield _optional(part)


def _environment(family: EnvFamily, sandbox: bool) -> Ability:
    """Return whether a family can be played with its bundled tasks."""
    lacking = _lacking(family.packages)
    name = f"{family.name}: bundled tasks"
    if lacking:
        return Ability("environment", name, f"needs {', '.join(lacking)}", family.extra)
    if family.boxed and not sandbox:
        return Ability("environment", name, "needs one of the sandboxes below")
    return Ability("environment", name, _lacking_in_box(family.programs))


def _lacking_in_box(programs: Sequence[str]) -> str:
    """Say which programs a sandbox of this machine lacks, which is opened to see; empty: none."""
    if not programs:
        return ""
    try:
        with open_sandbox(SandboxConfig()) as box:
            absent = [name for name in programs if box.lacks(name)]
    except AgentGymError as error:
        return str(error)
    return f"needs {', '.join(absent)} in its sandbox" if absent else ""


def _optional(part: Part) -> Ability:
    lacking = _lacking(part.packages)
    if not lacking:
        return Ability(part.group, part.name)
    problem = f"needs {', '.join(lacking)}"
    commands: tuple[str, ...] = ()
    if part.compiled and (tools := [tool for tool in COMPILERS if shutil.which(tool) is None]):
        problem, commands = f"{problem}, built with {', '.join(tools)}", (COMPILE,)
    return Ability(part.group, part.name, problem, part.extra, commands)


def _lacking(packages: Iterable[str]) -> list[str]:
    return [name for name in packages if find_spec(name) is None]


def play_each(sandbox: bool) -> Iterator[tuple[str, str]]:
    """Let the expert of each available family play one test task.

    Args:
        sandbox: Whether a sandbox can run here.

    Yields:
        The name of a family, and the problem; empty if the task was solved.
    """
    from agentgym.evaluation import evaluate

    for family in families():
        if problem := _environment(family, sandbox).problem:
            yield family.name, problem
            continue
        try:
            report = evaluate("oracle", family.name, num_tasks=1)
        except AgentGymError as error:
            yield family.name, str(error)
            continue
        failure = report.rows[0].error or f"ended by {report.rows[0].stop_reason}"
        yield family.name, "" if report.success == 1.0 else failure


def system_note() -> str:
    """Return a note on the operating system; empty on Linux."""
    if sys.platform.startswith("linux"):
        return ""
    return (
        f"This is {sys.platform}: sandboxes of namespaces need Linux. Use Docker or Podman, "
        "agentgym serve sandbox on a Linux machine, or (Windows) WSL 2."
    )
