"""Critics of turns through the command: ``archer`` and ``sweet``, part by part and killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file

from agentgym.errors import ConfigurationError
from tests.envs.swe.boxed import needs_box
from tests.toy import TOY_ID, ToyEnv
from tests.trainers import toy_runs
from tests.trainers.test_families import SMALL
from tests.trainers.test_pairs import SMALL as TOGETHER
from tests.trainers.test_processes import CLOSE
from tests.trainers.toy_runs import equal
from trainers.algorithms.advantage import Term
from trainers.cli import main
from trainers.config.resolve import ResolvedRun, resolve
from trainers.methods.turn_critic.credit import QMinusV, TurnPreference
from trainers.methods.turn_critic.kinds import plans_of
from trainers.methods.turn_critic.off_policy_critic import REPLAY_FILE
from trainers.methods.turn_critic.turn_critic import TURN_CRITIC_FILE
from trainers.rollouts.trajectory import Trajectory

QUICK: dict[str, Any] = {
    "steps": 2, "horizon_every": None, "sft__max_steps": 40, "eval__every": 0, "eval__num_tasks": 4,
    "horizon": "3", "rl__groups": 8, "rl__num_generations": 2, "rl__learning_rate": 1e-3,
}  # fmt: skip
OF_PRESET: dict[str, list[str]] = {
    "archer": ["--turn-critic.warmup-steps=0", "--turn-critic.updates=3", "--turn-critic.batch=16"],
    "sweet": [
        "--turn-critic.warmup-steps=0",
        "--turn-critic.updates=2",
        "--turn-critic.candidates=4",
    ],
}
for_each_preset = pytest.mark.parametrize("preset", OF_PRESET)


def resolved(*flags: str, **changes: Any) -> ResolvedRun:
    """The run that a command line comes to."""
    return resolve(toy_runs.config(Path("unused"), *flags, **changes))


def trained(out: Path, preset: str, *flags: str, start: Path | None = None) -> Any:
    """The weights after two steps through the command, perhaps from the warm start of a run."""
    flags = (*OF_PRESET[preset], *flags)
    return toy_runs.train_weights(out, *flags, start=start, **QUICK, preset=preset)


@pytest.fixture(scope="module")
def preset_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Any]]:
    """Both runs as they are, with their weights."""
    places = {preset: tmp_path_factory.mktemp(preset) / "run" for preset in OF_PRESET}
    return {preset: (place, trained(place, preset)) for preset, place in places.items()}


WITHOUT = {
    "archer": {"terms": [{"part": "Term", "signal": {"part": "RewardToGo", "gamma": 0.95}}]},
    "sweet": {
        "terms": [{"part": "Term", "signal": {"part": "EpisodeReturn"}, "center": "group"}],
    },
}


@pytest.mark.slow
@for_each_preset
def test_leaving_the_critic_out_changes_the_weights_of_two_steps(preset, preset_runs, tmp_path):
    """With the same loss on what was played, in place of what the critic judges."""
    (file := tmp_path / "without.yaml").write_text(yaml.safe_dump(WITHOUT[preset]))
    flags = [f"--preset-file={file}", f"--preset={preset}"]
    out = tmp_path / "run"
    command = toy_runs.arguments(out, *flags, **QUICK)
    assert main(toy_runs.begun_from(preset_runs[preset][0], command)) == 0
    assert not list(out.glob(f"checkpoints/rl/*/{TURN_CRITIC_FILE}"))
    weights = toy_runs.trained_weights(out)
    assert not equal(weights, preset_runs[preset][1])


ACTS: dict[str, tuple[str, list[str]]] = {
    "warm-up": ("archer", ["--turn-critic.warmup-steps=1"]),
    "updates": ("archer", ["--turn-critic.updates=4"]),
    "batch": ("archer", ["--turn-critic.batch=8"]),
    "replay": ("archer", ["--turn-critic.replay=20"]),
    "tau": ("archer", ["--turn-critic.tau=1"]),
    "gamma": ("archer", ["--rl.gamma=0.5"]),
    "learning_rate": ("archer", ["--turn-critic.learning-rate=0.001"]),
    "candidates": ("sweet", ["--turn-critic.candidates=6"]),
    "pairs": ("sweet", ["--turn-critic.pairs=1"]),
    "updates of pairs": ("sweet", ["--turn-critic.updates=3"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("flag", ACTS)
def test_a_flag_changes_the_weights_of_two_steps(flag, preset_runs, tmp_path):
    preset, flags = ACTS[flag]
    place, weights = preset_runs[preset]
    assert not equal(trained(tmp_path / "run", preset, *flags, start=place), weights)


@pytest.mark.slow
def test_a_run_says_what_its_critic_is_worth(preset_runs):
    records = toy_runs.by_phase(preset_runs["archer"][0])["rl"]
    assert all({"explained_variance", "value_loss", "replay"} <= set(record) for record in records)
    assert [record["replay"] for record in records] == [48, 96]
    summary = toy_runs.summary(preset_runs["archer"][0])
    assert summary["explained_variance"] == records[-1]["explained_variance"]
    [sentence] = [
        remark for remark in summary["remarks"] if "of the variance of the returns" in remark
    ]
    assert "--critic.kind" not in sentence
    records = toy_runs.by_phase(preset_runs["sweet"][0])["rl"]
    assert all({"pairs", "pairs_right", "value_loss"} <= set(record) for record in records)


def test_a_flag_is_the_part_that_it_names():
    run = resolved(
        "--turn-critic.replay=9", "--turn-critic.batch=8", "--turn-critic.tau=0.5",
        "--rl.gamma=0.5", preset="archer",
    )  # fmt: skip
    assert run.preset.terms == (Term(QMinusV(0.5, 0.5, 9, 8)),)
    assert (run.config.turn_critic.updates, run.config.turn_critic.warmup_steps) == (8, 2)
    run = resolved("--turn-critic.candidates=6", "--turn-critic.pairs=2", preset="sweet")
    assert run.preset.terms == (Term(TurnPreference(candidates=6, pairs=2)),)
    assert (run.config.turn_critic.updates, run.config.turn_critic.warmup_steps) == (4, 2)
    assert resolved(preset="ppo").config.critic.warmup_steps == 0
    paper = resolved(preset="archer", rl__groups=None, rl__num_generations=None)
    assert (paper.config.rl.groups, paper.config.rl.num_generations) == (128, 1)


@pytest.mark.parametrize(
    ("preset", "flags", "sentence"),
    [
        ("archer", {"critic.gae": "turn"}, "expected --critic.gae with a preset that has a critic"),
        ("archer", {"critic.kind": "zero"}, "because nothing of 'archer' reads a value"),
        ("archer", {"turn_critic.pairs": "2"}, "expected --turn-critic.pairs with a preset that"),
        ("sweet", {"turn_critic.tau": "0.5"}, "because the critic of 'sweet' has none"),
        ("sweet", {"rl.gamma": "0.9"}, "whose credit is discounted over turns"),
        ("sweet", {"turn_critic.candidates": "1"}, "expected candidates of at least 2"),
        ("ppo", {"turn_critic.tau": "0.5"}, "a preset that has a critic of turns, archer or sweet"),
        ("rloo", {"turn_critic.replay": "5"}, "has a critic of turns, archer or sweet"),
        ("archer", {"async_rollouts.staleness": "1"}, "staleness 0 with --preset archer"),
        ("sweet", {"rl.groups": "3", "rl.num-generations": "3"},
        "expected an even number of episodes"),
        ("sweet", {"rl.num-generations": "1"}, "expected --rl.num-generations to be at least 2"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_sentence(preset, flags, sentence):
    changes = {name.replace(".", "__").replace("-", "_"): value for name, value in flags.items()}
    with pytest.raises(ConfigurationError) as refused:
        resolved(preset=preset, **changes)
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


def test_a_family_without_an_expert_is_refused_by_name():
    with pytest.raises(ConfigurationError, match="sees the expert's plan; noexpert has none"):
        resolved(preset="sweet", env=f"{TOY_ID},{toy_runs.NO_EXPERT_ID}")
    with pytest.raises(ConfigurationError, match="sees the expert's plan; noexpert has none"):
        resolved(preset="sweet", env=toy_runs.NO_EXPERT_ID, sft__max_steps=0)
    resolved(preset="archer", env=toy_runs.NO_EXPERT_ID, sft__max_steps=0)


# -- resume and processes --------------------------------------------------------------------------


def load_critics(folder: Path) -> list[dict[str, Any]]:
    """Critics, slow copies and replays of the checkpoints of a run, in their order."""
    names = (TURN_CRITIC_FILE, REPLAY_FILE)
    places = sorted((folder / "checkpoints" / "rl").glob("checkpoint-*"))
    return [
        {name: torch.load(place / name, weights_only=True) for name in names
         if (place / name).exists()} for place in places
    ]  # fmt: skip


@pytest.mark.slow
@for_each_preset
def test_kill_9_changes_nothing_of_policy_critic_and_replay(preset, tmp_path):
    changes = {**QUICK, "preset": preset, "steps": 4, "rl__minibatches": 2}
    flags = [*OF_PRESET[preset], *(["--turn-critic.replay=60"] if preset == "archer" else [])]
    folders = toy_runs.resume_killed(tmp_path, *flags, **changes)
    states = [load_critics(folder) for folder in folders]
    assert len(states[0]) == len(states[1]) == 2
    for first, second in zip(*states, strict=True):
        assert (REPLAY_FILE in first) == (preset == "archer")
        torch.testing.assert_close(first, second, rtol=0.0, atol=0.0)
    assert equal(*map(toy_runs.trained_weights, folders))


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "launched"), [("archer", "ddp"), ("sweet", "fsdp2")])
def test_two_processes_have_the_policy_and_the_critic_of_one(
    preset, launched, preset_runs, tmp_path
):
    """What a launcher changes is the policy's and the same for both, who bring their own data."""
    single, two = preset_runs[preset][0], tmp_path / "two"
    command = toy_runs.arguments(two, *OF_PRESET[preset], **QUICK, preset=preset)
    [process] = toy_runs.launch(command, launched)
    assert process.returncode == 0, process.stderr
    weights = [load_file(path / "checkpoints/trained/model.safetensors") for path in (two, single)]
    for name, value in weights[1].items():
        torch.testing.assert_close(weights[0][name], value, **CLOSE)
    for state, expected in zip(load_critics(two), load_critics(single), strict=True):
        torch.testing.assert_close(
            state[TURN_CRITIC_FILE]["weights"], expected[TURN_CRITIC_FILE]["weights"], **CLOSE
        )
        if preset == "archer":
            assert state[REPLAY_FILE]["replay"]["rows"] == expected[REPLAY_FILE]["replay"]["rows"]


