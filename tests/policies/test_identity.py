"""An edited policy of one's own is another one, and nothing else makes it another."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.errors import ConfigurationError
from agentgym.evaluation import evaluate
from agentgym.evaluation.policy_names import load_policy, policy_content
from agentgym.policies import CallablePolicy, RandomPolicy
from agentgym.policies.identity import source_sha256
from tests.toy import TOY_ID

FILES = {
    "mypack/__init__.py": "",
    "mypack/agents.py": """
from . import prompts
from .deep.rules import rule
import beside, sys

def act(observation, info):
    return prompts.SAY + rule(observation)

async def act_later(observation, info):
    return act(observation, info)

class Policy:
    def act(self, observation, info):
        return act(observation, info)

def make():
    return Policy()

ONE = Policy()
""",
    "mypack/prompts.py": 'SAY = "press "\n',
    "mypack/deep/__init__.py": "",
    "mypack/deep/rules.py": "from beside import last\n\ndef rule(text):\n    return last(text)\n",
    "mypack/unused.py": "",
    "beside.py": "def last(text):\n    return text.split()[-1]\n",
    "elsewhere.py": "",
}
ATTRIBUTES = ("act", "act_later", "Policy", "make", "ONE")


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Write the files anew, with changes, and return what a process that begins would import."""

    def write(folder: str = "here", **changes: str) -> Any:
        root = tmp_path / folder
        for name, text in FILES.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(changes.get(name.replace("/", "_").removesuffix(".py"), text))
        for name in [*sys.modules]:
            if name.partition(".")[0] in ("mypack", "beside", "elsewhere"):
                monkeypatch.delitem(sys.modules, name)
        importlib.invalidate_caches()
        monkeypatch.setattr(sys, "path", [str(root), *sys.path])
        return importlib.import_module("mypack.agents")

    return write


def hashes(module: Any) -> dict[str, str]:
    env = gymnasium.make(TOY_ID)
    shas = {name: source_sha256(getattr(module, name)) for name in ATTRIBUTES}
    for name in ATTRIBUTES:
        with load_policy(f"mypack.agents:{name}", env) as maker:
            shas[f"by name {name}"] = maker.facts["source_sha256"]
        assert policy_content(f"mypack.agents:{name}") == maker.facts["source_sha256"]
    assert all(len(sha) == 16 for sha in shas.values())
    return shas


@pytest.mark.parametrize(
    "edited", ["mypack_agents", "mypack_prompts", "mypack_deep_rules", "mypack___init__", "beside"]
)
def test_an_edit_of_what_a_policy_is_made_of_is_noticed(load: Any, edited: str) -> None:
    hashes_before = hashes(load())
    name = next(n for n in FILES if n.replace("/", "_").removesuffix(".py") == edited)
    hashes_after = hashes(load(**{edited: FILES[name] + "# edited\n"}))
    assert all(hashes_before[name] != hashes_after[name] for name in hashes_before)


def test_nothing_else_makes_another_policy(load: Any) -> None:
    hashes_before = hashes(load())
    assert hashes(load(mypack_unused="# edited", elsewhere="# edited")) == hashes_before
    assert hashes(load("another/folder")) == hashes_before, "no path counts"
    crlf = {"beside": FILES["beside.py"].replace("\n", "\r\n")}
    assert hashes(load(**crlf)) == hashes_before


def test_what_is_imported_already_does_not_change_with_its_file(load: Any, tmp_path: Path) -> None:
    module = load()
    hashes_before = hashes(module)
    (tmp_path / "here/mypack/agents.py").write_text("def act(observation, info): raise OSError\n")
    assert hashes(module) == hashes_before
    (tmp_path / "here/mypack/agents.py").write_text(FILES["mypack/agents.py"] + "# edited\n")
    assert hashes(importlib.reload(module)) != hashes_before


def test_what_the_suite_has_needs_no_source() -> None:
    assert source_sha256(RandomPolicy(0), RandomPolicy) == ""
    assert evaluate(RandomPolicy(0), TOY_ID, num_tasks=2).policy_facts == {}


