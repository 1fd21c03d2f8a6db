"""Whole training runs on the toy environment, small enough for tests."""

from __future__ import annotations

import os
import signal

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task
from agentgym.errors import ConfigurationError
from benchmarks.studies.runner.keys import settle
from tests.toy import TOY_ID, ToyEnv
from tests.trainers import forks
from trainers.cli import launch_config, parse_config
from trainers.config.schema import TrainConfig
from trainers.phases.multirun.cache import Keys, Run, RunCache

ROOT = Path(__file__).parents[2]
FLAKY_ID = "agentgym-test/Flaky-v0"
BROKEN_ID = "agentgym-test/Broken-v0"
EASY_ID = "agentgym-test/Easy-v0"
NO_EXPERT_ID = "agentgym-test/NoExpert-v0"
TAUGHT_ID = "agentgym-test/Taught-v0"
KEYED_ID = "agentgym-test/Keyed-v0"
API_KEY = "sk-live-8f3a1c77"
"""What the keyed environment asks for."""

SETTINGS: Mapping[str, Any] = {
    "env": TOY_ID,
    "steps": 6,
    "horizon": "3,4,5",
    "horizon-every": 2,
    "minutes": 0,
    "sft.demonstrations": 64,
    "sft.max-steps": 40,
    "sft.copy-steps": 5,
    "sft.eval-every": 20,
    "sft.eval-tasks": 16,
    "sft.save-every": 10,
    "sft.learning-rate": 1e-2,
    "rl.groups": 4,
    "rl.num-generations": 4,
    "memory.micro-tokens": 400,
    "rl.turn-tokens": 4,
    "rl.episode-tokens": 150,
    "rl.save-every": 2,
    "rl.learning-rate": 1e-2,
    "rl.warmup-steps": 0,
    "eval.num-tasks": 20,
    "eval.every": 2,
    "eval.valid-tasks": 10,
    "eval.baselines": "none",
    "tiny.hidden": 16,
    "tiny.layers": 1,
    "tiny.heads": 2,
    "tiny.intermediate": 64,
    "tiny.context": 256,
}
"""Two stage switches (steps 3 and 5), three checkpoints of each phase, a few seconds."""

LAUNCHER = "accelerate.commands.launch"
"""What ``accelerate launch`` runs."""
ALONE = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
"""Environment variables of a run of one thread and no network."""
ALIVE = "alive"
"""For a process that is not killed."""
CLOCK = ("seconds", "time", "tokens_per_second", "waited_seconds")
"""Fields of ``metrics.jsonl`` that two equal runs do not share."""


def arguments(out: Path, *flags: str, **changes: Any) -> list[str]:
    """The command line of a toy run.

    Args:
        out: Folder of the run.
        *flags: Further arguments.
        **changes: Settings, ``rl__groups`` for ``--rl.groups``; None leaves one out.
    """
    renamed = {k.replace("__", ".").replace("_", "-"): v for k, v in changes.items()}
    pairs = {**SETTINGS, **renamed, "out": out}
    return [*(f"--{name}={value}" for name, value in pairs.items() if value is not None), *flags]


def config(out: Path, *flags: str, **changes: Any) -> TrainConfig:
    """The configuration that this command line stands for."""
    return parse_config(arguments(out, *flags, **changes))


def begun_from(donor: Path | None, command: list[str]) -> list[str]:
    """The command that plays a run from the warm start of another, if it would come to the same.

    Warm start and baselines are half of a short run. Studies share them by the same rule, and
    ``tests/benchmarks/test_studies.py`` tests that no number changes.

    Args:
        donor: Folder of a run that has ended; None leaves the command as it is.
        command: What :func:`arguments` returned.
    """
    if donor is None:
        return command
    out = Path(next(flag for flag in command if flag.startswith("--out=")).removeprefix("--out="))
    settings = tuple(flag for flag in command if not flag.startswith("--out="))
    names = str(donor), out.name
    run_flags = ("--config", str(donor / "config.yaml")), settings
    runs = [
        Run("", 0, flags, Keys(name, settle(flags).keys(0).start))
        for name, flags in zip(names, run_flags, strict=True)
    ]
    if runs[0].keys.start != runs[1].keys.start:
        return command
    return RunCache(out.parent, parse_config).begin(runs[1], runs[:1])


