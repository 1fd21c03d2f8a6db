"""The example of the page, and tools behind the commands and back ends that play environments."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import agentgym
from agentgym.authoring import PythonTool, ToolEnv
from agentgym.authoring.tools.register import make
from agentgym.errors import ConfigurationError
from agentgym.registration.making import make_env, resolve
from agentgym.vector import TextVectorEnv
from tests.authoring.tools.sums import ROWS, SUMS_ID, reward
from tests.cli.test_commands import run
from tests.envs.swe.boxed import needs_box
from tests.test_readme import blocks

EXAMPLE = next(block for block in blocks("agentgym/README.md", "python") if "tools=" in block)


def test_the_example_is_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len([line for line in EXAMPLE.splitlines() if line.strip()]) <= 20
    (tmp_path / "own.py").write_text(EXAMPLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    name = "own:own/Sums-v0"
    for grammar in ("native", "xml", "react", "tool_call", "action_tag"):
        report = agentgym.evaluate("oracle", name, num_tasks=4, env_kwargs={"grammar": grammar})
        assert report.success == 1.0, grammar
    code, out, _ = run(capsys, "certify", name, "--num-tasks", "4", "--checks", "expert", "idle")
    assert code == 0 and "0 fail" in out
    with pytest.raises(ConfigurationError, match="own/Sums-v0"):
        resolve("own:own/Sum-v0")
    with pytest.raises(ConfigurationError, match="does not: call it at the top"):
        make("own", "own/Other-v0")


@pytest.mark.slow
def test_tools_play_in_another_process() -> None:
    env = make_env(resolve(f"tests.authoring.tools.sums:{SUMS_ID}")[1], {}, "--env-kwargs")
    envs = TextVectorEnv.make(SUMS_ID, num_envs=2, backend="process")
    try:
        observations, _ = envs.reset(seed=3)
        assert observations[0] == env.reset(seed=3)[0]
        answers = envs.step(["```add\n<a>1</a>\n<b>2</b>\n```", "recall"])[0]
        assert list(answers) == ["3", "0"]
    finally:
        envs.close()


@pytest.mark.slow
def test_tools_are_trained_on(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tests.trainers import toy_runs

    settings = {
        "steps": 1, "horizon": 3, "horizon_every": None, "rl__groups": 2, "rl__num_generations": 2,
        "sft__demonstrations": 8, "sft__max_steps": 2, "sft__copy_steps": 1, "sft__eval_every": 2,
        "sft__eval_tasks": 2, "sft__save_every": 2, "rl__turn_tokens": 8, "eval__num_tasks": 2,
        "eval__valid_tasks": 2,
    }  # fmt: skip
    name = f"tests.authoring.tools.sums:{SUMS_ID}"
    process = toy_runs.run_command(toy_runs.arguments(tmp_path / "run", env=name, **settings))
    assert process.returncode == 0, process.stderr
    assert "oracle" in process.stderr and (tmp_path / "run" / "summary.json").exists()


@pytest.mark.slow
@needs_box
def test_python_runs_in_a_sandbox() -> None:
    env = ToolEnv(PythonTool, ROWS[:10], reward)
    env.reset(options={"split": "train", "index": 0})
    try:
        code = "open('kept', 'w').write('[')\nprint(6 * 7, '[')"
        assert env.step(f"```run_python\n<code>{code}</code>\n```")[0] == "42 [\n"
        fork = env.snapshot()
        assert "exit code 1" in env.step("run_python[import os; os.remove('kept'); 1 / 0]")[0]
        env.restore(fork)
        assert env.step("run_python[print(open('kept').read())]")[4]["details"]["failed"] is False
        assert not Path("kept").exists()
    finally:
        env.close()