# -- families --------------------------------------------------------------------------------------

SIZES: dict[str, dict[str, Any]] = {
    "webshop": {"rl.turn-tokens": 12},
    "alfworld": {"rl.turn-tokens": 8},
    "textworld": {"rl.turn-tokens": 8},
    "search": {"rl.turn-tokens": 8, "env-kwargs": "size=400"},
    "swe": {
        "rl.turn-tokens": 24, "sft.demonstrations": 4, "sft.eval-tasks": 2, "sft.max-steps": 2,
        "sft.eval-every": 2, "eval.num-tasks": 2, "eval.valid-tasks": 2, "tiny.context": 1024,
    },
}  # fmt: skip
families = pytest.mark.parametrize(
    "family", [*list(SIZES)[:-1], pytest.param("swe", marks=needs_box)]
)


def small(family: str, **changes: Any) -> list[str]:
    """The command line of a step on a family."""
    settings = {
        **SMALL, "env": family, "horizon": "6", "horizon-every": None, "rl.episode-tokens": 600,
        **SIZES[family], **changes,
    }  # fmt: skip
    return [f"--{name}={value}" for name, value in settings.items() if value is not None]


@pytest.mark.slow
@needs_box
@for_each_preset
def test_every_family_is_trained(preset, tmp_path, capsys, monkeypatch):
    """All in one run, a group of each."""
    monkeypatch.setattr("trainers.phases.warm_start.VOCABULARY_EPISODES", 4)
    out = tmp_path / "run"
    flags = ["--turn-critic.warmup-steps=0", "--turn-critic.updates=1"]
    flags += ["--turn-critic.batch=10"] if preset == "archer" else ["--turn-critic.candidates=2"]
    changes = {**TOGETHER, "env": ",".join(SIZES), "rl__groups": len(SIZES), "preset": preset}
    assert main(toy_runs.arguments(out, *flags, **changes)) == 0, capsys.readouterr().err
    [record] = toy_runs.by_phase(out)["rl"]
    episode_counts = {name: part["episodes"] for name, part in record["families"].items()}
    assert episode_counts == dict.fromkeys(SIZES, 2)
    assert record["finite"] and record["trained_fraction"] == 1.0
    assert ("replay" if preset == "archer" else "pairs") in record


