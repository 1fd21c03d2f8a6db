"""``harbor:FOLDER``: what tasks ask of a machine, as they write it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import DataError
from agentgym.interop.harbor.folder import open_folder
from agentgym.interop.harbor.resources import HostMachine, Network, read_network, read_resources
from agentgym.interop.harbor.shortages import describe_shortages
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.small import SUBMIT, bash
from tests.interop.harbor.test_harbor import SUM, TOML, opened, write_task

GIGABYTE = 1 << 30
SMALL = HostMachine(memory=8 * GIGABYTE, processors=4)


@pytest.mark.parametrize(
    ("environment", "memory", "disk"),
    [
        ({"memory": "4G", "storage": "10G"}, 4096, 10240),
        ({"memory": "2g", "storage": "512M"}, 2048, 512),
        ({"memory": "1.5G", "storage": " 20 GB "}, 1536, 20480),
        ({"memory": "524288K", "storage": "1T"}, 512, 1 << 20),
        ({"memory": "2GiB", "storage": "100Mi"}, 2048, 100),
        ({"memory_mb": 8192, "storage_mb": 102400, "cpus": 2}, 8192, 102400),
        ({"memory": "4G", "memory_mb": 4096}, 4096, 1024),
        ({}, 2048, 1024),
    ],
)
def test_sizes_are_read_as_tasks_write_them(
    environment: dict[str, Any], memory: int, disk: int
) -> None:
    resources = read_resources(environment)
    assert (resources.memory >> 20, resources.disk >> 20) == (memory, disk)
    assert resources.processors == environment.get("cpus", 0)
    assert ("memory" in resources.named) == any("memory" in key for key in environment)


@pytest.mark.parametrize(
    "environment",
    [
        {"memory": "many"}, {"memory": "4"}, {"memory": 4096}, {"memory": "0G"}, {"storage": "-1G"},
        {"memory": "2G", "memory_mb": 4096}, {"memory_mb": "4096"}, {"memory_mb": True},
        {"storage_mb": 0}, {"cpus": 0}, {"cpus": "2"}, {"cpus": float("nan")},
        {"memory": "99999999T"}, {"memory": ["4G"]},
    ],
)  # fmt: skip
def test_sizes_that_are_none_are_refused(environment: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="expected"):
        read_resources(environment)


@pytest.mark.parametrize(
    ("settings", "agent", "tests"),
    [
        ({}, "public", "public"),
        ({"environment": {"allow_internet": False}}, "no-network", "no-network"),
        ({"environment": {"allow_internet": True}}, "public", "public"),
        ({"environment": {"network_mode": "no-network"}}, "no-network", "no-network"),
        ({"environment": {"network_mode": "public", "allow_internet": False}}, "public", "public"),
        ({"environment": {"allowed_hosts": ["pypi.org"]}}, "allowlist", "allowlist"),
        (
            {
                "environment": {"network_mode": "no-network"},
                "agent": {"network_mode": "allowlist", "allowed_hosts": ["a.example"]},
                "verifier": {"network_mode": "public"},
            },
            "allowlist",
            "public",
        ),
        (
            {"environment": {"allow_internet": False}, "verifier": {"network_mode": "public"}},
            "no-network",
            "public",
        ),
    ],
)
def test_network_rules_old_and_new(settings: dict[str, Any], agent: str, tests: str) -> None:
    assert read_network(settings) == Network(agent, tests)


@pytest.mark.parametrize(
    "environment", [{"network_mode": "none"}, {"allow_internet": "no"}, {"network_mode": 1}]
)
def test_network_rules_that_are_none_are_refused(environment: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="expected"):
        read_network({"environment": environment})


def test_notes_count_what_tasks_may_reach(tmp_path: Path) -> None:
    old = '[environment]\nmemory = "1G"\nallow_internet = '
    fetching = "apt-get update && apt-get install -y curl\n" + SUM
    write_task(tmp_path / "closed", toml=old + "false\n", test=fetching)
    write_task(tmp_path / "open", toml=old + "true\n", test=fetching)
    write_task(tmp_path / "silent", toml="[metadata]\n", test="# curl http://x\n" + SUM)
    write_task(tmp_path / "some", toml='[agent]\nuser = "me"\nallowed_hosts = ["a.example"]\n')
    public, some, tests, users = open_folder(tmp_path).notes()
    assert public.startswith("2 tasks may use the network")
    assert some.startswith("1 tasks may reach the hosts that they list")
    assert "tests of 1 tasks" in tests and "open: 'apt-get update" in tests
    assert users.startswith("1 tasks name users")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"task.toml": '[environment]\nmemory = "900G"\n'}, "921,600 MB of memory, and this"),
        ({"task.toml": "[environment]\nmemory_mb = 8193\n"}, "has 8,192 MB"),
        ({"task.toml": '[environment]\nstorage = "20G"\n'}, "sandbox=docker writes to disk"),
        ({"task.toml": "[environment]\ncpus = 5\n"}, "5 processors, and this machine has 4"),
        ({"task.toml": "[environment]\ngpu_types = ['H100']\n"}, "GPUs"),
        ({"task.toml": "[environment.healthcheck]\ncommand = 'true'\n"}, "a health check"),
        ({"task.toml": "[[verifier.collect]]\ncommand = 'true'\n"}, "commands before its tests"),
        ({"task.toml": '[environment]\nmemory = "2G"\nmemory_mb = 9\n'}, "expected one size"),
        ({"environment/docker-compose.yaml": "services: {}\n"}, "docker-compose.yaml"),
        (
            {"environment/Dockerfile": 'FROM x\nENTRYPOINT ["/usr/sbin/nginx", "-g"]\n'},
            "starts a program by itself",
        ),
    ],
)
def test_what_the_machine_cannot_give_is_left_out(
    files: dict[str, str], reason: str, tmp_path: Path
) -> None:
    write_task(tmp_path / "good", toml=TOML + 'memory = "8G"\nstorage = "8G"\ncpus = 4\n')
    write_task(tmp_path / "bad", **files)
    task_folder = open_folder(tmp_path, machine=SMALL, sandbox="namespace")
    assert list(task_folder.tasks) == ["harbor/good"] and reason in task_folder.left_out["bad"]


def test_every_reason_is_listed_with_its_tasks(tmp_path: Path) -> None:
    write_task(tmp_path / "good")
    for name in "ab":
        write_task(tmp_path / name, toml="[environment]\ngpus = 1\n")
    write_task(tmp_path / "c", toml='[environment]\nmemory = "1P"\n')
    for number in range(12):
        write_task(tmp_path / f"d{number}", toml=f"[environment]\nmemory_mb = -{number}\n")
    notes = open_folder(tmp_path).notes()
    assert notes[0].startswith("2 of 16 tasks are left out, such as a: it asks for GPUs")
    assert notes[1].startswith("1 of 16 tasks are left out, such as c: expected memory such as")
    assert notes[10] == "4 of 16 tasks are left out for other reasons"


def test_files_on_disk_need_no_memory_and_other_machines_are_not_known(tmp_path: Path) -> None:
    write_task(tmp_path / "large", toml='[environment]\nstorage = "100G"\n')
    assert open_folder(tmp_path, machine=SMALL, sandbox="docker").tasks
    assert open_folder(tmp_path, sandbox="remote").tasks


def test_an_entry_point_that_is_a_shell_starts_nothing(tmp_path: Path) -> None:
    for number, line in enumerate(('["/bin/bash"]', "sh -c", '["tini", "--"]')):
        docker = f"FROM x\nENTRYPOINT {line}\n"
        write_task(tmp_path / str(number), **{"environment/Dockerfile": docker})
    assert len(open_folder(tmp_path).tasks) == 3


FULL = "head -c 30000000 /dev/zero > big || echo failed"
HUNGRY = "python3 -c 'x = bytearray(500 << 20)'"


@needs_box
@pytest.mark.parametrize(
    ("toml", "command", "seconds", "message"),
    [
        ('storage = "8M"\n', FULL, 30, "ran out of disk, of which there were 8 MB, as the task"),
        ('memory = "128M"\n', HUNGRY, 30, "memory, of which there were 128 MB, as the task says"),
        pytest.param(
            "", "sleep 60", 1, "ran out of time, of which command_timeout gives 1 s",
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_an_unsolved_task_that_ran_out_of_something_says_so(
    toml: str,
    command: str,
    seconds: int,
    message: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    env = opened(write_task(tmp_path / "sum", toml=TOML + toml), command_timeout=seconds)
    env.reset(seed=0)
    env.step(bash(command))
    with caplog.at_level(logging.WARNING):
        observation, *_, info = env.step(SUBMIT)
    assert message in observation and message in info["details"]["reason"]
    assert message in caplog.text and "sum is unsolved" in caplog.text
    env.reset(seed=0)
    env.step(bash(command))  # Without a cgroup a shell ends with a child that takes too much.
    env.step(bash("rm -f big; echo 55 > sum.txt"))
    if "time" not in message:
        observation, *_, info = env.step(SUBMIT)
        assert info["success"] and observation == "[submitted]"
    env.close()


@needs_box
@pytest.mark.parametrize("test", [FULL, "echo 'OSError: No space left on device'"])
def test_tests_that_run_out_of_something_say_so(test: str, tmp_path: Path) -> None:
    test = f"echo 0 > /logs/verifier/reward.txt; {test}"
    env = opened(write_task(tmp_path / "sum", test, TOML + 'storage = "8M"\n'))
    env.reset(seed=0)
    assert "ran out of disk" in env.step(SUBMIT)[4]["details"]["reason"]
    env.close()


def test_where_a_task_names_no_size_the_note_says_so() -> None:
    text = describe_shortages(["disk", "memory"], read_resources({"memory": "1G"}), 5)
    assert text == (
        "commands ran out of memory, of which there were 1,024 MB, as the task says and of "
        "disk, of which there were 1,024 MB, as the task says nothing"
    )
    assert describe_shortages([], read_resources({}), 5) == ""


@needs_box
def test_the_solution_has_the_variables_of_its_table(tmp_path: Path) -> None:
    toml = TOML + '[solution.env]\nSUM = "it\'s ${NONE:-55}"\n'
    solve = "echo \"$SUM\" | cut -d' ' -f2 > /app/sum.txt\n"
    env = opened(write_task(tmp_path / "sum", toml=toml, **{"solution/solve.sh": solve}))
    _, info = env.reset(seed=0)
    while not info["stop_reason"]:
        *_, info = env.step(env.oracle_action() or "")
    assert info["success"]
    env.close()
