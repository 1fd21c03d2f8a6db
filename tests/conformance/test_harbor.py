"""Harbor: our tasks and boxes in its trials, and the same episodes as through Gymnasium."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("harbor", reason="harbor is in .ci/peers")

from harbor.models.task.config import EnvironmentConfig, NetworkMode, NetworkPolicy
from harbor.models.task.task import Task as TheirTask
from harbor.models.trial.paths import TrialPaths

from agentgym.cli import main
from agentgym.core.env import TextEnv
from agentgym.envs.swe.engine.commands import only_command
from agentgym.envs.swe.engine.observation import show
from agentgym.envs.swe.env import SWEEnv
from agentgym.envs.swe.making.harbor.folders import FolderOptions, folder_name, write_folder
from agentgym.errors import ConfigurationError
from agentgym.interop.harbor.environment import TIMED_OUT, NamespaceEnvironment
from agentgym.interop.harbor.folder import open_folder
from agentgym.registration.making import make
from agentgym.sandbox.base import ExecResult
from tests.conformance.episodes import indices
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.small import SUBMIT, bash
from tests.interop.harbor.test_harbor import TOML, write_task

pytestmark = needs_box
ENVIRONMENT = "agentgym.interop.harbor:NamespaceEnvironment"
OFFLINE = NetworkPolicy(network_mode=NetworkMode.NO_NETWORK)
WANTED = indices("agentgym/SWE-v0")
TASKS = len(WANTED)


@pytest.fixture(scope="module")
def swe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bundled tasks as folders."""
    out = tmp_path_factory.mktemp("swe")
    env = SWEEnv(data="bundled")
    for task_id in env.tasks.panel("test", WANTED.stop, 0).ids[WANTED.start :]:
        task = env.tasks.find(task_id)
        write_folder(task, env.tasks.problem(task), out / folder_name(task), FolderOptions())
    env.close()
    return out


def trials(folder: Path, out: Path, agent: str, *more: str) -> list[dict[str, Any]]:
    """Let Harbor run an agent on the tasks of a folder; return what came of each trial."""
    command = [str(Path(sys.executable).with_name("harbor")), "run", "-p", str(folder)]
    command += ["-a", agent, "--env", ENVIRONMENT, "-o", str(out / agent), "-n", "2", *more]
    process = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert process.returncode == 0, process.stdout + process.stderr
    results = [json.loads(path.read_text()) for path in (out / agent).glob("*/*/result.json")]
    assert results, process.stdout
    return results


def rewards(results: list[dict[str, Any]]) -> list[float]:
    assert not any(result["exception_info"] for result in results), results
    return [result["verifier_result"]["rewards"]["reward"] for result in results]


@pytest.mark.slow
def test_the_oracle_solves_what_doing_nothing_does_not(swe: Path, tmp_path: Path) -> None:
    assert rewards(trials(swe, tmp_path, "oracle")) == [1.0] * TASKS
    assert rewards(trials(swe, tmp_path, "nop")) == [0.0] * TASKS


def test_harbor_reads_our_tasks(swe: Path) -> None:
    for folder in swe.iterdir():
        task = TheirTask(folder)
        assert task.config.schema_version == "1.4" and task.instruction.strip()
        assert task.config.environment.network_mode == NetworkMode.NO_NETWORK
        assert str(task.config.verifier.environment_mode.value) == "separate"


def test_harbor_publishes_our_data_set(tmp_path: Path) -> None:
    """Its program finds the tasks and the manifest, and computes the digests that stand there."""
    from harbor.cli.add import _resolve_local_task
    from harbor.cli.publish import _resolve_paths
    from harbor.models.dataset.manifest import DatasetManifest

    out = tmp_path / "tasks"
    options = ("--split", "test", "--num-tasks", "3", "--owner", "me")
    assert main(["push", "harbor", "swe", str(out), *options]) == 0
    next(out.glob("*/tests")).joinpath("x.pyc").touch()  # which Harbor leaves out
    manifest = DatasetManifest.from_toml_file(out / "dataset.toml")
    tasks, data_sets, *_ = _resolve_paths([out])
    assert data_sets == [out.resolve()] and len(tasks) == 3
    assert manifest.dataset.name == "me/swe"
    assert manifest.tasks == [_resolve_local_task(task) for task in tasks]
    assert all(entry.name.startswith("me/swe-") for entry in manifest.tasks)


def make_environment(folder: Path, tmp_path: Path, **options: Any) -> NamespaceEnvironment:
    """Make Harbor's environment of a task as a trial does."""
    task = TheirTask(folder)
    return NamespaceEnvironment(
        environment_dir=task.paths.environment_dir,
        environment_name=task.short_name,
        session_id="tests__env",
        trial_paths=TrialPaths(tmp_path / "trial"),
        task_env_config=task.config.environment,
        network_policy=options.pop("policy", OFFLINE),
        **options,
    )


def digest(turns: list[tuple[str, float, bool]]) -> str:
    return hashlib.sha256(json.dumps(turns).encode()).hexdigest()


async def through_harbor(
    environment: NamespaceEnvironment, first: str, actions: list[str], reward: float
) -> str:
    """Play commands in Harbor's environment; return the hash of what came of them."""
    await environment.start(force_build=False)
    turns = [(first, 0.0, False)]
    for action in actions:
        command, _ = only_command(action)
        execution = await environment.exec(command.text)
        output = (execution.stdout or "").encode()
        result = ExecResult(execution.return_code, output, 0, False, False, 0, 0.0)
        turns.append((show(result, 120, 8000), 0.0, False))
    turns.append(("[submitted]", reward, True))
    await environment.stop(delete=True)
    return digest(turns)


