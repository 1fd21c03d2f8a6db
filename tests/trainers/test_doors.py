"""What a person can ask of ``agentgym-train``, asked through the command."""

from __future__ import annotations

import importlib.util
import itertools
import json
import re
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import yaml

from tests.toy import TOY_ID
from tests.trainers import toy_runs
from trainers.algorithms.presets import PRESETS, runnable
from trainers.cli import main, parse_config
from trainers.output.run_folder import RunFolder
from trainers.phases.learning_clock import LearningClock

QUICK = {"steps": 2, "sft__max_steps": 10, "eval__every": 0, "eval__num_tasks": 8}
HANGING_ID = "agentgym-test/Hanging-v0"
if HANGING_ID not in gymnasium.registry:
    gymnasium.register(HANGING_ID, entry_point="tests.faulty:HangingEnv")


def trained(out: Path, *flags: str, **changes: Any) -> dict[str, list[dict[str, Any]]]:
    """Train through the command line; the records by phase."""
    assert main(toy_runs.arguments(out, *flags, **{**QUICK, **changes})) == 0
    return toy_runs.by_phase(out)


def read_error(capsys: pytest.CaptureFixture[str]) -> str:
    return toy_runs.last_line(capsys.readouterr().err)


def terms(folder: Path) -> set[str]:
    """Names of the reward terms of the training episodes."""
    lines = (folder / "episodes.jsonl").read_text().splitlines()
    turns = [turn for line in lines for turn in json.loads(line)["turns"]]
    return {name for turn in turns for name in turn["reward_terms"]}


