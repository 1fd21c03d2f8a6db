"""Task sets by name, ``webshop:easy``: the same tasks wherever an environment is named."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

import agentgym
from agentgym.cli.environments import make as make_for_play
from agentgym.cli.parsing import parse
from agentgym.core.env import TextEnv
from agentgym.errors import ConfigurationError
from agentgym.evaluation.suites.settings import EvaluationSettings
from agentgym.evaluation.suites.suite_file import make_suite, read_suite
from agentgym.registration import FAMILIES, EnvFamily, NamedTaskSet, family
from agentgym.registration.imports import IMPORTS
from agentgym.registration.making import env_name, make_named, resolve
from tests.cli.test_commands import run
from trainers.cli import parse_config
from trainers.config.describe import describe
from trainers.config.family_defaults import FAMILY_DEFAULTS
from trainers.config.resolve import default_out
from trainers.config.resolve import resolve as resolve_run

SETS = [f"{entry.name}:{task_set.name}" for entry in FAMILIES for task_set in entry.all_task_sets]
SHOP = "agentgym/WebShop-v0"
EASY = {"difficulty": "easy", "size": 2000, "observation_mode": "compact"}


def panel(env: Any) -> tuple[str, int]:
    """Return the hash of some held-out tasks, and the turn budget; close the environment."""
    base: TextEnv = env.unwrapped
    try:
        return base.tasks.panel(base.tasks.check("test"), 10).sha256, base.default_horizon
    finally:
        env.close()


@pytest.mark.parametrize("name", SETS)
def test_a_name_leads_to_arguments_and_back(name: str) -> None:
    named = resolve(name)
    assert f"{named.family}:{named.task_set}" == name
    assert env_name(named.id, named.kwargs) == name
    assert resolve(f"{named.id}:{named.task_set}") == named
    assert named.short == name.replace(":", "-")


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_play_eval_train_and_python_play_the_same_tasks(name: str) -> None:
    [evaluation] = make_suite([name], ["random"], EvaluationSettings()).evaluations
    expected = panel(agentgym.make(name))
    assert panel(evaluation.open()) == expected
    assert panel(make_for_play(parse(["play", name]), None)) == expected  # type: ignore[arg-type]
    assert panel(make_named(name, {}, "--env-kwargs")) == expected
    [env] = resolve_run(parse_config([f"--env={name}"])).envs
    assert (env.title, panel(env.make_env())[0]) == (name, expected[0])
    if name.endswith(":standard"):
        return
    assert panel(env.make_env()) == expected, "in the training set the turns are the same, too"
    [bare] = resolve_run(parse_config([f"--env={env.family}"])).envs
    assert (bare.title, bare.kwargs) == (name, env.kwargs)


def test_a_vector_environment_and_a_suite_take_the_name() -> None:
    envs = agentgym.make_vec("webshop:easy", 2, backend="sync", size=300)
    observations, _ = envs.reset(seed=0)
    assert len(observations) == 2 and "[SEP]" not in observations[0]
    envs.close()
    mapping = {"environments": ["textcraft:lookup"], "policies": ["random"]}
    [evaluation] = read_suite(mapping).evaluations
    assert panel(evaluation.open()) == panel(agentgym.make("textcraft:lookup"))


@pytest.mark.parametrize(
    ("kwargs", "name"),
    [
        ({}, "webshop:standard"),
        ({"difficulty": "medium", "size": 1000}, "webshop:standard"),
        ({"difficulty": "easy"}, "webshop:standard + difficulty=easy"),
        (EASY, "webshop:easy"),
        ({**EASY, "horizon": 30, "expert": "lazy", "grammar": "xml"}, "webshop:easy"),
        ({**EASY, "size": 500}, "webshop:easy + size=500"),
        ({**EASY, "size": 500, "tries": 2}, "webshop:easy + size=500 tries=2"),
        ({"data": "http://me:secret@shop/"}, "webshop:standard + data=http://shop/"),
    ],
)
def test_arguments_have_one_name(kwargs: dict[str, Any], name: str) -> None:
    assert env_name(SHOP, kwargs).replace("[hidden]@", "") == name


def test_what_is_of_no_family_is_called_by_its_id() -> None:
    assert env_name("my/Lock-v0", {"size": 3}) == "my/Lock-v0"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("webshop:hard", ["webshop:standard, webshop:easy", "got 'hard'"]),
        ("search:my/Env-v0", ["search:standard", "the module cannot be called search"]),
        ("shop:easy", ["MODULE:ID"]),
    ],
)
def test_a_wrong_set_is_answered_with_those_there_are(name: str, words: list[str]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        resolve(name)
    assert all(word in str(raised.value) for word in words)
    assert "\n" not in str(raised.value)


def test_no_family_has_the_name_of_another_project() -> None:
    assert not {entry.name for entry in FAMILIES} & {*IMPORTS}


@pytest.mark.parametrize("names", [("two words",), ("a", "a"), ("standard",)])
def test_names_of_sets_are_checked(names: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError, match="task sets of craft"):
        EnvFamily("craft", "craft/C-v0", "c:C", "Craft.", task_sets=tuple(
            NamedTaskSet(name, "Some.") for name in names
        ))  # fmt: skip


def test_list_shows_the_sets(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", "webshop")
    assert code == 0 and "webshop:standard: " in out
    assert f"webshop:easy: {family('webshop').training_set.summary}" in out
    assert "agentgym train webshop uses webshop:easy" in out
    row = json.loads(run(capsys, "list", "webshop:easy", "--json")[1])[0]
    assert row["name"] == "webshop:easy" and row["splits"]["test"] == 500
    assert row["env_kwargs"] == dict(resolve("webshop:easy").kwargs)


def test_eval_prints_its_settings_and_the_trainers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = run(capsys, "eval", "textcraft", "--no-scale")[1]
    assert "random on textcraft:standard" in out
    assert "agentgym train uses textcraft:lookup" in out
    out = run(capsys, "eval", "textcraft:lookup", "--no-scale")[1]
    assert "random on textcraft:lookup" in out and "agentgym train uses" not in out


@pytest.mark.slow
def test_a_training_says_its_tasks_by_name() -> None:
    config = parse_config(["--env=webshop"])
    plan = resolve_run(config)
    assert plan.title == plan.resolved()["env_name"] == "webshop:easy"
    text = io.StringIO()
    Console(file=text, width=120).print(describe(config, plan))
    assert text.getvalue().startswith(f"webshop:easy: {SHOP} (")
    assert default_out(config).name == "webshop-tiny-seed0"
    config = parse_config(["--env=webshop:standard,webshop:easy", "--env-kwargs", "size=500"])
    plan = resolve_run(config)
    assert plan.title == "webshop:standard + size=500 + webshop:easy + size=500"
    assert default_out(config).name == "webshop-standard-webshop-easy-tiny-seed0"


@pytest.mark.slow
def test_a_named_set_stays_whatever_is_said_beside_it() -> None:
    def resolve_flags(*flags: str) -> tuple[str, tuple[int, ...]]:
        [env] = resolve_run(parse_config([*flags])).envs
        return env.title, env.rounds

    # The bare name gives way to what is said beside it; a set that was named does not.
    other_flags = ["--env-kwargs", "difficulty=hard"]
    compact = "difficulty=hard observation_mode=compact"
    assert resolve_flags("--env=webshop", *other_flags) == (
        f"webshop:standard + {compact}",
        (5, 10, 15),
    )
    hard = "difficulty=hard"
    assert resolve_flags("--env=webshop:easy", *other_flags) == (
        f"webshop:easy + {hard}",
        (5, 10, 15),
    )
    assert resolve_flags("--env=webshop:standard", *other_flags)[0] == f"webshop:standard + {hard}"


@pytest.mark.parametrize("entry", [entry for entry in FAMILIES if entry.training_set.demonstrator])
def test_eval_plays_the_demonstrator_that_training_imitates(entry: EnvFamily) -> None:
    name = f"{entry.name}:{entry.training_set.name}"
    [env] = resolve_run(parse_config([f"--env={name}"])).envs

    def expert(policy: str, *env_kwargs: str) -> Any:
        settings = EvaluationSettings(env_kwargs=env_kwargs)
        [evaluation] = make_suite([name], [policy], settings).evaluations
        return evaluation.known_arguments.get("expert")

    assert expert("demonstrator") == env.kwargs["expert"] == entry.training_set.demonstrator
    assert expert("oracle") is None and expert("demonstrator", "expert=oracle") is None
    assert expert("demonstrator", "data=mine") is None, "tasks of one's own"


def test_stages_end_at_the_turns_of_the_training_set() -> None:
    for name, defaults in FAMILY_DEFAULTS.items():
        turns = family(name).training_set.kwargs["horizon"]
        assert not defaults.horizon or defaults.horizon[-1] == turns
