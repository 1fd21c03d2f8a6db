"""Episodes: what the tools tell, what is kept between calls, and where Python runs."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.actions.renderer import translate
from agentgym.actions.schema import openai_tools
from agentgym.actions.specs import GRAMMARS
from agentgym.cli.abilities import abilities
from agentgym.core.env import TextEnv
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.sandbox.namespace.box import NamespaceSandbox
from agentgym.sandbox.unisolated import UnisolatedSandbox
from tests.envs.swe.boxed import needs_box


class NoBox(UnisolatedSandbox):
    """A back end that cannot start."""

    def start(self) -> NoBox:
        raise OSError("there is none")


class NoPython(NamespaceSandbox):
    """A box in which no program is found."""

    def _settings(self) -> dict[str, Any]:
        settings = super()._settings()
        settings["environment"]["PATH"] = "/nowhere"
        return settings


def begun(**options: object) -> TextEnv:
    env = gymnasium.make("agentgym/MathPython-v0", **options).unwrapped
    assert isinstance(env, TextEnv)
    env.reset(options={"split": "test", "index": 1, "horizon": 30})
    return env


def test_the_calculator_is_exact_and_says_what_it_cannot_do() -> None:
    env = begun()
    steps = [env.step(f"calculator[{text}]") for text in ("7 / 21 + 2^64", "1 / 0", "sqrt(2)", "x")]
    assert [step[0] for step in steps] == [
        "55340232221128654849/3",
        "error: ValueError: division by zero",
        "error: ValueError: the root is irrational",
        "error: ValueError: expected numbers, got x",
    ]
    assert [step[4]["details"]["failed"] for step in steps] == [False, True, True, True]
    assert all(step[4]["action_valid"] for step in steps)


def test_right_answers_in_any_form_and_wrong_ones() -> None:
    env = begun()
    answer = env.task.content["answer"]
    for text, success in ((answer, True), (f"so \\boxed{{{answer}.0}}", True), ("nothing", False)):
        env.reset(options={"split": "test", "index": 1})
        observation, reward, terminated, _, info = env.step(f"answer[{text}]")
        assert (terminated, reward, info["success"]) == (True, float(success), success)
        assert observation == ("correct" if success else "answered")
        assert info["stop_reason"] == ("success" if success else "failure")
        assert info["oracle_turns"] == 0 and info["admissible_actions"] == []


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_a_formula_of_the_question_is_not_paid_and_the_prompt_says_so(grammar: str) -> None:
    env = begun(difficulty="easy", grammar=grammar)
    for index in range(20):
        env.reset(options={"split": "train", "index": index})
        formula = env.task.content["expression"]
        action = translate(f"answer[{formula}]", env.action_specs, grammar)
        *_, info = env.step(action)
        assert info["action_valid"] and not info["success"] and info["score"] == 0, formula
        env.reset(options={"split": "train", "index": index})
        assert env.step(str(env.oracle_action()))[4]["success"]
    assert "a calculated value such as 42" in env.action_prompt()
    assert "no formula" in str(openai_tools(env.action_specs))


def test_a_data_set_pays_a_formula(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps({"problem": "How many are 3 and 4?", "answer": 7}))
    env = gymnasium.make("agentgym/MathPython-v0", data=str(file)).unwrapped
    assert isinstance(env, TextEnv)
    env.reset(seed=0)
    assert env.step("answer[3 + 4]")[4]["success"] and "formula" not in env.action_prompt()


def run(env: TextEnv, code: str) -> str:
    return env.step(f"```run_python\n<code>{code}</code>\n```")[0]


@pytest.mark.slow
@needs_box
def test_python_keeps_files_for_an_episode_and_nothing_else() -> None:
    env = begun(seconds=1, max_observation_chars=200)
    try:
        assert run(env, "x = 2 ** 100\nprint(x)") == "1267650600228229401496703205376\n"
        output = run(env, "def f():\n    g()\ndef g():\n    print(x)\nf()")
        assert output.endswith("NameError: name 'x' is not defined\nexit code 1")
        assert len(output.splitlines()) <= 4 and "Traceback" not in output
        assert run(env, "open('kept', 'w').write('1')") == "nothing was printed"
        assert "took longer than 1 second" in run(env, "while True: pass")
        # A machine with other work may take long over a script that takes hardly any time.
        assert run(env, "import time; time.sleep(1.2); print('late')") == "late\n"
        assert len(run(env, "print('9' * 10**6)")) <= 200
        stubborn = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
        output = run(env, stubborn).strip()
        assert output == "exit code -9" or output.endswith("16 seconds by the clock")
        assert run(env, "import os; os.kill(0, 9)")
        fork = pickle.loads(pickle.dumps(env.snapshot()))
        twin = copy.deepcopy(env)
        script = "import os; print(os.path.exists('kept'))"
        first = run(env, script)
        assert first in ("True\n", "False\n") and run(twin, script) == first
        run(env, "open('later', 'w')")
        env.restore(fork)
        assert run(env, "import os; print(os.path.exists('later'))") == "False\n"
        twin.close()
        env.reset(seed=0)
        assert run(env, script) == "False\n"
    finally:
        env.close()


def test_where_python_runs_is_a_choice_without_the_host() -> None:
    with pytest.raises(ConfigurationError, match="apart from this machine"):
        begun(sandbox="subprocess")
    with pytest.raises(ConfigurationError, match="nowhere"):
        begun(sandbox="nowhere")
    env = begun(sandbox="tests.envs.mathpython.test_env:NoBox")
    assert env.step("calculator[1 + 1]")[0] == "2"
    with pytest.raises(EnvFailure, match="expected a sandbox to run Python in"):
        run(env, "print(1)")


@needs_box
def test_a_box_without_python_is_refused_and_the_doctor_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its answer to a script would be taken for what the script printed."""
    sandbox = "tests.envs.mathpython.test_env:NoPython"
    env = begun(sandbox=sandbox, expert="programmer")
    with pytest.raises(EnvFailure, match=f"expected python3 in the sandbox '{sandbox}', got none"):
        env.step(env.demonstrator_action() or "")
    env.close()
    monkeypatch.setattr("agentgym.sandbox.registry.AUTOMATIC", ("namespace",))
    monkeypatch.setattr("agentgym.sandbox.registry.SANDBOXES", {"namespace": sandbox})
    problems = {ability.name: ability.problem for ability in abilities(sandbox=True)}
    assert problems["mathpython: bundled tasks"] == "needs python3 in its sandbox"
    assert problems["shell: bundled tasks"] == ""
    monkeypatch.undo()
    problems = {ability.name: ability.problem for ability in abilities(sandbox=True)}
    assert problems["mathpython: bundled tasks"] == ""