def through_gymnasium(env: TextEnv, index: int, actions: list[str]) -> tuple[str, str, float]:
    """Play commands and a submission; return the first observation, the hash and the reward."""
    first, _ = env.reset(seed=0, options={"split": "test", "index": index})
    turns = [(first, 0.0, False)]
    for action in (*actions, SUBMIT):
        observation, reward, terminated, *_ = env.step(action)
        turns.append((observation, float(reward), bool(terminated)))
    return first, digest(turns), turns[-1][1]


@pytest.mark.slow
@pytest.mark.parametrize("index", range(TASKS))
def test_episodes_are_those_of_gymnasium(index: int, swe: Path, tmp_path: Path) -> None:
    env = make(f"harbor:{swe}").unwrapped
    assert isinstance(env, TextEnv)
    *_, info = env.reset(seed=0, options={"split": "test", "index": index})
    looks = [
        "ls -la --time-style=+ | sed 1d",
        "cat README.md | head -5",
        "false",
        "nonsense \u202e",
        "echo x > /tmp/x; cat /tmp/x /nothing; python3 -c 'print(1)'",
    ]
    solution = []
    while not info["stop_reason"]:
        action = env.oracle_action() or SUBMIT
        solution.append(action)
        *_, info = env.step(action)
    for actions in ([bash(look) for look in looks], solution[:-1]):
        first, expected, reward = through_gymnasium(env, index, actions)
        assert reward == (actions != [bash(look) for look in looks])
        folder = swe / env.task.id.removeprefix("harbor/")
        coroutine = through_harbor(make_environment(folder, tmp_path), first, actions, reward)
        assert asyncio.run(coroutine) == expected
    env.close()


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[NamespaceEnvironment]:
    yield make_environment(write_task(tmp_path / "sum"), tmp_path)


def test_files_and_folders_travel_both_ways(
    environment: NamespaceEnvironment, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (source / "deep" / "run.sh").chmod(0o755)
    (source / "link").symlink_to("deep/run.sh")

    async def travel() -> None:
        await environment.start(force_build=False)
        await environment.upload_dir(source, "/tests")
        assert (await environment.exec("/tests/link", cwd="/")).stdout == "ran\n"
        await environment.exec("mkfifo /logs/verifier/pipe; ln -s /etc/passwd /logs/verifier/out")
        await environment.exec("ln -s deep /logs/verifier/in; echo 1 > /logs/verifier/reward.txt")
        await environment.download_dir("/logs/verifier", tmp_path / "got")
        await environment.upload_file(source / "deep" / "run.sh", "/solution/solve.sh")
        await environment.download_file("/solution/solve.sh", tmp_path / "solve.sh")
        with pytest.raises(FileNotFoundError):
            await environment.download_file("/solution/none", tmp_path / "none")
        await environment.stop(delete=True)
        await environment.stop(delete=True)

    asyncio.run(travel())
    assert sorted(path.name for path in (tmp_path / "got").iterdir()) == ["in", "reward.txt"]
    assert (tmp_path / "solve.sh").read_text() == "#!/bin/sh\necho ran\n"


def test_an_abandoned_command_ends_and_its_files_stay(
    environment: NamespaceEnvironment,
) -> None:
    async def cancelled() -> None:
        await environment.start(force_build=False)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(environment.exec("echo begun > /app/a; sleep 600"), 1)
        assert (await environment.exec("cat /app/a")).stdout == "begun\n"
        late = await environment.exec("sleep 600", timeout_sec=1)
        assert late.return_code == TIMED_OUT and "timed out after 1 s" in (late.stdout or "")
        assert (await environment.exec("cat /app/a")).stdout == "begun\n"
        await environment.stop(delete=True)

    asyncio.run(cancelled())


def test_there_is_no_network_and_what_needs_one_is_refused(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "sum")
    public = NetworkPolicy()
    with pytest.raises(ValueError, match="offline=true"):
        make_environment(folder, tmp_path, policy=public)
    with pytest.raises(ValueError, match="allowlist"):
        policy = NetworkPolicy(network_mode=NetworkMode.ALLOWLIST, allowed_hosts=["a.example"])
        make_environment(folder, tmp_path, policy=policy)
    environment = make_environment(folder, tmp_path, policy=public, offline="true")

    async def look() -> None:
        await environment.start(force_build=False)
        await environment.set_network_policy(OFFLINE)
        result = await environment.exec("grep -c : /proc/net/dev; cat /proc/net/route | wc -l")
        assert result.stdout == "1\n1\n"
        await environment.stop(delete=True)

    asyncio.run(look())


def test_a_task_that_needs_an_image_is_refused(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "sum")
    (folder / "environment/Dockerfile").write_text("FROM python\nRUN pip install numpy\n")
    with pytest.raises(ConfigurationError, match="RUN pip install numpy"):
        make_environment(folder, tmp_path)


def test_memory_is_held(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "sum", toml=TOML + "memory_mb = 64\n")
    environment = make_environment(folder, tmp_path)

    async def fill() -> None:
        await environment.start(force_build=False)
        result = await environment.exec("python3 -c 'x = bytearray(1 << 30)'; echo $?")
        assert (result.stdout or "").strip().splitlines()[-1] != "0"
        await environment.stop(delete=True)

    asyncio.run(fill())


def test_our_reader_and_theirs_agree(swe: Path) -> None:
    for task in open_folder(swe).tasks.values():
        parsed = TheirTask(task.folder)
        assert isinstance(parsed.config.environment, EnvironmentConfig)
        assert task.recipe.workdir == parsed.config.environment.workdir
        assert task.test_seconds == parsed.config.verifier.timeout_sec
        assert task.instruction == parsed.instruction.strip()
        assert [source for source, _ in task.artifacts][1:] == [
            artifact if isinstance(artifact, str) else artifact.source
            for artifact in parsed.config.artifacts
        ]
