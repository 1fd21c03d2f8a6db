"""What a run trained, played by name: the run's own figures, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import yaml

from agentgym.cli import main
from agentgym.episodes import read_episodes
from agentgym.errors import ConfigurationError
from agentgym.evaluation import Report, evaluate
from agentgym.evaluation.policy_names import load_policy, policy_content, policy_env_kwargs
from agentgym.policies.play import Moment, play
from agentgym.registration.making import resolve
from tests.toy import TOY_ID, ToyEnv
from tests.trainers.toy_runs import SETTINGS
from trainers.config.model_files.adapter_folder import base_of, has_adapters
from trainers.config.resolved_env import TEST
from trainers.output.roles import field_of
from trainers.policies.weights import weights_sha256

pytestmark = pytest.mark.usefixtures("kinds")

TASKS = int(SETTINGS["eval.num-tasks"])
HORIZON = 5
"""Turns of the run's evaluation."""


@pytest.fixture
def env() -> gymnasium.Env[str, str]:
    return gymnasium.make(TOY_ID, horizon=HORIZON)


def own_rows(folder: Path, arm: str) -> list[dict[str, Any]]:
    """The episodes of an arm of a run's own evaluation."""
    records = (json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines())
    return [record["rows"] for record in records if record.get("arm") == arm][-1]


def figures(rows: Any) -> list[tuple[Any, ...]]:
    return [(row["task_id"], row["score"], row["success"], row["turns"]) for row in rows]


def summarize_rows(report: Report) -> list[tuple[Any, ...]]:
    return [(row.task_id, row.score, row.success, row.turns) for row in report.rows]


def texts(moments: list[Moment]) -> list[str | None]:
    return [moment.action for moment in moments]


@pytest.mark.parametrize("backend", ["sync", "thread"])
@pytest.mark.parametrize(("checkpoint", "arm"), [(None, "trained"), ("warm-start", "warm-start")])
def test_greedy_success_is_the_run_s_own_figure(
    finished: Path, env: Any, checkpoint: str | None, arm: str, backend: str
) -> None:
    placement: dict[str, Any] = {} if backend == "sync" else {"backend": "thread", "concurrency": 6}
    with load_policy(f"run:{finished}", env, checkpoint=checkpoint, temperature=0) as maker:
        report = evaluate(maker, env, TEST, TASKS, **placement)
    recorded_rows = own_rows(finished, f"{arm}-greedy")
    assert summarize_rows(report) == figures(recorded_rows)
    assert 0 < report.score_mean < 1, "a test that could not fail proves nothing"
    assert {row.stop_reason for row in report.rows} == {row["stop_reason"] for row in recorded_rows}
    summary = json.loads((finished / "summary.json").read_text())["greedy"][field_of(arm)]
    assert (report.success, report.score_mean) == (summary["success"], summary["score_mean"])


def test_a_run_of_adapters_plays_as_it_did(adapter_run: Path, env: Any) -> None:
    short = gymnasium.make(TOY_ID, horizon=3)
    with load_policy(str(adapter_run), short, temperature=0) as maker:
        facts = maker.facts
        report = evaluate(maker, short, TEST, 8)
    assert summarize_rows(report) == figures(own_rows(adapter_run, "trained-greedy"))
    summary = json.loads((adapter_run / "summary.json").read_text())
    assert facts["checkpoint"] == summary["chosen"]["checkpoint"]
    assert facts["step"] == summary["chosen"]["step"] and facts["compared"] is True


def test_the_episode_that_runs_out_of_tokens_ends_as_in_training(
    finished: Path, env: Any, tmp_path: Path
) -> None:
    """Its budget is a run's: fewer tokens would have ended the run's own episodes there, too."""
    copied = tmp_path / "run"
    shutil.copytree(finished, copied)
    config = copied / "config.yaml"
    config.write_text(config.read_text().replace("episode_tokens: 150", "episode_tokens: 12"))
    report = evaluate(load_policy(f"run:{copied}", env, temperature=0), env, TEST, TASKS)
    short = [row for row in report.rows if row.stop_reason == "token_limit"]
    assert short and report.errors == 0 and all(0 < row.turns < HORIZON for row in short)
    assert not any(row.success for row in short)


@pytest.mark.slow
def test_draws_depend_on_seed_and_turn_and_not_on_other_episodes(finished: Path, env: Any) -> None:
    maker = load_policy(f"run:{finished}", env)
    policy: Any = maker()
    assert maker.facts["sampling"] == {"greedy": False, "temperature": 1.0, "top_p": 1.0}

    def episodes(policy: Any, seeds: Any) -> dict[int, list[str | None]]:
        texts_by_seed = {}
        for seed in seeds:
            policy.seed(seed)
            texts_by_seed[seed] = texts([*play(policy, env, options={"split": TEST, "index": 0})])
        return texts_by_seed

    first = episodes(policy, range(12))
    assert episodes(policy.copy(), reversed(range(12))) == first
    assert len({tuple(actions) for actions in first.values()}) > 1


