"""One's own episodes as teachers: records, exports, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.core.oracle import OraclePolicy
from agentgym.episodes import Recorder, export, read_episodes
from agentgym.errors import DataError
from agentgym.policies.basic import RandomPolicy
from agentgym.protocols import find_prompt
from tests.toy import TOY_ID
from tests.trainers import toy_runs
from tests.trainers.phases.test_warm_start import started, warmed, weights
from tests.trainers.toy_runs import equal
from trainers.cli import main
from trainers.models.loaded_policy import build_tiny
from trainers.phases.demonstrators import Demonstrator, demonstrated_rows, demonstration_tasks
from trainers.phases.recorded_episodes import recorded_demonstrations
from trainers.rollouts.expert_demonstrations import play

COUNT = 24
EXPERT: dict[str, Any] = {"sft__demonstrations": COUNT}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The expert's demonstrations of a run as records and exports, and episodes of others."""
    folder = tmp_path_factory.mktemp("files")
    plan, _ = started(folder / "plan", **EXPERT)
    tasks = demonstration_tasks(plan, plan.envs[0])[0]

    def recorded(name: str, tasks: list[Any], expert: bool, **kwargs: Any) -> Path:
        env = Recorder(gymnasium.make(TOY_ID, **kwargs), folder / f"{name}.jsonl")
        for number, task in enumerate(tasks):
            play(env, task, OraclePolicy(env) if expert else RandomPolicy(number), number)
        env.close()
        return folder / f"{name}.jsonl"

    paths = {"records": recorded("records", tasks, True)}
    for form in ("jsonl", "parquet", "agenttraj", "atif"):
        paths[form] = folder / f"export.{'json' if form == 'agenttraj' else form}"
        export(paths["records"], paths[form], form)  # type: ignore[arg-type]
    export(paths["records"], folder / "chats.jsonl", "sft")
    easy = [{"split": "train", "index": k} for k in range(120)]
    return paths | {
        "chats": folder / "chats.jsonl",
        "test": recorded("test", [{"split": "test", "index": 0}], True),
        "random": recorded("random", easy, False),
        "tags": recorded("tags", tasks, True, grammar="action_tag"),
        "horizon": recorded("horizon", tasks, True, horizon=8),
    }


@pytest.mark.slow
@pytest.mark.parametrize("form", ["records", "jsonl", "parquet", "agenttraj"])
def test_imitation_of_the_experts_records_is_imitation_of_the_expert(form, files, tmp_path):
    expert = warmed(tmp_path / "expert", **EXPERT)
    policy = warmed(tmp_path / "ours", sft__demonstrations=None, sft__episodes=files[form])
    assert policy.chat.tokenizer.get_vocab() == expert.chat.tokenizer.get_vocab()
    assert equal(weights(policy), weights(expert))


def test_episodes_in_another_grammar_are_written_in_that_of_the_run(files, tmp_path):
    native, _ = started(tmp_path / "a", sft__episodes=files["records"], sft__demonstrations=None)
    tags, _ = started(tmp_path / "b", sft__episodes=files["tags"], sft__demonstrations=None)
    assert [r.turns[0].action for r in play_demonstrations(tags)] == [
        r.turns[0].action for r in play_demonstrations(native)
    ]


def test_demonstrations_of_exports_are_those_of_the_records(files, tmp_path):
    """AgentTraj of other writers is read, too, if it is of the family."""
    demonstrations = []
    for form in ("records", "atif", "agenttraj"):
        plan, _ = started(
            tmp_path / form, sft__episodes=files[form], sft__demonstrations=None
        )  # fmt: skip
        demonstrations.append(play_demonstrations(plan))
    assert (
        demonstrations[0] == demonstrations[1] == demonstrations[2]
        and len(demonstrations[0]) == COUNT
    )


def play_demonstrations(plan: Any) -> list[Any]:
    player = Demonstrator(plan, plan.envs[0])
    demonstrations = list(player.demonstrations)
    player.close()
    return demonstrations