@pytest.fixture(scope="module")
def plain_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quick run through none of the doors."""
    out = tmp_path_factory.mktemp("plain") / "run"
    trained(out)
    return out


# -- where environments run ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["thread", "process", "ray"])
def test_a_run_is_the_same_on_every_back_end(plain_run, tmp_path, backend):
    flags = ["--backend", backend, "--workers", "2"]
    assert trained(tmp_path / "run", *flags) == toy_runs.nearly(toy_runs.by_phase(plain_run))


@pytest.mark.slow
def test_an_environment_that_hangs_costs_its_episode_and_not_the_run(tmp_path, monkeypatch):
    # Of the two thousand that show words a quarter would hang, each for the time limit.
    monkeypatch.setattr("trainers.phases.warm_start.VOCABULARY_EPISODES", 4)
    hangs = {"env": HANGING_ID, "sft__demonstrations": 4, "sft__max_steps": 2, "steps": 1}
    hangs |= {"sft__eval_tasks": 2, "rl__groups": 6, "rl__num_generations": 2, "eval__num_tasks": 4}
    # Greedy alone: every panel costs a second for each that hangs.
    records = trained(tmp_path / "run", "--step-timeout=1", "--eval.greedy", **hangs)
    assert records["rl"][0]["ended_by_error"] > 0
    reasons = {row["stop_reason"] for row in records["eval oracle"][0]["rows"]}
    assert reasons == {"success", "error"}
    stored = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert stored["resolved"]["backend"] == "process"


@pytest.mark.parametrize("flag", ["--workers=2", "--step-timeout=1"])
def test_what_one_process_cannot_do_is_refused(tmp_path, capsys, flag):
    assert main(toy_runs.arguments(tmp_path / "run", flag, "--backend=sync")) == 2
    assert f"expected {flag.split('=')[0]} only with --backend thread" in read_error(capsys)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_training_that_generates_ahead_is_reproducible_and_survives_a_kill(tmp_path, monkeypatch):
    # Groups of equal returns train, too: importance is measured where tokens train.
    flags = {"steps": 4, "rl__save_every": 2, "rl__filters": "none"}
    out, duplicate = tmp_path / "run", tmp_path / "again"
    with monkeypatch.context() as patch, pytest.raises(toy_runs.killed_at("rl", 3, patch)):
        trained(out, "--async-rollouts.staleness=1", **flags)
    shutil.copytree(out, duplicate)
    assert not [t for t in threading.enumerate() if t.name == "agentgym-rollouts"]
    for folder in (out, duplicate):
        assert main(["--resume", "--out", str(folder)]) == 0
    records = toy_runs.by_phase(out)
    assert records == toy_runs.by_phase(duplicate)
    # Step 3 is played anew by the policy of the checkpoint, which has no lag then.
    assert [record["staleness"] for record in records["rl"]] == [0.0, 1.0, 0.0, 1.0]
    assert all(record["importance_mean"] > 0 for record in records["rl"])


# -- what the policy samples and reads -------------------------------------------------------------


@pytest.mark.slow
def test_a_nucleus_is_sampled_from_and_corrected_for(plain_run, tmp_path):
    full, nucleus = toy_runs.by_phase(plain_run), trained(tmp_path / "run", "--top-p=0.5")
    assert all("importance_mean" in record for record in nucleus["rl"])
    assert not any("importance_mean" in record for record in full["rl"])
    assert nucleus["rl"][0]["entropy"] != full["rl"][0]["entropy"]


def longest_prompt(folder: Path) -> int:
    """Most tokens that the policy read for one turn."""
    lines = (folder / "episodes.jsonl").read_text().splitlines()
    return max(turn["prompt_tokens"] for line in lines for turn in json.loads(line)["turns"])


@pytest.mark.slow
def test_a_window_forgets_earlier_turns(plain_run, tmp_path):
    trained(tmp_path / "run", "--window=1")
    assert longest_prompt(tmp_path / "run") < longest_prompt(plain_run)


@pytest.fixture
def thinking_model(tmp_path: Path) -> Path:
    """A small model whose template strips the thinking of earlier turns."""
    from tests.trainers import tiny_policy
    from trainers.models.tiny import build_model

    tokenizer = tiny_policy.tokenizer(tiny_policy.QWEN_LIKE, words=("think", "act"))
    tokenizer.save_pretrained(tmp_path / "model")
    build_model(tokenizer, tiny_policy.SIZE).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.slow
def test_a_template_that_rewrites_history_is_kept_followed_or_refused(
    thinking_model, tmp_path, capsys
):
    changes = {
        "model": thinking_model, "sft__max_steps": 0, "horizon": "3",
        "rl__turn_tokens": 6, "rl__episode_tokens": 220,
    }  # fmt: skip
    fork = trained(tmp_path / "auto", "--rollout.history=auto", **changes)
    assert [record["step"] for record in fork["rl"]] == [1, 2]
    assert fork["rl"] != trained(tmp_path / "keep", "--rollout.history=keep", **changes)["rl"]
    out = tmp_path / "error"
    flags = ["--rollout.history=error"]
    assert main(toy_runs.arguments(out, *flags, **{**QUICK, **changes})) == 2
    assert "history" in read_error(capsys)
    assert not out.exists()


# -- rewards ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_reward_hooks_are_paid_in_training_alone(tmp_path):
    records = trained(tmp_path / "run", "--reward-hooks", "potential", "turn_cost=0.01")
    added = {"success_bonus", "invalid_action", "potential", "turn_cost"}
    assert added <= terms(tmp_path / "run")
    for arm in ("warm-start", "trained"):
        assert {row["reward"] for row in records[f"eval {arm}"][0]["rows"]} <= {0.0, 1.0}


@pytest.mark.parametrize("preset", ["turn-loo", "gigpo"])
def test_a_hook_takes_the_place_of_the_flag_it_is_named_like(tmp_path, preset):
    from trainers.config.resolve import resolve

    flags = ["--reward-hooks", "invalid_action=0.3", "success_bonus=2"]
    run = resolve(toy_runs.config(tmp_path, *flags, preset=preset))
    hooks = {hook.name: hook for hook in run.envs[0].make_hooks()}
    assert len(run.envs[0].make_hooks()) == len(hooks) == 2
    assert (hooks["invalid_action"].penalty, hooks["success_bonus"].bonus) == (0.3, 2)
    assert run.preset.invalid_penalty in (None, 0), "an invalid turn is charged once"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (
            ["--reward-hooks", "gold_evidence"],
            "'gold_evidence', which needs info['details'] to hold",
        ),
        (["--reward-hooks", "niceness"], "expected the name of a reward hook, got 'niceness'"),
        (
            ["--reward-hooks", "repeat", "--reward-hooks", "repeat"],
            "expected each reward hook once",
        ),
        (
            ["--reward-hooks", "invalid_action=0.1", "--rl.invalid-penalty", "0.1"],
            "expected invalid_action in --reward-hooks or --rl.invalid-penalty, got both",
        ),
        (["--reward-hooks", "success_bonus", "--rl.success-bonus", "1"], "--rl.success-bonus, got"),
        (["--horizon", "5", "--horizon-gate", "0.5"], "expected --horizon with several stages"),
        (["--horizon", "5-8-9"], "expected turn budgets such as '8', '5,8,10' or '5-15'"),
        (["--horizon", "9-5"], "expected --horizon to grow"),
        (["--top-p", "1.5"], "expected --top-p to be at most 1, got 1.5"),
    ],
)
def test_contradictions_are_one_sentence(tmp_path, capsys, flags, expected):
    assert main(toy_runs.arguments(tmp_path / "run", *flags)) == 2
    assert expected in read_error(capsys)
    assert not (tmp_path / "run").exists()


# -- the horizon -----------------------------------------------------------------------------------


def stages(records: dict[str, list[dict[str, Any]]]) -> list[tuple[int, int]]:
    return [(record["horizon"], record["stage"]) for record in records["rl"]]


@pytest.mark.slow
def test_a_horizon_is_constant_or_grows_by_one_turn_at_a_time(tmp_path):
    constant = trained(tmp_path / "a", horizon="3", steps=2)
    assert stages(constant) == [(3, 0), (3, 0)]
    linear = trained(tmp_path / "b", horizon="3-5", horizon_every=1, steps=4)
    assert stages(linear) == [(3, 0), (4, 1), (5, 2), (5, 2)]


@pytest.mark.slow
def test_a_gated_stage_ends_when_enough_episodes_succeed(tmp_path):
    gate = ["--horizon-gate=0.5", "--horizon-every=2"]
    changes = {"horizon": "3,4,5", "horizon_every": None, "steps": 4, "sft__max_steps": 5}
    shut = trained(tmp_path / "toy", *gate, **changes)
    assert stages(shut) == [(3, 0)] * 4
    opened = trained(tmp_path / "easy", *gate, env=toy_runs.EASY_ID, **changes)
    assert stages(opened) == [(3, 0), (3, 0), (4, 1), (4, 1)]


@pytest.mark.slow
def test_a_gate_remembers_what_it_saw_before_a_kill(tmp_path, monkeypatch):
    """The run dies after the checkpoint of step 1, in the middle of the gate's two steps."""
    flags = ["--horizon-gate=0.5", "--horizon-every=2"]
    changes = {
        **QUICK, "env": toy_runs.EASY_ID, "horizon": "3,4", "horizon_every": None, "steps": 4,
        "sft__max_steps": 5, "rl__save_every": 1,
    }  # fmt: skip
    reference, folder = tmp_path / "whole", tmp_path / "run"
    assert main(toy_runs.arguments(reference, *flags, **changes)) == 0
    with monkeypatch.context() as patch, pytest.raises(toy_runs.killed_at("rl", 2, patch)):
        main(toy_runs.arguments(folder, *flags, **changes))
    assert main(["--resume", "--out", str(folder)]) == 0
    assert toy_runs.by_phase(folder) == toy_runs.by_phase(reference)


