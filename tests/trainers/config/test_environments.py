"""What is decided about each of several environments, and how it is asked for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentgym.errors import ConfigurationError
from tests.toy import TOY_ID
from tests.trainers import toy_runs
from trainers.cli import parse_config
from trainers.config.config_file import compare, stored_settings
from trainers.config.describe import describe
from trainers.config.resolve import ResolvedRun, resolve
from trainers.config.schema import from_mapping

SHORT = {"env": TOY_ID, "name": "short", "horizon": "2,3", "horizon_every": 1}
LONG = {
    "env": TOY_ID,
    "name": "long",
    "weight": 3,
    "horizon": [4, 5],
    "horizon_gate": 0.5,
    "fit_horizon": False,
    "reward_hooks": ["potential", "invalid_action=0.2"],
    "env_kwargs": {"horizon": 9},
    "target_success": 0.1,
}


def listed(*entries: Any, **changes: Any) -> ResolvedRun:
    return resolve(from_mapping({"env": list(entries), "out": "unused", **changes}))


def test_every_entry_decides_about_its_own_environment() -> None:
    run = listed(SHORT, LONG, eval={"num_tasks": 20}, horizon_every=7)
    short, long = run.envs
    assert (short.name, long.name) == ("short", "long")
    assert run.title == f"short ({TOY_ID}) + long ({TOY_ID})"
    assert (short.rounds, short.horizon_every, short.horizon_gate) == ((2, 3), 1, None)
    assert (long.rounds, long.horizon_every, long.horizon_gate) == ((4, 5), 7, 0.5)
    assert (short.weight, long.weight) == (1.0, 3.0)
    assert (short.fit_horizon, long.fit_horizon) == (True, False)
    assert (short.full_horizon, long.full_horizon) == (3, 5)
    assert (short.kwargs["horizon"], long.kwargs["horizon"]) == (3, 9)
    assert [hook.name for hook in short.make_hooks()] == ["success_bonus", "invalid_action"]
    assert [hook.name for hook in long.make_hooks()] == [
        "success_bonus",
        "potential",
        "invalid_action",
    ]
    assert (short.target_success, long.target_success) == (0.45, 0.1)
    assert [env.most_turns for env in run.envs] == [3, 5]


def test_flags_hold_for_every_environment_or_are_addressed_to_one() -> None:
    flags = ["--env-kwargs", "horizon=30", "textworld.horizon=12", "search.topk=2"]
    run = resolve(parse_config(["--env=search,textworld", "--horizon=4", *flags]))
    search, textworld = run.envs
    assert (search.kwargs["topk"], search.kwargs["horizon"]) == (2, 30)
    assert "topk" not in textworld.kwargs and textworld.kwargs["horizon"] == 12
    assert search.rounds == textworld.rounds == (4,)
    assert run.config.minutes == 0 and run.config.sft.max_steps == 1600 + 320
    assert run.config.out == Path("runs/search-textworld-tiny-seed0")


def test_a_list_of_names_is_the_flag() -> None:
    assert (
        listed("search", "textworld").envs == resolve(parse_config(["--env=search,textworld"])).envs
    )


def test_a_flag_chooses_among_the_entries_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mix.yaml"
    path.write_text(yaml.safe_dump({"env": [{"env": "search", "horizon": 5}, "textworld"]}))
    (env,) = resolve(parse_config([f"--config={path}", "--env=search"])).envs
    assert (env.name, env.rounds) == ("search", (5,))


def test_what_was_decided_is_kept_with_the_run_and_compared() -> None:
    run = listed(SHORT, LONG)
    assert run.resolved()["envs"]["long"]["rounds"] == [4, 5]
    stored = stored_settings(from_mapping({"env": [SHORT, LONG]}), run.resolved())
    assert yaml.safe_load(yaml.safe_dump(stored)) == stored
    other_settings = stored_settings(
        from_mapping({"env": [SHORT, {**LONG, "weight": 2}]}), run.resolved()
    )
    assert any(
        "weight" in change or "envs" in change for change in compare(stored, other_settings).changes
    )
    assert compare(stored, stored).changes == ()


def test_a_dry_run_tells_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    config = from_mapping({"env": [SHORT, LONG]})
    Console(width=120).print(describe(config, resolve(config)))
    output = capsys.readouterr().out
    assert f"short ({TOY_ID}): {TOY_ID}" in output and "25% of the tasks" in output
    assert "4, 5, the next when 0.5 of the episodes of 40 steps succeed" in output
    assert "0.1 of the validation tasks of long" in output


def test_of_backends_the_one_that_isolates_most_serves_all() -> None:
    run = resolve(parse_config(["--env=search,swe,textworld"]))
    assert [env.backend for env in run.envs] == ["sync", "thread", "sync"]
    assert run.config.backend == "thread"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"env": "webshop,"}, "separated by commas"),
        ({"env": "webshop,webshop"}, "different names, got webshop twice"),
        ({"env": [{"env": "webshop", "name": "a b"}]}, "to be a word"),
        ({"env": []}, "list of names"),
        ({"env": [{"name": "x"}]}, "list of names"),
        ({"env": ["webshop", 3]}, "list of names"),
        ({"env": ["webshop", {"env": "search", "weight": 0}]}, "weight of entry 2 of env"),
        ({"env": [{"env": "webshop", "wieght": 1}]}, "one of env, name, weight.*wieght"),
        ({"env": [{"env": "webshop", "horizon": "5,3"}]}, "grow"),
        ({"env": "webshop", "env_kwargs": ["search.topk=1"]}, "ENV.name=value for one of webshop"),
        ({"env": [{**SHORT, "horizon": 3, "horizon_gate": 0.5}]}, "several stages"),
    ],
)
def test_wrong_entries_are_clear_errors(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        resolve(from_mapping(values))


def test_a_preset_that_prices_invalid_turns_cannot_leave_some_to_a_hook() -> None:
    entries = [SHORT, {**LONG, "reward_hooks": ["invalid_action=0.2"]}]
    with pytest.raises(ConfigurationError, match=r"for all environments or for none.*long only"):
        listed(*entries, preset="gigpo")


def test_one_environment_is_told_as_ever() -> None:
    run = resolve(toy_runs.config(Path("unused")))
    assert set(run.resolved()) >= {"env_id", "env", "rounds"}
    assert not run.several and run.config.horizon == "3,4,5"


@pytest.mark.parametrize("over", ["none", "batch", "family"])
def test_advantages_are_normalised_as_asked(over: str) -> None:
    post = resolve(toy_runs.config(Path("unused"), rl__normalize=over)).preset.post
    assert (post and (post.center, post.scale)) == (None if over == "none" else (over, over))


def test_the_example_of_the_page_is_what_it_says() -> None:
    how_to = Path(__file__).parents[3] / ".site" / "how-to"
    page = (how_to / "several-environments.md").read_text()
    (example,) = [
        block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "shop-hard" in block
    ]
    run = resolve(from_mapping(yaml.safe_load(example)))
    assert [env.name for env in run.envs] == ["webshop", "search", "shop-hard"]
    assert [env.weight for env in run.envs] == [1, 2, 1]
    assert run.env("search").horizon_gate == 0.6
    assert run.env("shop-hard").kwargs["difficulty"] == "hard"


@pytest.mark.parametrize(
    ("name", "prompt", "rounds", "expert"),
    [
        ("webshop", "agentgym", (5, 10, 15), None),
        ("webshop", "verl-agent", (5, 10, 15), None),
        ("webshop", "default", (9,), "lazy"),
        ("textworld", "balrog", (5,), "guessing"),
    ],
)
def test_a_prompt_s_grammar_chooses_defaults_as_one_that_is_typed_does(
    name: str, prompt: str, rounds: tuple[int, ...], expert: str | None
) -> None:
    [env] = resolve(from_mapping({"env": name, "prompt": prompt, "out": "unused"})).envs
    assert (env.rounds, env.kwargs.get("expert"), env.prompt) == (rounds, expert, prompt)
    if "grammar" in env.kwargs:
        kwargs = [f"grammar={env.kwargs['grammar']}"]
        typed = {"env": name, "env_kwargs": kwargs, "out": "unused"}
        assert resolve(from_mapping(typed)).envs[0].kwargs == env.kwargs