def test_a_prompt_that_lists_actions_plays_the_episodes_again(files, tmp_path):
    """It then shows what it shows of the expert; records hold no admissible actions."""
    expert, _ = started(tmp_path / "expert", **EXPERT)
    plan, _ = started(tmp_path / "ours", sft__episodes=files["records"], sft__demonstrations=None)
    lists = replace(plan.envs[0], layout=find_prompt("verl-agent", "alfworld").layout)
    demonstrations = recorded_demonstrations(plan, lists)
    assert [e.turns for e in demonstrations] == [e.turns for e in play_demonstrations(expert)]
    assert (
        demonstrations[0].info["admissible_actions"]
        and demonstrations[0].turns[0].seen_turn.admissible
    )
    file = tmp_path / "changed.jsonl"
    file.write_text(files["records"].read_text().replace("click . next", "clack . next"))
    plan, _ = started(tmp_path / "changed", sft__episodes=file, sft__demonstrations=None)
    with pytest.raises(DataError, match="to play as it was recorded"):
        recorded_demonstrations(plan, lists)


def test_so_many_as_are_asked_for_and_only_those_that_were_solved(files, tmp_path):
    solved = [episode.success for episode in read_episodes(files["random"])]
    assert 0 < sum(solved) < len(solved)
    for flags, expected in (
        ([], len(solved)),
        (["--sft.only-successes"], sum(solved)),
        (["--sft.demonstrations=7"], 7),
    ):
        plan, _ = started(
            tmp_path / str(expected), f"--sft.episodes={files['random']}", *flags,
            sft__demonstrations=None,
        )  # fmt: skip
        players = {"toy": Demonstrator(plan, plan.envs[0])}
        assert len(demonstrated_rows(plan, build_tiny(plan, ["red"]), players)) == expected


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--sft.episodes={test}"], "of training tasks, got .* 'test'"),
        (["--sft.episodes={chats}"], "got conversations"),
        (["--sft.episodes=gone.jsonl"], "expected a file of episodes at gone.jsonl"),
        (["--sft.episodes={random}", "--sft.demonstrator=random"], "got both"),
        (["--sft.episodes={random}", "--sft.max-steps=0"], "--sft.max-steps of at least 1"),
        (["--sft.episodes={random}", "--env=webshop"], "episodes of agentgym/WebShop-v0 in"),
    ],
)
@pytest.mark.parametrize("dry", [["--dry-run"], []])
def test_what_cannot_be_imitated_is_refused(flags, words, dry, files, tmp_path, capsys):
    arguments = [flag.format(**files) for flag in flags]
    command = toy_runs.arguments(tmp_path / "run", *arguments, *dry, sft__demonstrations=None)
    assert main(command) == 2
    assert re.search(words, " ".join(capsys.readouterr().err.split()))


@pytest.mark.slow
def test_the_command_imitates_what_a_run_has_written(tmp_path):
    """Rejection sampling: the solved training episodes of one run are the teachers of the next."""
    quick = {
        "steps": 2,
        "eval__every": 0,
        "eval__num_tasks": 4,
        "horizon": "4",
        "horizon_every": None,
    }
    first = tmp_path / "first"
    assert main(toy_runs.arguments(first, sft__max_steps=160, rl__log_groups=9, **quick)) == 0
    file = first / "episodes.jsonl"
    assert any(episode.success for episode in read_episodes(file))
    settings = {"sft__episodes": file, "sft__demonstrations": None, "sft__max_steps": 20, **quick}
    solved, unfiltered = tmp_path / "solved", tmp_path / "every"
    assert main(toy_runs.arguments(unfiltered, **settings)) == 0
    assert main(toy_runs.arguments(solved, "--sft.only-successes", **settings)) == 0
    assert not equal(*map(toy_runs.trained_weights, (solved, unfiltered)))