# -- settings from files ---------------------------------------------------------------------------


def test_settings_are_read_from_a_file_and_flags_go_before_it(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "env: webshop\nenv_kwargs: {difficulty: medium}\nhorizon: [5, 8]\nhorizon_every: 3\n"
        "rl: {learning_rate: 6e-4}\nreward_hooks: [repeat]\neval: {greedy: true}\n"
    )
    config = parse_config(["--config", str(file), "--rl.learning-rate=1e-3", "--seed=4"])
    arguments = [
        "--env=webshop", "--env-kwargs", "difficulty=medium", "--horizon=5,8", "--horizon-every=3",
        "--rl.learning-rate=1e-3", "--reward-hooks", "repeat", "--eval.greedy", "--seed=4",
    ]  # fmt: skip
    assert config == parse_config(arguments)
    assert parse_config(["--config", str(file), "--eval.no-greedy"]).eval.greedy is False


def test_the_settings_of_a_run_make_the_same_run(finished, tmp_path):
    config = ["--config", str(finished / "config.yaml"), "--out", str(tmp_path / "again")]
    expected = toy_runs.config(tmp_path / "again")
    # A run writes down that it has no baselines as an empty list.
    assert parse_config(config) == replace(expected, eval=replace(expected.eval, baselines=()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rl: {speed: 2}", "expected a setting of agentgym-train (see --help), got 'rl.speed'"),
        ("env: webshop\nrl: {groups: 0}", "expected --rl.groups to be at least 1, got 0 (in"),
        ("steps: 3", "expected --env, because"),
        ("just text", "to hold settings, one 'name: value' a line; got 'just text'"),
        ("", "one 'name: value' a line; got nothing"),
        ("env: [webshop\n", "but: line 2: expected ',' or ']'"),
        ("env: webshop\nrl: 3", "expected --rl to be a group of settings (name: value), got 3"),
        ("env: webshop\nreward_hooks: repeat", "expected --reward-hooks to be a list, got repeat"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_wrong_file_is_one_sentence(tmp_path, capsys, text, expected):
    file = tmp_path / "mine.yaml"
    if text is not None:
        file.write_text(text)
    assert main(["--config", str(file), "--out", str(tmp_path / "run")]) == 2
    assert expected in read_error(capsys)


@pytest.mark.slow
def test_resuming_needs_the_folder_only(finished, tmp_path, capsys, monkeypatch):
    out = tmp_path / "run"
    with monkeypatch.context() as patch, pytest.raises(toy_runs.killed_at("rl", 3, patch)):
        main(toy_runs.arguments(out))
    assert main(["--resume", "--out", str(out), "--rl.learning-rate=0.5"]) == 2
    words = read_error(capsys)
    assert "rl.learning_rate was 0.01 and is 0.5" in words and "; leave out what differs" in words
    # Where environments run is no part of what a run is.
    assert main(["--resume", "--out", str(out), "--backend=thread"]) == 0
    assert toy_runs.by_phase(out) == toy_runs.nearly(toy_runs.by_phase(finished))
    for more in ([f"--env={TOY_ID}"], []):
        assert main(["--resume", "--out", str(tmp_path / "none"), *more]) == 2
        assert "expected a run to resume in" in read_error(capsys)
    assert main(["--resume"]) == 2
    assert "expected --resume with --out, the folder of the run" in read_error(capsys)


def test_a_command_with_a_file_is_resumed_by_the_same_command(finished, tmp_path, capsys):
    out, file = tmp_path / "run", tmp_path / "mine.yaml"
    shutil.copytree(finished, out)
    shutil.copy(finished / "config.yaml", file)
    command = ["--config", str(file), "--out", str(out), "--resume"]
    files_before = toy_runs.files(out)
    assert main(command) == 0
    assert toy_runs.files(out) == files_before
    file.write_text(file.read_text().replace("seed: 0", "seed: 9", 1))
    assert main(command) == 2
    assert "seed was 0 and is 9" in read_error(capsys)


# -- longer runs -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_more_steps_extend_a_finished_run_as_if_it_had_been_that_long(finished, tmp_path):
    reference, out = tmp_path / "whole", tmp_path / "run"
    assert main(toy_runs.arguments(reference, steps=8)) == 0
    shutil.copytree(finished, out)
    assert main(["--resume", "--out", str(out), "--steps=8"]) == 0
    assert toy_runs.by_phase(out) == toy_runs.by_phase(reference)
    assert toy_runs.summary(out) == toy_runs.summary(reference)
    for name in ("eval_episodes/trained.jsonl", "episodes.jsonl"):
        assert (out / name).read_bytes() == (reference / name).read_bytes()
    files_before = toy_runs.files(out)
    assert main(["--resume", "--out", str(out)]) == 0
    assert toy_runs.files(out) == files_before, "eight steps are the run's own by now"


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before its settings", "in its steps"])
def test_an_extension_survives_a_kill(finished, tmp_path, monkeypatch, moment):
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    command = ["--resume", "--out", str(out), "--steps=8"]
    with monkeypatch.context() as patch:
        if moment == "in its steps":
            killed = toy_runs.killed_at("rl", 7, patch)
        else:
            killed = KeyboardInterrupt
            patch.setattr(RunFolder, "_write_settings", lambda *_: interrupt())
        if killed is KeyboardInterrupt:
            assert main(command) == 130
        else:
            with pytest.raises(killed):
                main(command)
    assert main(["--resume", "--out", str(out)]) == 0
    steps = 8 if moment == "in its steps" else 6
    assert toy_runs.summary(out)["steps"] == steps
    if steps == 6:
        assert toy_runs.by_phase(out) == toy_runs.by_phase(finished)


def interrupt() -> None:
    raise KeyboardInterrupt


def test_a_run_is_not_made_shorter(finished, tmp_path, capsys):
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    files_before = toy_runs.files(out)
    assert main(["--resume", "--out", str(out), "--steps=3"]) == 2
    assert "steps was 6 and is 3, but a run cannot be shortened" in read_error(capsys)
    assert toy_runs.files(out) == files_before


@pytest.mark.slow
def test_more_minutes_extend_a_run_whose_time_was_up(tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    seconds = RunFolder.seconds
    changes = {**QUICK, "steps": 3, "minutes": 30}
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "seconds", lambda self: seconds(self) + 1860)
        assert main(toy_runs.arguments(out, **changes)) == 2
        assert "expected --minutes long enough for a step" in read_error(capsys)
        patch.setattr(LearningClock, "check", lambda self: None)
        patch.setattr(LearningClock, "late", True)
        assert main(toy_runs.arguments(out, "--resume", **changes)) == 0
    summary = toy_runs.summary(out)
    assert summary["steps"] == 1 and summary["cut"]["rl"] == 1
    assert "The time limit (--minutes) ended" in summary["verdict"]
    assert main(["--resume", "--out", str(out), "--minutes=90"]) == 0
    summary = toy_runs.summary(out)
    assert summary["steps"] == 3 and "rl" not in summary["cut"]


@pytest.mark.slow
def test_progressive_rewards_follow_their_schedule_also_after_a_resume(tmp_path, monkeypatch):
    """Of an episode of step s: terms that sum to alpha R + (1 - alpha) mean r, alpha = s / 4."""
    out = tmp_path / "run"
    hooked = toy_runs.arguments(
        out, "--reward-hooks=progressive:start=0,end=1,steps=4", **{**QUICK, "steps": 3},
        rl__log_groups=99, rl__save_every=1,
    )  # fmt: skip
    with monkeypatch.context() as patch:
        killed = toy_runs.killed_at("rl", 2, patch)
        with pytest.raises(killed):
            main(hooked)
    assert main([*hooked, "--resume"]) == 0
    steps, summed = set(), 0.0
    for line in (out / "episodes.jsonl").read_text().splitlines():
        episode = json.loads(line)
        steps.add(step := episode["options"]["training_step"])
        alpha = min(1.0, step / 4)
        states = [episode["start"], *(turn["after"] for turn in episode["turns"])]
        potential = [state["potential"] for state in states]
        gains = [after - before for before, after in itertools.pairwise(potential)]
        terms = [turn["reward_terms"] for turn in episode["turns"]]
        mixed = sum(term.pop("progressive") for term in terms)
        outcome = sum(sum(term.values()) for term in terms)
        expected = alpha * outcome + (1 - alpha) * sum(gains) / len(gains)
        assert outcome + mixed == pytest.approx(expected, abs=1e-12)
        summed += abs(mixed)
    assert steps == {1, 2, 3} and summed > 0


# -- before and beside a run -----------------------------------------------------------------------


def test_a_dry_run_shows_every_setting_and_writes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    out = tmp_path / "run"
    assert main(["--env=webshop", "--dry-run", "--rl.learning-rate=0.002", f"--out={out}"]) == 0
    output = capsys.readouterr().out
    lines = {line.split("│")[1].strip(): line for line in output.splitlines() if "│" in line}
    assert "0.002" in lines["--rl.learning-rate"] and "flag" in lines["--rl.learning-rate"]
    assert "0.006" in lines["--sft.learning-rate"] and "default" in lines["--sft.learning-rate"]
    assert "agentgym/WebShop-v0" in output and str(out) in output
    assert not out.exists()
    assert main(["--env=webshop", "--dry-run", "--horizon=x"]) == 2


@pytest.mark.slow
def test_figures_go_to_tensorboard(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    out = tmp_path / "run"
    trained(out, "--report-to=tensorboard")
    [events] = (out / "tensorboard").glob("events.out.tfevents.*")
    accumulator = EventAccumulator(str(events.parent))
    accumulator.Reload()
    assert [event.step for event in accumulator.Scalars("train/loss")] == [1, 2]
    assert "train/rollout/return" in accumulator.Tags()["scalars"]


@pytest.mark.parametrize("package", ["wandb", "trackio", "tensorboard"])
def test_a_missing_reporter_is_noticed_before_anything_is_written(
    tmp_path, capsys, monkeypatch, package
):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == package else find_spec(name),
    )
    assert main(toy_runs.arguments(tmp_path / "run", f"--report-to={package}")) == 2
    assert f"pip install {package}" in read_error(capsys)
    assert not (tmp_path / "run").exists()


def test_every_door_is_in_the_help(capsys):
    assert main(["--help-all"]) == 0
    output = capsys.readouterr().out
    for flag in (
        "--backend", "--workers", "--step-timeout", "--rollout.history",
        "--window", "--top-p", "--reward-hooks", "--horizon", "--horizon-every",
        "--horizon-gate", "--[no-]fit-horizon", "--config", "--resume", "--dry-run",
        "--report-to", "--minutes", "--steps", "--health.on-alarm", "--health.ignore",
    ):  # fmt: skip
        assert flag in output, flag


def test_no_line_of_the_help_is_broken_but_by_its_width(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["--help-all"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert (
        " Maximum sequences decoded together (default: the number of concurrent episodes) " in words
    )
    assert " with this total probability. Below 1 tokens get importance weights for the " in words
    assert " It is at most the horizon of --env-kwargs (default: the preset's, else the fa" in words


@pytest.mark.parametrize("width", [80, 140])
def test_the_command_lists_every_preset(width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["presets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines if line.strip()} >= set(PRESETS)
    assert len(lines) < 2 * len(PRESETS) and all(len(line) <= width for line in lines)
    assert not any("…" in line for line in lines)
    assert any(line.split()[0] == "dapo" and line.rstrip().endswith("2503.14476") for line in lines)


def test_the_command_says_what_a_preset_is_made_of_and_lacks(capsys):
    descriptions = {}
    for name in PRESETS:
        assert main(["presets", name]) == 0
        descriptions[name] = capsys.readouterr().out
    runs = re.compile("^  runs( without .+)?$", re.MULTILINE)
    assert {name for name, text in descriptions.items() if runs.search(text)} == set(runnable())
    assert "  runs without value-smoothing clipping\n" in descriptions["vspo"]
    judge = "a judge of episodes: --reward-hooks judge_mask:model=NAME,url=URL"
    assert descriptions["erpo"].endswith(f"  lacks: {judge}\n")
    assert (
        "    Term(EpisodeReturn(), center='group', scale='group')\n    Loss()\n"
        in descriptions["dapo"]
    )
    assert main(["presets", "no-such"]) == 2
    assert "expected" in capsys.readouterr().err