def test_what_the_model_wrote_is_kept(finished: Path, env: Any, tmp_path: Path) -> None:
    record = tmp_path / "episodes.jsonl"
    evaluate(load_policy(f"run:{finished}", env), env, TEST, 3, record=record)
    run = list(read_episodes(finished / "eval_episodes" / "trained.jsonl"))
    for episode in read_episodes(record):
        turn = episode.turns[0]
        expected = next(record for record in run if record.task_id == episode.task_id).turns[0]
        assert turn.prompt_tokens == expected.prompt_tokens
        assert 0 < (turn.completion_tokens or 0) <= 4
        assert turn.finish_reason in ("stop", "length")
        # A policy that learned little also writes tokens of the template, which are no action.
        words = re.sub(r"<\|\w+\|>", " ", turn.raw_text or "").split()
        assert words and turn.action.split() == words


def test_the_facts_say_what_played(finished: Path, env: Any) -> None:
    maker = load_policy(str(finished), env, seed=3)
    facts: Any = dict(maker.facts)
    policy: Any = maker()
    assert policy.facts() == facts and json.loads(json.dumps(facts)) == facts
    summary = json.loads((finished / "summary.json").read_text())
    assert facts["kind"] == "run" and facts["path"] == str(finished) and facts["seed"] == 3
    assert (facts["checkpoint"], facts["step"]) == (
        summary["chosen"]["checkpoint"], summary["chosen"]["step"],
    )  # fmt: skip
    assert facts["model"] == "tiny" and facts["parameters"] > 1000 and facts["dtype"] == "float32"
    assert (facts["budget"]["turn_tokens"], facts["budget"]["episode_tokens"]) == (4, 150)
    assert "torch" in facts["packages"] and facts["remarks"] == []


@pytest.mark.parametrize("place", ["checkpoints/warm-start", "checkpoints/rl/checkpoint-6"])
def test_a_checkpoint_s_folder_plays_with_the_settings_of_its_run(
    finished: Path, env: Any, place: str
) -> None:
    maker = load_policy(str(finished / place), env)
    assert f"checkpoints/{maker.facts['checkpoint']}" == place
    assert maker.facts["budget"]["turn_tokens"] == 4 and maker.facts["compared"] is False
    with pytest.raises(ConfigurationError, match="leave out one of them"):
        load_policy(str(finished / place), env, checkpoint="trained")


# -- what is refused -------------------------------------------------------------------------------


def test_another_environment_is_refused_by_the_name_of_the_argument(finished: Path) -> None:
    for kwargs, message in (
        ({"grammar": "xml"}, "grammar was 'native' and is 'xml'.*--env-kwargs grammar=native"),
    ):
        other_env = gymnasium.make(TOY_ID, horizon=HORIZON, **kwargs)
        with pytest.raises(ConfigurationError, match=message):
            load_policy(f"run:{finished}", other_env)
    other_env = gymnasium.make("agentgym/TextWorld-v0")
    with pytest.raises(ConfigurationError, match=f"expected {TOY_ID}.*got agentgym/TextWorld-v0"):
        load_policy(f"run:{finished}", other_env)


@pytest.fixture
def in_xml(finished: Path, tmp_path: Path) -> str:
    """A run that was made with another grammar than the environment's default."""
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    settings = yaml.safe_load((run / "config.yaml").read_text())
    settings["resolved"]["env"] = {**settings["resolved"]["env"], "grammar": "xml"}
    (run / "config.yaml").write_text(yaml.safe_dump(settings))
    return str(run)


def test_a_run_provides_settings_that_were_not_typed(in_xml: str, capsys: Any) -> None:
    report = evaluate(in_xml, TOY_ID, TEST, 3)
    assert report.env_kwargs["grammar"] == "xml"
    with pytest.raises(ConfigurationError, match="grammar was 'xml' and is 'native'"):
        evaluate(in_xml, TOY_ID, TEST, 3, env_kwargs={"grammar": "native"})
    argv = [
        "eval",
        TOY_ID,
        "--split",
        TEST,
        "--num-tasks",
        "3",
        "--no-scale",
        "--out",
        f"{in_xml}/e",
    ]
    assert main([*argv, "--policy", in_xml, "--env-kwargs", "horizon=4"]) == 0
    output = capsys.readouterr().out
    assert f'The environment has the arguments of {in_xml}: grammar="xml" (--env-kwargs' in output
    assert main([*argv, "--policy", in_xml, "--grammar", "native"]) == 2
    assert "grammar was 'xml' and is 'native'" in capsys.readouterr().err
    assert policy_env_kwargs(in_xml, resolve("webshop")) == {}
    assert policy_env_kwargs("random", resolve(TOY_ID)) == {}


def test_a_mismatch_may_be_played_on_request(finished: Path, caplog: Any) -> None:
    other_env = gymnasium.make(TOY_ID, horizon=HORIZON, grammar="xml")
    maker = load_policy(f"run:{finished}", other_env, mismatch="warn")
    assert "grammar was 'native'" in caplog.text
    assert maker.facts["remarks"] and "grammar" in maker.facts["remarks"][0]
    assert evaluate(maker, other_env, TEST, 3).success == 0.0