def test_wrapped_functions_and_arguments_count(load: Any) -> None:
    module = load()
    assert source_sha256(CallablePolicy(module.act)) == source_sha256(module.act)
    some = {source_sha256(partial(module.act, word=word)) for word in "ab"}
    assert len({*some, source_sha256(module.act)}) == 3


def test_a_module_may_have_another_name_than_its_file(tmp_path: Path) -> None:
    names_and_shas = set()
    for body in ("return 'press red'", "return 'press blue'"):
        (tmp_path / "file.py").write_text(f"def act(observation, info): {body}\n")
        for name in ("own_loaded", ".".join("x" * 99)):
            spec = importlib.util.spec_from_file_location(name, tmp_path / "file.py")
            assert spec is not None and spec.loader is not None
            sys.modules[name] = module = importlib.util.module_from_spec(spec)
            try:
                exec(spec.loader.get_source(name), vars(module))  # type: ignore[attr-defined]
                names_and_shas.add((name, source_sha256(module.act)))
            finally:
                del sys.modules[name]
    assert len(names_and_shas) == 4 and all(len(sha) == 16 for _, sha in names_and_shas)


SCRIPT = """
import sys
from agentgym.policies.identity import source_sha256

def act(observation, info):
    return {body}

class Policy:
    def act(self, observation, info):
        return {body}

made = {{}}
exec("def act(o, i): return {body} if o in {{'a', 'b', 'c'}} else (lambda: 1)", made)
print([source_sha256(each) for each in (act, Policy(), lambda o, i: {body}, made["act"])])
"""


def test_a_script_may_change_around_its_policy(tmp_path: Path) -> None:
    def run(body: str, more: str = "") -> str:
        (tmp_path / "script.py").write_text(SCRIPT.format(body=body) + more)
        command = [sys.executable, str(tmp_path / "script.py")]
        process = subprocess.run(command, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
        return process.stdout

    first = run("1")
    assert run("1", "\nn = 20\n") == first, "each process has hashes of its own"
    assert not set(first.strip("[]\n").split(", ")) & set(run("2").strip("[]\n").split(", "))


@pytest.mark.parametrize("name", ["act", "act_later", "Policy", "make", "ONE"])
@pytest.mark.parametrize("by_name", [False, True])
def test_the_folder_of_another_policy_of_the_name_is_refused(
    load: Any, tmp_path: Path, name: str, by_name: bool
) -> None:
    def play(module: Any) -> Any:
        policy = f"mypack.agents:{name}" if by_name else getattr(module, name)
        return evaluate(policy, TOY_ID, num_tasks=3, out=tmp_path / "out")

    report = play(load())
    assert report.success == 1.0 and str(tmp_path) not in str(report.policy_facts)
    assert play(load()) == report
    with pytest.raises(ConfigurationError, match=r"policy_facts.source_sha256 was '\w{16}' and is"):
        play(load(beside="def last(text):\n    raise ValueError\n"))


def test_the_folder_of_another_agent_is_refused(tmp_path: Path) -> None:
    def make(colour: str) -> Any:
        namespace: dict[str, Any] = {"__name__": "__main__"}
        exec(f"def agent(session): session.call('press', {{'colour': '{colour}'}})", namespace)
        return namespace["agent"]

    play = partial(
        evaluate, env=TOY_ID, num_tasks=3, out=tmp_path, env_kwargs={"grammar": "tool_call"}
    )
    report = play(make("red"))
    assert play(make("red")) == report
    with pytest.raises(ConfigurationError, match=r"policy_facts.source_sha256 was"):
        play(make("blue"))


def test_constants_that_a_function_holds_count() -> None:
    def make(word: str, count: bool = False) -> Any:
        calls = 0

        def act(observation: str, info: Any) -> str:
            nonlocal calls
            calls += 1
            return word

        def act_by_default(observation: str, info: Any, *, word: str = word) -> str:
            return word

        return (act, act_by_default, lambda observation, info: word)

    first, twin, other_policy = make("press red"), make("press red"), make("press blue")
    first[0]("", {})
    assert [*map(source_sha256, first)] == [*map(source_sha256, twin)], "what it counts is none"
    assert all(
        source_sha256(a) != source_sha256(b) for a, b in zip(first, other_policy, strict=True)
    )
    assert source_sha256(lambda o, i: "press red") != source_sha256(lambda o, i: "press blue")