@pytest.mark.slow
@families
def test_every_family_has_a_plan_that_solves_its_task(family):
    """However few turns an episode had, and whoever is imitated: the shop's demonstrator errs."""
    (env,) = (run := resolve(toy_runs.parse_config(small(family, preset="sweet", out="x")))).envs
    plans, world = plans_of(run), env.make_env()
    assert plans is not None
    for index in range(3):
        options = {"split": "train", "index": index}
        _, info = world.reset(seed=7, options={**options, "horizon": 100})
        episode = Trajectory(
            task_id=info["task_id"], family=env.name, seed=7, options={**options, "horizon": 2}
        )
        plan = plans.actions(episode)
        assert plans(episode) == "\n".join(plan)
        for action in plan:
            *_, info = world.step(action)
        assert info["success"], plan
    plans.close()
    world.close()


def test_a_plan_is_one_action_a_line_and_empty_where_the_environment_fails():
    run = resolved(preset="sweet", env=toy_runs.FLAKY_ID)
    plans, env = plans_of(run), ToyEnv()
    assert plans is not None
    plan_texts = {}
    for index in (0, 1):
        options = {"split": "train", "index": index, "horizon": 1}
        task = env.tasks.task("train", index)
        plan_texts[index] = plans(
            Trajectory(family=run.envs[0].name, task_id=task.id, options=options)
        )
    assert plan_texts[0] == ""
    buttons = env.tasks.task("train", 1).content["buttons"]
    assert plan_texts[1] == "\n".join(f"press {colour}" for colour in buttons)
    plans.close()
    assert plans_of(resolved(preset="archer")) is None