def test_harmless_arguments_are_none_of_its_business(finished: Path) -> None:
    kwargs = {"split": "valid", "expose_oracle": True, "render_mode": "ansi"}
    other_env = gymnasium.make(TOY_ID, horizon=HORIZON, **kwargs)
    assert load_policy(f"run:{finished}", other_env).facts["remarks"] == []


def test_another_turn_budget_is_remarked_once(finished: Path, caplog: Any) -> None:
    other_env = gymnasium.make(TOY_ID)
    evaluate(load_policy(f"run:{finished}", other_env), other_env, TEST, 3)
    remarks = [
        record for record in caplog.records if "expected episodes of 5 turns" in record.message
    ]
    assert len(remarks) == 1
    caplog.clear()
    evaluate(load_policy(f"run:{finished}", other_env), other_env, TEST, 3, horizon=HORIZON)
    assert not caplog.records


def test_an_environment_without_an_id_cannot_be_compared(finished: Path) -> None:
    maker = load_policy(f"run:{finished}", ToyEnv(horizon=HORIZON))
    assert "has no id" in maker.facts["remarks"][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"checkpoint": "nope"}, "expected a checkpoint .* among best, rl/checkpoint-4, rl/"),
        ({"temperature": -1}, "expected temperature to be a number of at least 0, got -1"),
        ({"temperature": "hot"}, "expected temperature to be a number"),
        ({"top_p": 2}, "top_p"),
        ({"mismatch": "ignore"}, "expected mismatch to be error or warn"),
        (
            {"temprature": 0},
            "among checkpoint, temperature, top_p, mismatch, threads, agent; got temprature",
        ),
    ],
)
def test_bad_options_are_named(finished: Path, env: Any, options: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load_policy(f"run:{finished}", env, **options)


def test_what_a_path_lacks_is_said(finished: Path, env: Any, tmp_path: Path) -> None:
    def refused(name: str, message: str) -> None:
        with pytest.raises(ConfigurationError, match=message):
            load_policy(name, env)

    empty = tmp_path / "empty"
    empty.mkdir()
    refused(f"run:{tmp_path / 'nope'}", "there is no such folder")
    refused(f"run:{empty}", "there is no config.yaml")
    refused(str(empty), "not hf: .*config.json.*; not run: there is no config.yaml")
    shutil.copy(finished / "config.yaml", empty)
    refused(f"run:{empty}", "no checkpoint with weights")
    refused(f"run:{finished / 'checkpoints'}", "the folder has no weights")
    refused(f"hf:{tmp_path / 'nope'}", "there is no such folder")


def test_a_run_that_has_not_ended_plays_its_best_so_far(
    finished: Path, env: Any, tmp_path: Path, caplog: Any
) -> None:
    copied = tmp_path / "run"
    shutil.copytree(finished, copied)
    (copied / "summary.json").unlink()

    def load_checkpoint_name() -> Any:
        return load_policy(f"run:{copied}", env).facts["checkpoint"]

    assert load_checkpoint_name() == "best" and "has not ended" in caplog.text
    for name in ("best", "trained"):
        shutil.rmtree(copied / "checkpoints" / name)
    assert load_checkpoint_name() == "rl/checkpoint-6"


def test_a_run_that_was_trained_on_is_another_policy(
    finished: Path, env: Any, tmp_path: Path
) -> None:
    copied = tmp_path / "run"
    shutil.copytree(finished, copied)
    names = (f"run:{finished}", f"run:{copied}")
    contents = [policy_content(name) for name in names]
    assert contents[0] == contents[1] != ""
    with load_policy(names[1], env) as maker:
        assert maker.facts["weights_sha256"] == contents[1]
        place = copied / "checkpoints" / maker.facts["checkpoint"]
    assert policy_content(names[1], checkpoint="warm-start") not in contents
    file = place / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert policy_content(names[1]) != contents[0]


def test_the_weights_under_adapters_count(adapter_run: Path) -> None:
    place = adapter_run / "checkpoints" / "trained"
    assert has_adapters(place)
    digests = {weights_sha256(place)}
    file = next(Path(base_of(place)).glob("*.safetensors"))
    content = file.read_bytes()
    try:
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        digests.add(weights_sha256(place))
    finally:
        file.write_bytes(content)
    assert len(digests) == 2


def test_settings_of_an_earlier_version_are_refused(
    finished: Path, env: Any, tmp_path: Path
) -> None:
    copied = tmp_path / "run"
    shutil.copytree(finished, copied)
    config = copied / "config.yaml"
    config.write_text(config.read_text().split("resolved:")[0])
    with pytest.raises(ConfigurationError, match="under 'resolved' what the run decided"):
        load_policy(f"run:{copied}", env)


def test_a_closed_model_says_so(finished: Path, env: Any) -> None:
    with load_policy(f"run:{finished}", env) as maker:
        policy = maker()
    maker.close()
    with pytest.raises(ConfigurationError, match="was closed: load it again"):
        next(iter([*play(policy, env)]))
