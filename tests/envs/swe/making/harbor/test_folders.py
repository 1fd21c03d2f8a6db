"""SWE tasks as folders of Harbor: what they hold, and what their judge pays."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import venv
import zipfile
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import pytest

from agentgym.envs.swe.env import SWEEnv
from agentgym.envs.swe.instance import ImageSource, Instance
from agentgym.envs.swe.making.harbor.folders import (
    JUDGE,
    FolderOptions,
    folder_name,
    judge_archive,
    knowledge,
    write_folder,
    write_folders,
)
from agentgym.envs.swe.making.harbor.judge import KNOWLEDGE
from agentgym.errors import ConfigurationError, TaskNotFound
from agentgym.interop.harbor.env import HarborEnv
from agentgym.interop.harbor.imported import make
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.small import SmallSet, bash, make_bank, small_env

PLAIN = "/logs/verifier/reward.txt"
WRITE = f"open({PLAIN!r}, 'w').write('1')"
"""What the source under test runs to pay itself."""


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """A fault of ``sums``, with held-out questions."""
    first = SmallSet().instance("train", 0)
    return replace(first, held_out=make_bank(first, tmp_path_factory.mktemp("bank")))


@pytest.fixture(scope="module")
def folders(instance: Instance, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small tasks, written."""
    out = tmp_path_factory.mktemp("folders")
    env = small_env(instance)
    assert write_folders(env, out) == (4, 0)
    env.close()
    return out


@pytest.fixture(scope="module")
def harbor_env(folders: Path) -> HarborEnv:
    """The task with questions as an environment."""
    return make(str(folders / "swe-own-train-0"))


def reward(env: HarborEnv, *commands: str) -> float:
    """Return what commands and a submission are paid."""
    env.reset(seed=0, options={"index": 0})
    for command in commands:
        env.step(bash(command))
    return float(env.step("```submit\n```")[1])


def append(text: str) -> str:
    return f"cat >> sums/plain.py <<'END'\n{text}\nEND"


@pytest.mark.slow
def test_a_folder_holds_what_the_format_asks_for(folders: Path) -> None:
    assert sorted(path.name for path in folders.iterdir()) == [
        "swe-own-test-0", "swe-own-train-0", "swe-own-train-1", "swe-own-valid-0"
    ]  # fmt: skip
    folder = folders / "swe-own-train-0"
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {
        "instruction.md", "task.toml", "environment/Dockerfile", "solution/solve.sh",
        "solution/solution.patch", "solution/files/sums/plain.py", "tests/test.sh",
        f"tests/{JUDGE}", f"tests/{KNOWLEDGE}", "environment/repository/sums/plain.py",
    } <= names  # fmt: skip
    assert "Something is wrong with sums" in (folder / "instruction.md").read_text()
    assert (folder / "tests/test.sh").stat().st_mode & 0o111


def test_nothing_that_decides_is_where_the_model_works() -> None:
    env = SWEEnv(data="bundled")
    task = env.tasks.task("test", 0)
    instance = env.tasks.problem(task)
    facts = knowledge(instance)
    b64decodes_before = {path: b64decode(text) for path, text in facts["before"].items()}
    fixed = {path: b64decode(text) for path, text in facts["fixed"].items()}
    assert instance.fail_to_pass
    for test in instance.fail_to_pass:
        path, *_, name = test.partition("[")[0].split("::")
        assert f"def {name}(".encode() not in b64decodes_before.get(path, b"")
        assert f"def {name}(".encode() in fixed[path]
    assert facts["questions"] and facts["twins"]
    assert instance.id not in folder_name(task)
    env.close()


def test_the_same_task_gives_the_same_bytes(instance: Instance, tmp_path: Path) -> None:
    env = small_env(instance)
    task = env.tasks.task("train", 0)
    listings = []
    for name in ("a", "b"):
        write_folder(task, instance, tmp_path / name, FolderOptions())
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        listings.append([(p.relative_to(tmp_path / name), p.read_bytes()) for p in files])
    assert listings[0] == listings[1]
    env.close()


def test_the_judge_needs_the_standard_library_alone(tmp_path: Path) -> None:
    (tmp_path / JUDGE).write_bytes(judge_archive())
    with zipfile.ZipFile(tmp_path / JUDGE) as archive:
        archive.extractall(tmp_path)
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import agentgym.envs.swe.making.harbor.judge"
    )
    command = [sys.executable, "-I", "-S", "-c", script, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, check=True).stderr == b""