def run_command(
    command: Iterable[str],
    die_at: str = ALIVE,
    environment: Mapping[str, str] | None = None,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run ``agentgym-train`` in a process of its own, with the toy environments registered.

    Args:
        command: Arguments.
        die_at: ``phase:step`` of a record of ``metrics.jsonl``; as soon as it is written the
            process gets SIGKILL.
        environment: Its environment variables, offline unless these say otherwise, in an
            interpreter that starts with them; None forks a process that has imported torch.
        **options: Of ``subprocess.run``, with ``environment``.
    """
    if environment is None:
        started = forks.Started(__name__, [die_at, *command], {**os.environ, **ALONE})
        try:
            return started.communicate(timeout=600)
        finally:
            started.terminate()
    return subprocess.run(
        [sys.executable, "-m", __name__, die_at, *command],
        cwd=ROOT,
        env={"HF_HUB_OFFLINE": "1", **environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        **options,
    )


def launch(
    command: Iterable[str],
    config: str = "ddp",
    die_at: str = ALIVE,
    nodes: int = 1,
    unforked: int | None = None,
) -> list[subprocess.CompletedProcess[str]]:
    """Run ``agentgym-train`` in two processes of this machine, as a user would launch it.

    Args:
        command: Arguments.
        config: Name of the launch configuration.
        die_at: ``phase:step@rank``: that process gets SIGKILL when the record is written; or
            ``hang:step@rank``: it never ends the episodes of that step.
        nodes: Launchers that start a process each (2), or one that starts both (1).
        unforked: Rank of the process that is an interpreter of its own, as a user's are.

    Returns:
        How each launcher ended.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    launcher = [
        "--config_file", str(launch_config(config)), "--num_processes", "2",
        "--num_machines", str(nodes), "--main_process_ip", "127.0.0.1",
        "--main_process_port", str(port),
    ]  # fmt: skip
    environment = {**os.environ, **ALONE, forks.UNFORKED: str(unforked)}
    program = ["-m", forks.__name__, die_at, *command]
    started = [
        forks.Started(LAUNCHER, [*launcher, "--machine_rank", str(rank), *program], environment)
        for rank in range(nodes)
    ]
    try:
        return [
            process.communicate(timeout=500) for process in started
        ]  # A deadlock must fail the test.
    finally:
        for process in started:
            process.terminate()


def metrics(folder: Path) -> list[dict[str, Any]]:
    """Records of a run, without what the clock said."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    return [{k: v for k, v in record.items() if k not in CLOCK} for record in records]


class Killed(BaseException):
    """Stands for the end of the process."""


def killed_at(phase: str, step: int | None, patch: pytest.MonkeyPatch) -> type[Killed]:
    """Let the run end right after a record; step None: after any of the phase."""
    from trainers.output.run_folder import RunFolder

    log = RunFolder.log

    def dying(self: RunFolder, **record: Any) -> None:
        log(self, **record)
        if record["phase"] == phase and step in (None, record.get("step")):
            raise Killed

    patch.setattr(RunFolder, "log", dying)
    return Killed


def resume_killed(
    folder: Path, *flags: str, die_at: str = "rl:3", donor: Path | None = None, **changes: Any
) -> tuple[Path, Path]:
    """Play a run, and the same run killed and resumed; both have the same records.

    Args:
        folder: Where the folders of the two go.
        *flags: Flags of both.
        die_at: Of :func:`run_command`.
        donor: A run with the same warm start.
        **changes: Settings of both.

    Returns:
        Their folders.
    """
    from trainers.cli import main

    whole, killed = folder / "whole", folder / "killed"
    assert main(begun_from(donor, arguments(whole, *flags, **changes))) == 0
    command = arguments(killed, *flags, **changes)
    died = run_command(begun_from(whole, command), die_at=die_at)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert main([*command, "--resume"]) == 0
    assert by_phase(whole) == by_phase(killed)
    assert summary(whole) == summary(killed)
    return whole, killed


def train_weights(
    folder: Path, *flags: str, start: Path | None = None, **changes: Any
) -> dict[str, Any]:
    """The weights after a run through the command, perhaps from the warm start of another run."""
    from trainers.cli import main

    assert main(begun_from(start, arguments(folder, *flags, **changes))) == 0
    return trained_weights(folder)


def trained_weights(folder: Path) -> dict[str, Any]:
    """The weights that a run ended with."""
    from safetensors.torch import load_file

    weights: dict[str, Any] = load_file(folder / "checkpoints" / "trained" / "model.safetensors")
    return weights


def equal(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether weights are equal to the last bit."""
    return all(bool((first[name] == second[name]).all()) for name in first)


def by_phase(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The same records by phase (and arm): what a resumed run must share with an unbroken one.

    Without the log-probability probe, which every process makes of the engine that it starts.
    """
    phases: dict[str, list[dict[str, Any]]] = {}
    for record in metrics(folder):
        record.pop("probe_gap", None)
        phases.setdefault(f"{record['phase']} {record.get('arm', '')}".strip(), []).append(record)
    return phases


def nearly(records: Any) -> Any:
    """The same records to compare with, every number within 1e-6.

    Environments in threads or processes answer in an order of their own, so that other turns share
    a forward, whose results differ in the last digits.
    """
    if isinstance(records, dict):
        return {key: nearly(value) for key, value in records.items()}
    if isinstance(records, list):
        return [nearly(value) for value in records]
    return pytest.approx(records, rel=1e-6, abs=1e-6) if isinstance(records, float) else records


def summary(folder: Path) -> dict[str, Any]:
    """The summary of a run, without what the clock said."""
    content: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    for name in ("wall_s", "cpu_s", "step_seconds", "estimated_gib", "peak_gib"):
        content.pop(name)
    return content


def files(folder: Path) -> dict[str, bytes]:
    """Content of every file in a folder, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def newest_checkpoint(output: Path) -> Path | None:
    """The newest complete checkpoint of TRL in a folder, None if there is none."""
    from trainers.phases.reinforcement import complete, updates_of

    return max(complete(output), key=updates_of, default=None)


def last_line(text: str) -> str:
    """What a person reads last."""
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


class FlakyEnv(ToyEnv):
    """Every third task fails: half of these at their start, half at the second action."""

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        if task.index % 6 == 0:
            raise RuntimeError("no power")
        return super()._start(task, rng)

    def _act(self, action: str) -> Outcome:
        if self.task.index % 6 == 3 and self.turn == 1:
            raise ZeroDivisionError("short circuit\nin the second line")
        return super()._act(action)


class BrokenEnv(ToyEnv):
    """Fails at the first action, whatever it is."""

    def _act(self, action: str) -> Outcome:
        raise RuntimeError("short circuit")


class EasyEnv(ToyEnv):
    """Any action solves the task, so an expert has no advantage."""

    def _act(self, action: str) -> Outcome:
        return Outcome("the door opens", 1.0, True, success=True, score=1.0)


class NoExpertEnv(ToyEnv):
    """A family that nobody has solved: no expert, and nothing known of how long one would need."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tasks.oracle_turns = lambda task: None  # type: ignore[method-assign]

    def _oracle_turns(self) -> int | None:
        return None

    def _oracle_action(self) -> str | None:
        return None


class TaughtEnv(ToyEnv):
    """The expert that is imitated may be another than the environment's own.

    ``red`` sees nothing but red, and ``wavering`` does so in every other task.
    """

    def __init__(self, expert: str = "own", **kwargs: Any) -> None:
        self._expert = expert
        super().__init__(**kwargs)

    def _demonstrator_action(self) -> str | None:
        sees = self._expert == "own" or (self._expert == "wavering" and self.task.index % 2)
        return super()._oracle_action() if sees else "press red"


class KeyedEnv(ToyEnv):
    """An environment behind a server that asks for a key."""

    def __init__(self, api_key: str = "", **kwargs: Any) -> None:
        if api_key != API_KEY:
            raise ConfigurationError(f"expected the right api_key, got one of {len(api_key)}")
        super().__init__(**kwargs)


class UnknownLengthEnv(ToyEnv):
    """An environment whose task set does not know how long the expert needs."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tasks.oracle_turns = lambda task: None  # type: ignore[method-assign]


class ForeignEnv(gymnasium.Env[str, str]):
    """An environment that is none of agentgym's."""

    def __init__(self, horizon: int) -> None:
        pass


ENVS: Mapping[str, type[gymnasium.Env[str, str]]] = {
    "agentgym-test/Foreign-v0": ForeignEnv,
    FLAKY_ID: FlakyEnv,
    BROKEN_ID: BrokenEnv,
    EASY_ID: EasyEnv,
    NO_EXPERT_ID: NoExpertEnv,
    TAUGHT_ID: TaughtEnv,
    KEYED_ID: KeyedEnv,
    "agentgym-test/UnknownLength-v0": UnknownLengthEnv,
}
for env_id, env_class in ENVS.items():
    if env_id not in gymnasium.registry:
        gymnasium.register(env_id, entry_point=f"tests.trainers.toy_runs:{env_class.__name__}")


def _die_at(moment: str) -> None:
    """Arrange for SIGKILL right after a record has been written, or for a hang."""
    from trainers import processes
    from trainers.output.run_folder import RunFolder

    moment, _, rank = moment.partition("@")
    phase, _, step = moment.partition(":")
    if phase == "hang":
        _hang_at(int(step), int(rank))
        return
    log = RunFolder.log

    def log_and_die(self: RunFolder, **record: Any) -> None:
        log(self, **record)
        place = str(record.get("step", record.get("arm")))
        if (record["phase"], place, processes.rank()) == (phase, step, int(rank or 0)):
            os.kill(os.getpid(), signal.SIGKILL)

    RunFolder.log = log_and_die  # type: ignore[method-assign]


def _hang_at(step: int, rank: int) -> None:
    """Arrange for one process to hang as it plays the episodes of a step.

    To the others, who wait for it, time passes ten times faster from then on.
    """
    from trainers import processes
    from trainers.grpo.trainer import MultiTurnTrainer

    play = MultiTurnTrainer.play_groups

    def play_or_hang(self: MultiTurnTrainer, now: int, *args: Any) -> Any:
        if (now, processes.rank()) == (step, rank):
            time.sleep(600)
        if now == step:
            hurried = SimpleNamespace(monotonic=lambda: 10 * time.monotonic(), sleep=time.sleep)
            processes.time = hurried  # type: ignore[assignment]
        return play(self, now, *args)

    MultiTurnTrainer.play_groups = play_or_hang  # type: ignore[method-assign]


if __name__ == "__main__":
    from tests.trainers.pictures import drawn
    from tests.trainers.words import remembered
    from trainers.cli import main

    if sys.argv[1] != ALIVE:
        _die_at(sys.argv[1])
    with drawn(False), remembered():
        code = main(sys.argv[2:])
    sys.exit(code)
