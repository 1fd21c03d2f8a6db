"""verifiers' taskset and environment, loaded as verifiers loads them, with a player by script."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conformance.episodes import HORIZON, IDS, Turn, bare, digest, episodes

pytest.importorskip("verifiers", reason="verifiers is in .ci/peers")


class Player:
    """Says what a script says, and keeps what it is told."""

    def __init__(self, actions: tuple[str, ...]) -> None:
        self._script: Iterator[str] = iter(actions)
        self.texts: list[str] = []
        self.trace = SimpleNamespace(record_reward=self._keep, record_metric=self._keep)
        self.totals: dict[str, float] = {}

    def _keep(self, name: str, value: float, weight: float = 1.0) -> None:
        self.totals[name] = value

    @asynccontextmanager
    async def interaction(self, task: Any) -> AsyncIterator[Any]:
        yield self

    async def turn(self, text: str | None = None) -> Any:
        self.texts += [] if text is None else [text]
        return SimpleNamespace(terminated=False, last_reply=next(self._script))


@pytest.mark.slow
@pytest.mark.parametrize("env_id", IDS)
def test_episodes_are_those_of_gymnasium(env_id: str) -> None:
    """Verifiers is told the sum of the rewards; it has to be that of the turns."""
    from verifiers.v1.utils.loaders import environment_class, taskset_class

    from agentgym.interop.verifiers.exported import AgentGymConfig, AgentGymEnv

    assert environment_class("agentgym-v1") is AgentGymEnv
    local = bare(env_id)
    expected = {
        local.tasks.task("test", episode.index).id: episode for episode in episodes(local, env_id)
    }
    size = local.tasks.len("test")
    local.close()
    kwargs = {"horizon": HORIZON}
    config = AgentGymConfig(
        id="agentgym-v1", env=env_id, prompt="bare", kwargs=kwargs, num_tasks=min(size, 300)
    )
    rows = {row.data.id: row for row in taskset_class("agentgym-v1")(config)}
    assert len(rows) == min(size, 300)
    some = [task_id for task_id in expected if task_id in rows]
    assert some
    for task_id in some:
        episode, row = expected[task_id], rows[task_id]
        player = Player(episode.actions)
        asyncio.run(AgentGymEnv.run(None, row, SimpleNamespace(player=player)))
        texts = [row.data.prompt, *player.texts]
        turns: list[Turn] = [
            (turn[0] if text.startswith(turn[0]) else text, *turn[1:])
            for text, turn in zip(texts, episode.turns, strict=False)
        ]
        # The last observation is told to nobody: the episode is over.
        assert digest([turns]) == digest([episode.turns[:-1]])
        assert player.totals["reward"] == sum(reward for _, reward, _ in episode.turns)
    assert json.loads(json.dumps(rows[some[0]].data.info))["env"] == env_id


PLAY = """
import asyncio, json, os, sys
ours = lambda path: os.path.exists(os.path.join(path, "agentgym", "__init__.py"))
sys.path[:] = [path for path in sys.path if not ours(path)]
from types import SimpleNamespace
from verifiers.v1.utils.loaders import environment_class, resolve_env_config, taskset_class
cls = taskset_class("me/agentgym-textcraft-lookup")
config = resolve_env_config({"taskset": {"id": "agentgym-textcraft-lookup", "num_tasks": 3}})
rows = list(cls(config.taskset))
import agentgym
print(json.dumps([
    agentgym.__file__, environment_class("agentgym-textcraft-lookup").__name__,
    type(config.taskset).__name__, [row.data.info for row in rows],
]))
"""


@pytest.mark.slow
def test_a_pushed_package_is_a_taskset_that_needs_no_agentgym(tmp_path: Path) -> None:
    """Verifiers finds it by the name that the hub installs, and Prime takes it for one of v1."""
    folder, target = tmp_path / "folder", tmp_path / "target"
    push = [sys.executable, "-m", "agentgym", "push", "verifiers", "textcraft:lookup", str(folder)]
    subprocess.run([*push, "--env-kwargs", "horizon=5"], check=True)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target)]
    subprocess.run([*pip, str(folder)], check=True)
    program = f"import sys; sys.path.insert(0, {str(target)!r})\n{PLAY}"
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd="/"
    )
    assert process.returncode == 0, process.stderr
    file, env_class, config, rows = json.loads(process.stdout)
    assert Path(file).is_relative_to(target / "agentgym_textcraft_lookup" / "code")
    assert (env_class, config) == ("AgentGymEnv", "TasksConfig")
    assert [(row["env"], row["kwargs"]) for row in rows] == [
        ("textcraft:lookup", {"horizon": 5})
    ] * 3
    runtime = pytest.importorskip(
        "prime_cli.utils.environment_runtime", reason="prime is in .ci/peers"
    )
    (facts,) = target.glob("agentgym_textcraft_lookup-*.dist-info/METADATA")
    lines = facts.read_text().splitlines()
    needs = [line.removeprefix("Requires-Dist: ") for line in lines if "Requires-Dist" in line]
    assert runtime.classify_runtime_from_metadata(needs) == runtime.VERIFIERS_V1