def test_an_image_without_a_pytest_of_today_is_no_zero(tmp_path: Path) -> None:
    """Where no reward is written, Harbor says that the tests failed to judge."""
    (tmp_path / "judge.zip").write_bytes(judge_archive())
    zipfile.ZipFile(tmp_path / "judge.zip").extractall(tmp_path)
    venv.create(tmp_path / "venv", symlinks=True)  # which holds no pytest
    (tmp_path / "old/_pytest").mkdir(parents=True)
    (tmp_path / "old/_pytest/_version.py").write_text("version_tuple = (7, 2, 1)")
    for path, words in (("", "No module named"), (f"{tmp_path}/old", "got 7")):
        environment = {"PATH": f"{tmp_path}/venv/bin", "PYTHONPATH": f"/testbed:{path}"}
        process = subprocess.run(
            [sys.executable, "-S", "-s", "-E", tmp_path / "judge.py"],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert process.returncode == 1 and "expected an image with pytest 8" in process.stderr
        assert words in process.stderr


def test_a_folder_that_is_there_stays(folders: Path, instance: Instance) -> None:
    env = small_env(instance)
    assert write_folders(env, folders, split="train", num_tasks=1) == (0, 1)
    with pytest.raises(TaskNotFound):
        write_folders(env, folders, split="none")
    with pytest.raises(ConfigurationError, match="can be written"):
        write_folders(env, Path("/proc/none"), num_tasks=1)
    env.close()


def test_an_image_can_be_named(instance: Instance, tmp_path: Path) -> None:
    env = small_env(instance)
    task = env.tasks.task("train", 0)
    write_folder(task, instance, tmp_path / "one", FolderOptions("my/image:1"))
    text = (tmp_path / "one/environment/Dockerfile").read_text()
    assert text.startswith("FROM my/image:1\n") and "RUN" not in text
    elsewhere = replace(instance, source=ImageSource("some/image"))
    with pytest.raises(ConfigurationError, match="some/image"):
        write_folder(task, elsewhere, tmp_path / "two", FolderOptions())
    env.close()


def test_what_the_judge_knows_can_be_read_by_people(folders: Path) -> None:
    content = (folders / "swe-own-train-0/tests" / KNOWLEDGE).read_bytes()
    assert json.loads(gzip.decompress(content))["fail_to_pass"] == [
        "tests/test_plain.py::test_add", "tests/test_plain.py::test_add_twice"
    ]  # fmt: skip


@needs_box
@pytest.mark.slow
def test_the_solution_is_paid_and_nothing_else_is_not(folders: Path) -> None:
    env = make(str(folders))
    panels = [env.tasks.panel(split, env.tasks.len(split), 0) for split in env.tasks.splits]
    for task_id in [task_id for panel in panels for task_id in panel.ids]:
        env.reset(seed=0, options={"task_id": task_id})
        assert env.step("```submit\n```")[1:3] == (0.0, True)
        _, info = env.reset(seed=0, options={"task_id": task_id})
        total, over = 0.0, False
        while not over:
            _, paid, over, _, info = env.step(env.demonstrator_action() or "")
            total += paid
        assert (total, info["success"], info["stop_reason"]) == (1.0, True, "success")
    env.close()


@needs_box
@pytest.mark.slow
@pytest.mark.parametrize(
    "commands",
    [
        # only the tests accept it; the held-out questions do not
        ["sed -i 's/a - b/a + b if a < 4 else a - b/' sums/plain.py"],
        [append(WRITE)],
        [append(f"import os\n{WRITE}\nfor p in os.listdir('/proc'):\n    if p.isdigit() and "
                "int(p) != os.getpid():\n        try: os.kill(int(p), 9)\n        except OSError: "
                "pass")],
        [append("import os, time\nif not os.fork():\n    os.setsid()\n    for _ in range(99):\n"
                f"        time.sleep(.1)\n        try: {WRITE}\n        except OSError: pass\n"
                "    os._exit(0)")],
        [append("import glob\nassert not glob.glob('/tests/*')\nopen('/tests/x', 'w')")],
        [f"for name in zipfile json gzip re; do echo \"{WRITE}\" > $name.py; done; "
         f"mkdir -p src; echo \"{WRITE}\" > src/argparse.py; cp src/argparse.py sitecustomize.py"],
        ["mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt"],
        ["mkdir -p /logs/artifacts/x; ln -s /logs/verifier /testbed/link; rm -rf tests; "
         "printf 'import os; os._exit(0)' > conftest.py"],
        ["rm -rf /testbed/* ; mkfifo /testbed/pipe; ln -s /tests /testbed/tests"],
    ],
    ids=["tests-alone", "reward", "kill", "daemon", "answers", "modules", "own-reward", "conftest",
         "pipe"],
)  # fmt: skip
def test_what_is_no_repair_is_not_paid(commands: list[str], harbor_env: HarborEnv) -> None:
    assert reward(harbor_env, *commands) == 0
