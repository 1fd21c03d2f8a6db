"""``mcp:COMMAND``: tools of a server as actions, whatever the server does."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.authoring.tools.tool_actions import make_tool
from agentgym.core.env import TextEnv
from agentgym.core.guard import GuardedEnv
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.interop.mcp.imported import CallRecord, make
from tests.cli.test_commands import run
from tests.toy import ToyEnv

SCRIPT = Path(__file__).with_name("mcp_script.py")
PYTHON = shlex.quote(sys.executable)
OURS = f"{PYTHON} -m agentgym serve mcp tests.toy:agentgym-test/Toy-v0"


def command(fault: str = "") -> str:
    return f"{PYTHON} {shlex.quote(str(SCRIPT))} {shlex.quote(fault)}".strip()


@contextmanager
def opened(reference: str, **options: Any) -> Iterator[TextEnv]:
    env = make(reference, **options)
    try:
        yield env
    finally:
        env.close()


def solved(goal: str, calls: Sequence[CallRecord]) -> float | None:
    """Pay for the sum that was asked for."""
    return 1.0 if calls and calls[-1].answer.startswith("[5,") else None


def test_tools_are_actions() -> None:
    with opened(command(), reward=solved, grammar="tool_call") as env:
        assert [spec.name for spec in env.action_specs] == ["math_add", "look"]
        assert any("broken" in limit for limit in env.limits)  # type: ignore[attr-defined]
        observation, info = env.reset(seed=0)
        assert observation == "Add 2 and 3."
        assert info["admissible_actions"] == [
            '<tool_call>{"name": "look", "arguments": {}}</tool_call>'
        ]
        outcome = env.step('<tool_call>{"name": "look", "arguments": {}}</tool_call>')
        assert outcome[:4] == ("[image]\na desk", 0.0, False, False)
        arguments = {"a": 2, "b": 2, "note": "two\n  lines </a> ]", "tags": "[1, 2]"}
        call = json.dumps({"name": "math_add", "arguments": arguments})
        outcome = env.step(f"<tool_call>{call.replace('<', chr(92) + 'u003c')}</tool_call>")
        assert json.loads(outcome[0]) == [4, {**arguments, "tags": [1, 2]}]
        bad = json.dumps({"name": "math_add", "arguments": {"a": 1, "b": 1, "tags": "[no"}})
        outcome = env.step(f"<tool_call>{bad}</tool_call>")
        assert not outcome[4]["action_valid"] and "must be JSON" in outcome[0]
        failed = json.dumps({"name": "math_add", "arguments": {"a": 1, "b": 1, "note": "fail"}})
        outcome = env.step(f"<tool_call>{failed}</tool_call>")
        assert outcome[0] == "no" and not outcome[4]["action_valid"]
        correct_call = json.dumps({"name": "math_add", "arguments": {"a": 2, "b": 3}})
        outcome = env.step(f"<tool_call>{correct_call}</tool_call>")
        assert outcome[1:3] == (1.0, True) and outcome[4]["success"] and outcome[4]["score"] == 1.0


def test_actions_can_be_typed() -> None:
    with opened(command(), reward="tests.interop.mcp.test_imported:solved") as env:
        env.reset(seed=0)
        assert not env.step("add 2 and 3")[4]["action_valid"]
        outcome = env.step("```math_add\n<a>2</a>\n<b>3</b>\n```")
        assert outcome[1:3] == (1.0, True)


def test_a_server_without_rewards_says_so() -> None:
    with opened(command(), goal="Look around.") as env:
        limits = " ".join(env.limits)  # type: ignore[attr-defined]
        assert "pays nothing" in limits and "takes no seed" in limits
        assert env.reset(seed=0)[0] == "Look around."


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("dies", "the server ended: out of memory"),
        ("hangs", "took more than 1 seconds"),
        ("large", "bytes, got more"),
        ("nan", "NaN, which is no number"),
        ("text", "expected a finite number"),
        ("none", "expected a finite number"),
    ],
)
def test_a_fault_costs_the_episode_and_pays_nothing(fault: str, words: str) -> None:
    with opened(command(fault), timeout=1 if fault == "hangs" else 60) as env:
        guarded = GuardedEnv(env)
        guarded.reset(seed=0)
        with pytest.raises(EnvFailure, match=words):
            guarded.step("look")
        assert guarded.reset(seed=0)[0] == "Add 2 and 3."


def add(a: int) -> str:
    return f"```math_add\n<a>{a}</a>\n<b>1</b>\n```"


@pytest.mark.parametrize("before", [[], ["look"], [add(7), "look", add(3)]])
@pytest.mark.parametrize(("a", "words"), [(1, "the server ended"), (2, "a is out of range")])
def test_a_call_on_which_the_server_fails_is_a_wrong_one(
    a: int, words: str, before: list[str]
) -> None:
    """It dies of it, or answers with an error; of other calls it does not."""
    with opened(command("picky"), reward=solved) as env:
        env.reset(seed=0)
        for action in before:
            assert not env.step(action)[2]
        _, reward, terminated, _, info = env.step(add(a))
        assert (reward, terminated, info["success"]) == (0.0, True, False)
        assert info["stop_reason"] == "action_error" and words in info["details"]["reason"]
        assert env.reset(seed=0)[0] == "Add 2 and 3."
        assert env.step("look")[0] == "[image]\na desk"


def test_a_call_that_the_server_finds_invalid_is_a_turn() -> None:
    with opened(command("picky"), reward=solved) as env:
        env.reset(seed=0)
        observation, _, terminated, _, info = env.step(add(3))
        assert "a is out of range" in observation and not terminated and not info["action_valid"]
        assert env.step("```math_add\n<a>4</a>\n<b>1</b>\n```")[4]["success"]


def number_of(goal: str, calls: Sequence[CallRecord]) -> float | None:
    """Pay for a five; raises where an answer is no list."""
    return 1.0 if json.loads(calls[-1].answer)[0] == 5 else None


def test_a_call_on_which_the_reward_raises_is_a_wrong_one() -> None:
    with opened(command(), reward=number_of) as env:
        env.reset(seed=0)
        assert env.step("look")[4]["stop_reason"] == "action_error"


@pytest.mark.parametrize(
    ("reference", "options", "error", "words"),
    [
        ("/no/such/command", {}, ConfigurationError, "can be started"),
        ("'open", {}, ConfigurationError, "as a shell reads it"),
        ("server --api-key abcdefgh", {}, ConfigurationError, "environment variables"),
        ("server --token=abcdefgh", {}, ConfigurationError, "environment variables"),
        (command("no tools"), {}, ConfigurationError, "it has none"),
        (command("lies"), {}, EnvFailure, "to list tools"),
        (command(), {"timeout": 0}, ConfigurationError, "timeout"),
        (command(), {"size": 3}, ConfigurationError, "size"),
        (command(), {"reward": "tests.toy:NO"}, ConfigurationError, "of a function"),
    ],
)
def test_what_cannot_be(
    reference: str, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        make(reference, **options)


def test_closing_ends_the_server() -> None:
    env = make(command())
    env.reset(seed=0)
    process = env.world._server._process  # type: ignore[attr-defined]
    env.close()
    env.close()
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is not None


@pytest.mark.slow
def test_our_own_server_comes_back_as_it_was() -> None:
    """An episode through `agentgym serve mcp` and back: observations, rewards, ends, scores."""
    local = ToyEnv(grammar="tool_call")
    with opened(OURS, grammar="tool_call") as env:
        for number in range(3):
            text, _ = env.reset(options={"split": "test", "index": number})
            seed = env.task.content["seed"]
            expected, _ = local.reset(seed=seed, options={"split": "test"})
            assert text == expected
            terminated = False
            while not terminated:
                action = local.oracle_action()
                assert action is not None
                local_turn, served_turn = local.step(action), env.step(action)
                assert local_turn[:3] == served_turn[:3]
                assert local_turn[4]["success"] == served_turn[4]["success"]
                terminated = local_turn[2] or local_turn[3]
            assert local_turn[4]["score"] == served_turn[4]["score"]
        assert not any("seed" in limit for limit in env.limits)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_every_door_knows_the_name(capsys: Any, tmp_path: Path) -> None:
    name, out = f"mcp:{command()}", tmp_path / "run"
    hook = "reward=tests.interop.mcp.test_imported:solved"
    code, output, errors = run(
        capsys,
        "eval",
        name,
        "--num-tasks",
        "2",
        "--out",
        str(out),
        "--env-kwargs",
        hook,
        "horizon=3",
        "--no-scale",
    )
    assert code == 0, errors
    code, _, errors = run(capsys, "replay", str(out))
    assert code == 2 and "--trust 'env=mcp:" in errors and f"--trust {hook}" in errors
    trusted = ("--trust", f"env={name}", "--trust", hook)
    assert run(capsys, "replay", str(out), *trusted)[0] == 0
    assert run(capsys, "replay", str(out), "--env", name, *trusted[2:])[0] == 0
    assert run(capsys, "view", str(out), "--out", str(tmp_path / "page.html"))[0] == 0
    checks = ("--checks", "expert", "again", "--env-kwargs", "horizon=2")
    code, output, _ = run(capsys, "certify", name, "--num-tasks", "2", *checks)
    assert "there is no expert" in output
    assert (out / "episodes.jsonl").read_text().count("\n") == 2
    pytest.importorskip("torch")
    from trainers.cli import main

    assert main(["--env", name, "--dry-run"]) == 0
    env = agentgym.make(name)
    assert env.unwrapped.action_specs[1].name == "look"  # type: ignore[attr-defined]
    env.close()


def test_schemas_of_all_kinds() -> None:
    schema = {
        "properties": {
            "think": {"type": "string"},
            "kind": {"enum": ["a", "b"]},
            "many": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "on": {"type": "boolean"},
            "any": {},
            "é": {"type": "number"},
            "last": {"type": "string"},
        },
        "required": ["kind"],
    }
    tool = make_tool("9-lives", "Many\nlines.", schema, ["x_9_lives"])
    assert tool.spec.name.startswith("x_9_lives_") and tool.spec.description == "Many lines."
    kinds = {param.name: (param.type, param.enum, param.verbatim) for param in tool.spec.params}
    assert kinds["kind"] == ("string", ("a", "b"), False)
    assert kinds["x_think"] == ("string", (), True)
    assert kinds["many"][0] == "integer" and kinds["on"][0] == "boolean"
    assert kinds["any"] == ("any", (), False) and len(kinds) == len(schema["properties"])
    assert [arguments["kind"] for arguments in tool.offered()] == ["a", "b"]


@pytest.mark.parametrize(
    "schema", [None, [], {"properties": []}, {"properties": {"a": 1}}, {"required": ["a"]}]
)
def test_schemas_that_lie(schema: Any) -> None:
    with pytest.raises(ConfigurationError, match="JSON schema of an object"):
        make_tool("tool", "", schema)
